"""A journal in Kafka: what is in it, who may write, and what becomes of those who may not any more."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.registry_server.journal.journals import Counting

from barnabas import Admin, ConfigResource, Consumer, NewTopic, Producer, ResourceType, TopicPartition
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import KafkaConnectionError, RecordTooLargeError
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.registry_server.journal.journal import JournalError, JournalTimeoutError, NotLeaderError
from barnabas.registry_server.journal.terms import EPOCHS, NOOP_KEY, TermClaim, decode_claim
from barnabas.registry_server.journal.writing import PartitionWriter
from barnabas.settings.table import CommonConfig, load

Topic = Callable[[], str]


def records_in(broker: Any, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    with Consumer(broker.bootstrap) as consumer, Admin(broker.bootstrap) as admin:
        partition = TopicPartition(topic, 0)
        end = admin.list_offsets({partition: "latest"})[partition].offset
        consumer.assign([partition])
        consumer.seek(partition, 0)
        found: list[tuple[bytes | None, bytes | None]] = []
        while consumer.position(partition) < end:
            found += [(record.key, record.value) for record in consumer.poll(1.0)]
        return found


def claims_in(broker: Any, topic: str) -> list[int]:
    values = [value for key, value in records_in(broker, topic) if key == NOOP_KEY]
    return [claim.term for value in values if (claim := decode_claim(value)) is not None]


def run(work: Any) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(90):
            await work

    asyncio.run(in_time())


# The topic


def test_the_topic_is_made_with_one_partition_that_is_compacted(broker: Any, topic: Topic) -> None:
    name = topic()

    async def work() -> None:
        async with Counting(broker.bootstrap, name):
            pass

    run(work())
    with Admin(broker.bootstrap) as admin:
        assert len(admin.describe_topics([name])[name].partitions) == 1
        resource = ConfigResource(ResourceType.TOPIC, name)
        assert admin.describe_configs([resource])[resource]["cleanup.policy"].value == "compact"


@pytest.mark.parametrize(
    ("partitions", "policy", "said"),
    [(2, "compact", "has 2 partitions"), (1, "delete", "cleanup.policy=delete"), (1, "compact,delete", "=")],
)
def test_a_topic_that_would_lose_schemas_is_refused(
    broker: Any, topic: Topic, partitions: int, policy: str, said: str
) -> None:
    name = topic()
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, partitions, 1, {"cleanup.policy": policy})])

    async def work() -> None:
        counting = Counting(broker.bootstrap, name)
        with pytest.raises(JournalError, match=said):
            await counting.start()
        await counting.journal.close()

    run(work())


# What is in it


def test_what_was_appended_is_applied_here_and_by_who_reads_along_and_by_who_comes_later(
    broker: Any, topic: Topic
) -> None:
    name = topic()

    async def work() -> None:
        async with (
            Counting(broker.bootstrap, name, "a") as first,
            Counting(broker.bootstrap, name, "b") as along,
        ):
            along.group.leads = False
            given = [await first.take_number() for _ in range(5)]
            assert list(first.numbers.items()) == given
            await first.journal.caught_up()
            await first.journal.append([(b"x", b"1"), (b"x", None), (b"y", b"")])
            assert first.applied[5:] == [(b"x", b"1"), (b"x", None), (b"y", b"")]
            await along.journal.read_to_end()
            assert along.applied == first.applied
            async with Counting(broker.bootstrap, name, "c") as later:
                assert later.applied == first.applied

    run(work())
    assert records_in(broker, name)[0][0] == NOOP_KEY


def test_what_others_wrote_in_transactions_is_read_past(apache_kafka: Any, topic: Topic) -> None:
    name = topic()

    async def work() -> None:
        async with Counting(apache_kafka.bootstrap, name) as counting:
            await counting.take_number()

    run(work())
    with Producer(apache_kafka.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(name, b"z", key=b"other")
        producer.commit_transaction()

    async def again() -> None:
        async with Counting(apache_kafka.bootstrap, name) as counting:
            assert (b"other", b"z") in counting.applied
            assert (await counting.take_number())[0] == 2

    run(again())


def test_a_record_that_is_too_large_is_refused_and_the_next_one_is_written(broker: Any, topic: Topic) -> None:
    name = topic()

    async def work() -> None:
        async with Counting(broker.bootstrap, name) as counting:
            await counting.take_number()
            await counting.journal.caught_up()
            with pytest.raises(RecordTooLargeError, match="a record of 2000001 bytes"):
                await counting.journal.append([(b"k", random.randbytes(2_000_000))])
            assert (await counting.take_number())[0] == 2

    run(work())
    assert claims_in(broker, name) == [0]


def test_records_that_are_too_many_for_one_batch_are_written_in_several(broker: Any, topic: Topic) -> None:
    name = topic()

    async def work() -> None:
        async with Counting(broker.bootstrap, name) as counting:
            await counting.journal.caught_up()
            records = [(f"key-{number}".encode(), random.randbytes(300_000)) for number in range(10)]
            await counting.journal.append(records)
            assert counting.applied == records
            assert (await counting.take_number())[0] == 1

    run(work())


# Who may write


def test_who_does_not_lead_writes_nothing_and_names_the_leader(broker: Any, topic: Topic) -> None:
    name = topic()

    async def work() -> None:
        async with Counting(broker.bootstrap, name) as counting:
            counting.group.leads = False
            assert counting.journal.leader_url() == "http://sr:8081"
            with pytest.raises(NotLeaderError):
                await counting.take_number()
            with pytest.raises(NotLeaderError):
                await counting.journal.append([(b"1", b"")])

    run(work())
    assert records_in(broker, name) == []


def test_a_leader_that_is_deposed_between_its_decision_and_its_write_writes_nothing(
    broker: Any, topic: Topic
) -> None:
    name = topic()

    async def work() -> None:
        async with Counting(broker.bootstrap, name, "a") as old, Counting(broker.bootstrap, name, "b") as new:
            await old.take_number()
            await old.journal.caught_up()
            assert (await new.take_number())[0] == 2
            with pytest.raises(NotLeaderError, match="another registry has written since"):
                await old.journal.append([(b"2", b"old")])
            # It still takes itself for the leader: then it begins anew, behind what was written meanwhile.
            assert (await old.take_number())[0] == 3
            await new.journal.caught_up()
            with pytest.raises(NotLeaderError):
                await new.journal.append([(b"4", b"new")])

    run(work())
    assert [key for key, _ in records_in(broker, name) if key != NOOP_KEY] == [b"1", b"2", b"3"]
    assert claims_in(broker, name) == [0, 1, 2]


def test_a_batch_that_arrives_after_another_took_over_is_refused(
    broker: Any, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a leader that was stopped after its last look at the group, and goes on."""
    name = topic()

    async def work() -> None:
        async with Counting(broker.bootstrap, name, "a") as old, Counting(broker.bootstrap, name, "b") as new:
            await old.take_number()
            may_leave = asyncio.Event()
            has_decided = asyncio.Event()
            send = old.journal._client.send

            async def held(node_id: int, request: Any, *arguments: Any, **named: Any) -> Any:
                has_decided.set()
                await may_leave.wait()
                return await send(node_id, request, *arguments, **named)

            monkeypatch.setattr(old.journal._client, "send", held)
            late = asyncio.create_task(old.take_number())
            await has_decided.wait()
            number, owner = await new.take_number()
            may_leave.set()
            with pytest.raises(NotLeaderError):
                await late
            await old.journal.read_to_end()
            assert old.numbers[number] == owner

    run(work())


