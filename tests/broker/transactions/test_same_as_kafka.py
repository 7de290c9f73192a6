"""The same requests to Apache Kafka and to the embedded broker: the answers say the same."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from .session import Session

Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic


@dataclass(frozen=True)
class Names:
    """What a scenario may use; no other test does."""

    topic: str
    other_topic: str
    transactional_id: str
    group: str


Scenario = Callable[[Session, Names], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__.removeprefix("when_").replace("_", " ")] = function
    return function


@scenario
async def when_a_transaction_of_the_second_protocol_is_committed(session: Session, names: Names) -> None:
    producer = await session.init(names.transactional_id)
    await session.describe(names.transactional_id)
    await session.produce(names.topic, ["a", "b"], producer, 0, transactional_id=names.transactional_id)
    await session.produce(
        names.topic, ["c"], producer, 0, transactional_id=names.transactional_id, partition=1
    )
    await session.describe(names.transactional_id)
    await session.describe_producers(names.topic)
    for committed in (True, False):
        await session.fetch(names.topic, committed=committed)
        for timestamp in (-1, -2, -3, 0):
            await session.list_offset(names.topic, timestamp, committed=committed)
    producer = await session.end(names.transactional_id, producer, commit=True)
    await session.describe(names.transactional_id)
    await session.describe_producers(names.topic)
    for committed in (True, False):
        await session.fetch(names.topic, committed=committed)
        for timestamp in (-1, -2, -3, 0):
            await session.list_offset(names.topic, timestamp, committed=committed)
    await session.produce(names.topic, ["d"], producer, 0, transactional_id=names.transactional_id)
    await session.end(names.transactional_id, producer, commit=False)
    await session.fetch(names.topic)
    await session.fetch(names.topic, 3)
    await session.fetch(names.topic, 5)


@scenario
async def when_a_transaction_of_the_first_protocol_goes_its_way(session: Session, names: Names) -> None:
    producer = await session.init(names.transactional_id, version=3)
    name = names.transactional_id
    await session.produce(names.topic, ["a"], producer, 0, transactional_id=name, version=9)
    await session.produce(names.topic, ["a"], producer, 0, transactional_id=name, version=11)
    await session.add_partitions(name, producer, (names.topic, 0))
    await session.add_partitions(name, producer, (names.topic, 0), (names.topic, 1))
    await session.describe(name)
    await session.produce(names.topic, ["a"], producer, 0, transactional_id=name, version=9)
    await session.produce(names.topic, ["b"], producer, 1, transactional_id=name, version=11)
    await session.end(name, producer, commit=True, version=3)
    await session.end(name, producer, commit=True, version=3)
    await session.end(name, producer, commit=False, version=3)
    await session.describe(name)
    await session.fetch(names.topic)
    await session.fetch(names.topic, partition=1)
    await session.add_partitions(name, producer, (names.topic, 0))
    await session.produce(names.topic, ["c"], producer, 2, transactional_id=name, version=9)
    await session.end(name, producer, commit=False, version=3)
    await session.end(name, producer, commit=False, version=3)
    await session.end(name, producer, commit=True, version=3)
    await session.fetch(names.topic)
    await session.describe_producers(names.topic)


@scenario
async def when_partitions_cannot_be_added(session: Session, names: Names) -> None:
    name = names.transactional_id
    await session.add_partitions(name, (7, 0), (names.topic, 0))
    producer_id, epoch = producer = await session.init(name)
    await session.add_partitions(name, producer, (names.topic, 0), (names.topic, 9), ("missing", 0))
    await session.add_partitions(name, (producer_id + 1_000_000, epoch), (names.topic, 0))
    for version in (0, 1, 2, 3):
        await session.add_partitions(name, (producer_id, epoch + 1), (names.topic, 0), version=version)
    await session.add_partitions("", producer, (names.topic, 0))
    await session.describe(name)


@scenario
async def when_brokers_ask_for_several_transactions(session: Session, names: Names) -> None:
    name = names.transactional_id
    await session.find_coordinators(f"{name}-2")
    first, second = await session.init(name), await session.init(f"{name}-2")
    topics = [Topic(names.topic, [0, 1])]
    for version in (4, 5):
        await session.add_many(
            Transaction(name, *first, True, topics),
            Transaction(f"{name}-2", *second, True, topics),
            version=version,
        )
        await session.add_many(
            Transaction(name, *first, False, [Topic(names.topic, [0])]),
            Transaction(f"{name}-2", second[0], 9, False, topics),
            Transaction(f"{name}-3", *second, False, topics),
            version=version,
        )
        await session.add_many(Transaction(name, *first, True, topics), version=version)
        await session.add_many(
            Transaction(name, *first, False, [Topic("missing", [0]), Topic(names.topic, [0])]),
            version=version,
        )
    await session.describe(name)


@scenario
async def when_sequences_are_wrong(session: Session, names: Names) -> None:
    producer_id, _ = producer = await session.init(None)
    await session.produce(names.topic, ["a"], producer, 5)
    await session.produce(names.topic, ["b"], producer, 5)
    await session.produce(names.topic, ["b"], producer, 7)
    await session.produce(names.topic, ["b", "c"], producer, 6)
    await session.produce(names.topic, ["b", "c"], producer, 6)
    await session.produce(names.topic, ["b"], producer, 6)
    await session.produce(names.topic, ["a"], producer, 3)
    for sequence in range(8, 15):
        await session.produce(names.topic, ["x"], producer, sequence)
    for sequence in (8, 9, 10, 14):
        await session.produce(names.topic, ["x"], producer, sequence)
    await session.produce(names.topic, ["y"], (producer_id, 1), 15)
    await session.produce(names.topic, ["y"], (producer_id, 1), 0)
    await session.produce(names.topic, ["y"], (producer_id, 0), 15)
    await session.produce(names.topic, ["y"], (producer_id, 1), 2)
    await session.produce(names.topic, ["y"], producer, 0, partition=1)
    await session.describe_producers(names.topic)
    await session.describe_producers(names.topic, 9)
    await session.describe_producers("missing")


@scenario
async def when_a_batch_is_not_what_its_request_says(session: Session, names: Names) -> None:
    name = names.transactional_id
    producer = await session.init(name)
    await session.produce(names.topic, ["a"], producer, 0, is_transactional=True)
    await session.produce(names.topic, ["a"], producer, 0, transactional_id="another")
    await session.produce(names.topic, ["a"], producer, 0, transactional_id=name)
    await session.produce(names.topic, ["b"], producer, 1, transactional_id=name, is_transactional=False)
    await session.produce(names.topic, ["b"], producer, 1)
    await session.produce(names.topic, ["b"], producer, 5, transactional_id=name)
    await session.produce(names.topic, ["a"], producer, 0, transactional_id=name)
    await session.produce(names.topic, ["b"], producer, 1, transactional_id=name, version=9)
    await session.end(name, producer, commit=True)
    await session.fetch(names.topic)


@scenario
async def when_a_producer_begins_anew(session: Session, names: Names) -> None:
    name = names.transactional_id
    first = await session.init(name)
    second = await session.init(name)
    await session.init(name, first)
    third = await session.init(name, second)
    await session.init(name, second)
    await session.init(name, first)
    await session.init(name, (third[0] + 1_000_000, 0))
    await session.init(name, (third[0], -1))
    await session.init(name, (-1, 0))
    for version in (3, 4):
        await session.init(name, (third[0], 9), version=version)
    await session.init("")
    await session.init(name, timeout_ms=0)
    await session.init(name, timeout_ms=900_001)
    await session.init(name, timeout_ms=900_000)
    await session.describe(name)
    await session.init(None, timeout_ms=0)


@scenario
async def when_an_open_transaction_is_fenced(session: Session, names: Names) -> None:
    for version in (3, 5):
        name = f"{names.transactional_id}-{version}"
        await session.find_coordinators(name)
        old = await session.init(name)
        if version == 3:
            await session.add_partitions(name, old, (names.topic, 0))
        await session.produce(
            names.topic, ["a"], old, 0, transactional_id=name, version=9 if version == 3 else 12
        )
        await session.init(name)
        await session.settle(name)
        await session.describe(name)
        await session.describe_producers(names.topic)
        new = await session.init(name)
        await session.produce(names.topic, ["b"], old, 1, transactional_id=name)
        await session.produce(names.topic, ["b"], old, 1, transactional_id=name, version=9)
        await session.end(name, old, commit=True, version=version)
        await session.end(name, old, commit=False, version=version)
        await session.end(name, old, commit=False, version=1)
        await session.add_offsets(name, old, names.group)
        await session.add_offsets(name, old, names.group, version=1)
        await session.commit_offsets(name, old, names.group, names.topic, 1)
        await session.commit_offsets(name, old, names.group, names.topic, 1, version=2)
        await session.produce(names.topic, ["c"], new, 0, transactional_id=name)
        await session.end(name, new, commit=True)
        await session.fetch(names.topic)


@scenario
async def when_an_end_is_asked_for_again(session: Session, names: Names) -> None:
    name = names.transactional_id
    producer = await session.init(name)
    await session.end(name, producer, commit=True)
    producer_2 = await session.end(name, producer, commit=False)
    await session.end(name, producer, commit=False)
    await session.end(name, producer, commit=True)
    await session.describe(name)
    await session.produce(names.topic, ["a"], producer_2, 0, transactional_id=name)
    await session.end(name, producer, commit=False)
    producer_3 = await session.end(name, producer_2, commit=True)
    await session.end(name, producer_2, commit=True)
    await session.end(name, producer_2, commit=False)
    await session.end(name, producer_3, commit=True)
    await session.end(name, producer, commit=True)
    producer_4 = await session.end(name, producer_3, commit=False)
    await session.end(name, producer_3, commit=False)
    await session.end(name, producer_4, commit=True)
    await session.end(name, (producer[0] + 1_000_000, 0), commit=True)
    await session.end("", producer, commit=True)
    await session.end("unknown", producer, commit=True)
    await session.end(name, producer_4, commit=True, version=3)
    await session.end(name, producer_4, commit=False, version=3)
    await session.describe(name)


@scenario
async def when_offsets_are_committed_in_transactions(session: Session, names: Names) -> None:
    name, group, topic = names.transactional_id, names.group, names.topic
    producer = await session.init(name)
    await session.commit_offsets(name, producer, group, topic, 1, version=3)
    await session.commit_offsets(name, producer, group, topic, 1, version=4)
    await session.commit_offsets(name, producer, group, topic, 1, metadata="first")
    await session.describe(name)
    for stable in (False, True):
        await session.committed_offset(group, topic, stable=stable)
    producer = await session.end(name, producer, commit=True)
    for stable in (False, True):
        await session.committed_offset(group, topic, stable=stable)
    await session.commit_offsets(name, producer, group, topic, 2)
    await session.commit_offsets(name, producer, group, "missing", 2)
    await session.commit_offsets(name, producer, group, topic, 2, metadata="x" * 5000)
    await session.committed_offset(group, topic, stable=True)
    producer = await session.end(name, producer, commit=False)
    await session.committed_offset(group, topic, stable=True)
    await session.add_offsets(name, producer, group)
    await session.commit_offsets(name, producer, group, topic, 3, version=3)
    await session.describe(name)
    await session.end(name, producer, commit=True, version=3)
    await session.committed_offset(group, topic, stable=True)
    await session.commit_offsets(name, producer, group, topic, 4, generation=3, member_id="stranger")
    await session.commit_offsets(name, producer, f"{group}-2", topic, 4, generation=3, member_id="stranger")
    await session.commit_offsets(name, producer, "", topic, 4)


@scenario
async def when_transactions_overlap(session: Session, names: Names) -> None:
    ids = [f"{names.transactional_id}-{number}" for number in range(3)]
    producers = []
    for name in ids:
        await session.find_coordinators(name)
        producers.append(await session.init(name))
    for value, which in enumerate([0, 1, 2, 0, 1]):
        sequence = value // 3
        await session.produce(
            names.topic, [str(value)], producers[which], sequence, transactional_id=ids[which]
        )
    await session.fetch(names.topic)
    producers[1] = await session.end(ids[1], producers[1], commit=False)
    await session.fetch(names.topic)
    producers[0] = await session.end(ids[0], producers[0], commit=True)
    await session.fetch(names.topic)
    await session.produce(names.topic, ["x"], producers[1], 0, transactional_id=ids[1])
    await session.end(ids[2], producers[2], commit=False)
    for offset in range(9):
        await session.fetch(names.topic, offset)
    await session.end(ids[1], producers[1], commit=False)
    for offset in range(0, 11, 2):
        await session.fetch(names.topic, offset)
    await session.list_transactions(names.transactional_id)
    await session.list_transactions(names.transactional_id, state_filters=["CompleteAbort", "Sleeping"])
    await session.list_transactions(names.transactional_id, producer_id_filters=[producers[0][0]])
    await session.list_transactions(names.transactional_id, duration_filter=1_000_000)
    await session.list_transactions(names.transactional_id, transactional_id_pattern=".*-[02]")
    await session.list_transactions(names.transactional_id, transactional_id_pattern="(")


@scenario
async def when_ids_are_listed_by_expressions(session: Session, names: Names) -> None:
    ours = names.transactional_id
    for end in ("", "-a", "-A", "-é", "-a b", "-a\nb", "-1"):
        await session.init(f"{ours}{end}")
    for pattern in (
        *(f"{ours}", f"{ours}.*", f"(?s){ours}.*", f"{ours}-.", f"{ours}-[[:alpha:]]", rf"{ours}-\pL"),
        *(rf"{ours}-\d", rf"{ours}-\D+", rf"\Q{ours}\E-a", f"(?i){ours}-a", f"{ours}-a(?=b)", rf"({ours})\1"),
        *(f"{ours}-a++", f"{ours}-(?s:a.b)", f"{ours}-a.b", "[a", "a{1001}", "(?P<n>a)(?P<n>b)", ".*-a"),
    ):
        await session.list_transactions(ours, transactional_id_pattern=pattern)


@scenario
async def when_markers_come_from_an_administrator(session: Session, names: Names) -> None:
    name = names.transactional_id
    producer_id, epoch = producer = await session.init(name)
    await session.produce(names.topic, ["a"], producer, 0, transactional_id=name)
    await session.write_marker((producer_id, epoch - 1), names.topic, commit=False)
    await session.write_marker(producer, "missing", commit=False)
    await session.write_marker(producer, names.topic, commit=False, transaction_version=2)
    await session.write_marker(producer, names.topic, commit=False, coordinator_epoch=5)
    await session.describe_producers(names.topic)
    await session.fetch(names.topic)
    await session.write_marker(producer, names.topic, commit=True, coordinator_epoch=4)
    await session.write_marker(producer, names.topic, commit=True, coordinator_epoch=5, version=1)
    await session.write_marker((producer_id, epoch + 1), names.topic, commit=True, coordinator_epoch=6)
    await session.write_marker((producer_id + 1_000_000, 0), names.topic, commit=True)
    await session.fetch(names.topic)
    await session.describe_producers(names.topic)
    await session.describe(name)


@pytest.mark.parametrize("which", SCENARIOS)
def test_both_say_the_same(which: str, apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker) -> None:
    label = uuid.uuid4().hex[:8]
    names = Names(f"topic-{label}", f"other-{label}", f"transaction-{label}", f"group-{label}")

    async def play(bootstrap: str) -> list[object]:
        session = await Session.open(bootstrap)
        try:
            for topic in (names.topic, names.other_topic):
                await session.create_topic(topic, 2)
            await session.find_coordinators(names.transactional_id, names.group)
            await SCENARIOS[which](session, names)
        finally:
            session.close()
        return session.said

    expected = asyncio.run(play(apache_kafka.bootstrap))
    assert asyncio.run(play(embedded_broker.bootstrap)) == expected