def test_a_decision_of_one_term_is_not_written_in_the_next(broker: Any, topic: Topic) -> None:
    name = topic()

    async def work() -> None:
        async with Counting(broker.bootstrap, name) as counting:
            await counting.take_number()
            await counting.journal.caught_up()
            counting.journal._claim = None
            await counting.journal._claim_term()
            with pytest.raises(NotLeaderError):
                await counting.journal.append([(b"2", b"")])

    run(work())


def test_a_batch_whose_answer_was_lost_is_written_once(
    broker: Any, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = topic()

    async def work() -> None:
        async with Counting(broker.bootstrap, name) as counting:
            await counting.take_number()
            send = counting.journal._client.send
            lost: list[Any] = []

            async def losing(node_id: int, request: Any, *arguments: Any, **named: Any) -> Any:
                answer = await send(node_id, request, *arguments, **named)
                if isinstance(request, ProduceRequest) and len(lost) < 2:
                    lost.append(answer)
                    raise KafkaConnectionError("the connection was lost")
                return answer

            monkeypatch.setattr(counting.journal._client, "send", losing)
            assert (await counting.take_number())[0] == 2
            assert (await counting.take_number())[0] == 3
            assert len(lost) == 2

    run(work())
    assert [key for key, _ in records_in(broker, name)] == [NOOP_KEY, b"1", b"2", b"3"]


def test_two_that_claim_the_same_term_at_once_do_not_both_have_it(
    broker: Any, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker takes the second claim for a repetition of the first, and acknowledges it."""
    name = topic()

    async def work() -> None:
        async with (
            Counting(broker.bootstrap, name, "a") as one,
            Counting(broker.bootstrap, name, "b") as other,
        ):
            both = asyncio.Barrier(2)
            for counting in (one, other):
                reader: Any = counting.journal._reader
                claim_with = [both.wait]
                read_to_end = reader.read_to_end

                async def together(read_to_end: Any = read_to_end, first: Any = claim_with) -> None:
                    await read_to_end()
                    if first:
                        await first.pop()()

                monkeypatch.setattr(reader, "read_to_end", together)
            results = await asyncio.gather(
                one.journal.caught_up(), other.journal.caught_up(), return_exceptions=True
            )
            assert results == [None, None]
            assert one.journal._claim != other.journal._claim
            appended = await asyncio.gather(
                one.journal.append([(b"1", b"one")]),
                other.journal.append([(b"1", b"other")]),
                return_exceptions=True,
            )
            assert sorted(type(result).__name__ for result in appended) == ["NoneType", "NotLeaderError"]

    run(work())
    assert [key for key, _ in records_in(broker, name)].count(b"1") == 1


def test_numbers_are_unique_and_without_gaps_when_four_at_once_take_themselves_for_the_leader(
    broker: Any, topic: Topic
) -> None:
    name = topic()

    async def write(counting: Counting, acknowledged: list[tuple[int, str]]) -> None:
        for _ in range(12):
            try:
                acknowledged.append(await counting.take_number())
            except NotLeaderError:
                continue
            await asyncio.sleep(random.random() * 0.02)

    async def work() -> None:
        everybody = [await Counting(broker.bootstrap, name, f"sr{n}").start() for n in range(4)]
        acknowledged: list[tuple[int, str]] = []
        await asyncio.gather(*(write(counting, acknowledged) for counting in everybody))
        numbers = [number for number, _ in acknowledged]
        assert len(numbers) == len(set(numbers)) > 0
        async with Counting(broker.bootstrap, name) as later:
            assert set(acknowledged) <= set(later.numbers.items())
            assert sorted(later.numbers) == list(range(1, len(later.numbers) + 1))
        for counting in everybody:
            await counting.journal.close()

    run(work())
    terms = claims_in(broker, name)
    assert terms == sorted(set(terms))
    assert len(terms) > 1


def test_the_term_after_the_last_epoch_has_another_producer_id_and_the_old_one_is_closed(
    broker: Any, topic: Topic
) -> None:
    name = topic()

    async def work() -> None:
        client = KafkaClient(load(CommonConfig, {"bootstrap_servers": broker.bootstrap}))
        stranger = PartitionWriter(client, TopicPartition(name, 0), 10_000)
        async with Counting(broker.bootstrap, name, "a") as old, Counting(broker.bootstrap, name, "b") as new:
            await stranger.write(
                TermClaim(EPOCHS - 2, "x").producer, [(NOOP_KEY, TermClaim(EPOCHS - 2, "x").encode())]
            )
            await old.take_number()
            await old.journal.caught_up()
            await new.take_number()
            assert new.journal._claim is not None
            assert new.journal._claim.term == EPOCHS
            with pytest.raises(NotLeaderError):
                await old.journal.append([(b"2", b"")])
            assert (await old.take_number())[0] == 3
        await client.close()

    run(work())


def test_a_claim_that_was_compacted_away_is_not_needed(broker: Any, topic: Topic) -> None:
    """As by a NOOP record of Confluent's registry, which has the same key and claims nothing."""
    name = topic()

    async def work() -> None:
        async with Counting(broker.bootstrap, name, "a") as old, Counting(broker.bootstrap, name, "b") as new:
            for counting in (old, new, old, new, old):
                counting.journal._claim = None
                await counting.take_number()
            await old.journal.caught_up()
            assert new.journal._reader is not None
            new.journal._claim = None
            read_to_end = new.journal._reader.read_to_end

            async def forgetting() -> None:
                await read_to_end()
                assert new.journal._reader is not None
                new.journal._reader.claim = None

            new.journal._reader.read_to_end = forgetting  # type: ignore[method-assign]
            assert (await new.take_number())[0] == 6
            with pytest.raises(NotLeaderError):
                await old.journal.append([(b"6", b"")])

    run(work())


def test_after_a_write_of_which_nothing_is_known_the_next_one_begins_behind_it(
    own_broker: Any, topic: Topic
) -> None:
    name = topic()

    async def work() -> None:
        async with Counting(own_broker.bootstrap, name, timeout_ms=1500) as counting:
            await counting.take_number()
            own_broker.pause()
            try:
                with pytest.raises(JournalTimeoutError):
                    await counting.take_number()
            finally:
                own_broker.resume()
            for _ in range(30):
                try:
                    number, owner = await counting.take_number()
                except JournalError:
                    continue
                break
            else:
                pytest.fail("nothing could be written after the pause")
            assert sorted(counting.numbers) == list(range(1, number + 1))
            assert counting.numbers[number] == owner

    run(work())
    assert len(claims_in(own_broker, name)) >= 2


def test_a_journal_is_whole_after_the_broker_was_killed(own_broker: Any, topic: Topic) -> None:
    name = topic()

    async def work() -> None:
        async with Counting(own_broker.bootstrap, name, timeout_ms=30_000) as counting:
            acknowledged = [await counting.take_number() for _ in range(5)]
            own_broker.kill()
            taking = asyncio.create_task(counting.take_number())
            await asyncio.to_thread(own_broker.start)
            acknowledged.append(await taking)
            assert list(counting.numbers.items()) == acknowledged
            async with Counting(own_broker.bootstrap, name) as later:
                assert list(later.numbers.items()) == acknowledged

    run(work())
