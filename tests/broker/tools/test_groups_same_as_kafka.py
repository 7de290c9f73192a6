"""Apache Kafka's own tools on groups of every kind, with members in them and without."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.broker.streams_groups.streams_session import StreamsSession
from tests.share_groups import begin_at_the_first_record
from tests.waiting import wait_for

from barnabas import Consumer, Producer, ShareConsumer, TopicPartition
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from .java import CONFIG, OF_TEST_KAFKA, Java, Step, first_difference

Kafka = ApacheKafka | EmbeddedBroker
QUICK = {
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "offsets.topic.num.partitions": "1",
}
FIRST_MS = 1_700_000_000_000
"""14 November 2023, 22:13:20. Records follow a second after each other."""
RECORDS = 10
VIEWS = ("", "--offsets", "--verbose", "--members", "--members --verbose", "--state", "--state --verbose")
EPOCHS = ("--members --verbose", "--state --verbose")
"""Views of epochs, which share groups and Streams groups of Kafka begin with others: it makes the state of a
partition, and topics, in steps of their own."""
TOPICS: tuple[Step, ...] = (
    "topics --create --topic live --partitions 2",
    "topics --create --topic other",
)


@pytest.fixture
def both() -> Iterator[tuple[Kafka, Kafka]]:
    """Both without groups."""
    with (
        ApacheKafka(config=CONFIG | QUICK) as kafka,
        EmbeddedBroker(config=CONFIG | QUICK | OF_TEST_KAFKA) as embedded,
    ):
        yield kafka, embedded


class Members:
    """Members of groups at brokers, which read the topic `live`, until they leave."""

    def __init__(self) -> None:
        self._clients: dict[str, list[Any]] = defaultdict(list)

    def fill(self, broker: Kafka) -> None:
        with Producer(broker.bootstrap) as producer:
            for place in range(RECORDS):
                for partition in (0, 1):
                    producer.send("live", b"a", partition=partition, timestamp=FIRST_MS + 1000 * place)

    def join_consumer_groups(self, broker: Kafka) -> None:
        """Two static members and a dynamic one of the classic protocol, and one of the consumer protocol."""
        static = [
            self._join(broker, "live", group="classic", group_protocol="classic", group_instance_id=name)
            for name in ("a", "b")
        ]
        self._until_all_have(static, 1)
        static[0].commit({TopicPartition("live", 0): 4})
        of_now = self._join(broker, "live", group="consumer", group_protocol="consumer")
        self._until_all_have([of_now], 2)
        of_now.commit({TopicPartition("live", 0): 4, TopicPartition("live", 1): 5})
        dynamic = self._join(broker, "live", "other", group="dynamic", group_protocol="classic")
        self._until_all_have([dynamic], 3)

    def _join(self, broker: Kafka, *topics: str, group: str, **settings: Any) -> Consumer:
        consumer = Consumer(
            broker.bootstrap,
            group_id=group,
            client_id=f"of-{group}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            **settings,
        )
        self._clients[broker.bootstrap].append(consumer)
        consumer.subscribe([*topics])
        return consumer

    def _until_all_have(self, consumers: list[Consumer], partitions: int) -> None:
        def have() -> bool:
            for consumer in consumers:
                consumer.poll(0.05)
            return all(len(consumer.assignment()) == partitions for consumer in consumers)

        wait_for(have)

    def join_share_group(self, broker: Kafka) -> None:
        """It has read all that there is."""
        begin_at_the_first_record(broker.bootstrap, "share")
        consumer = ShareConsumer(broker.bootstrap, group_id="share", client_id="of-share")
        self._clients[broker.bootstrap].append(consumer)
        consumer.subscribe(["live"])
        read: list[Any] = []

        def has_read() -> bool:
            read.extend(consumer.poll(0.2))
            return len(read) >= 2 * RECORDS

        wait_for(has_read)
        consumer.commit()

    def leave(self, broker: Kafka) -> None:
        """But for static members, who stay in the group that they have been in."""
        for client in self._clients.pop(broker.bootstrap, []):
            client.close()

    def close(self) -> None:
        for clients in self._clients.values():
            for client in clients:
                client.close()


@pytest.fixture
def members() -> Iterator[Members]:
    members = Members()
    yield members
    members.close()


def test_members_of_consumer_groups_are_shown_and_protected_as_on_kafka(
    java: Java, both: tuple[Kafka, Kafka], members: Members
) -> None:
    steps: list[Step] = [
        *TOPICS,
        members.fill,
        members.join_consumer_groups,
        *(
            f"consumer-groups --describe --group {group} {view}"
            for group in ("classic", "consumer", "dynamic")
            for view in VIEWS
        ),
        "consumer-groups --describe --all-groups --state",
        "consumer-groups --list --state --type",
        "consumer-groups --list --state Stable --type classic",
        "consumer-groups --list --type consumer --state",
        "consumer-groups --list --state Sleeping",
        "groups --list",
        "groups --list --group-type classic",
        *(
            command
            for group in ("classic", "consumer")
            for command in (
                f"consumer-groups --reset-offsets --group {group} --topic live --to-earliest --execute",
                f"consumer-groups --delete-offsets --group {group} --topic live",
                f"consumer-groups --delete-offsets --group {group} --topic other",
                f"consumer-groups --delete --group {group}",
            )
        ),
        members.leave,
        "consumer-groups --describe --group dynamic",
        "consumer-groups --describe --group classic --members",
        "consumer-groups --describe --group consumer --state",
    ]
    assert first_difference(both, java, steps) == ""


def test_offsets_of_groups_are_reset_in_each_way_as_on_kafka(
    java: Java, both: tuple[Kafka, Kafka], members: Members, tmp_path: Path
) -> None:
    (tmp_path / "offsets.csv").write_text("live,0,3\nlive,1,4\n")
    reset = "consumer-groups --reset-offsets --group"
    from_file = f"{reset} dynamic --from-file {tmp_path / 'offsets.csv'}"
    ways = (
        *("--to-earliest", "--to-latest", "--to-current", "--to-offset 3", "--to-offset 100"),
        *("--shift-by -3", "--shift-by -100", "--shift-by 2", "--by-duration P9999D", "--by-duration PT1H"),
        *("--to-datetime 2023-11-14T22:13:25.000", "--to-datetime 2023-11-14T22:13:25Z"),
        *("--to-datetime yesterday", ""),
    )
    steps: list[Step] = [
        *TOPICS,
        members.fill,
        members.join_consumer_groups,
        members.leave,
        *(f"{reset} dynamic --topic live {way} --execute" for way in ways),
        f"{reset} dynamic --topic live:1 --to-offset 2 --execute",
        f"{reset} dynamic --topic live:7 --to-offset 2 --execute",
        f"{reset} dynamic --topic nowhere --to-offset 2 --execute",
        f"{reset} dynamic --all-topics --to-latest --execute",
        f"{reset} new --all-topics --to-earliest --execute",
        f"{reset} new --topic live --to-earliest",
        f"{reset} dynamic --topic live --to-earliest --export",
        f"{reset} dynamic --group consumer --topic live --to-earliest --export",
        f"{from_file} --dry-run",
        f"{from_file} --execute",
        "consumer-groups --reset-offsets --all-groups --topic live --to-earliest --execute",
        "consumer-groups --describe --group dynamic",
        "consumer-groups --delete-offsets --group dynamic --topic live:0",
        "consumer-groups --delete-offsets --group dynamic --topic live:9",
        "consumer-groups --delete-offsets --group dynamic --topic live --topic nowhere",
        "consumer-groups --delete-offsets --group nowhere --topic live",
        "consumer-groups --describe --group dynamic",
        "consumer-groups --delete --group dynamic --group nowhere",
        "consumer-groups --delete --all-groups",
        "consumer-groups --list",
    ]
    assert first_difference(both, java, steps) == ""


def test_share_groups_are_shown_reset_and_deleted_as_on_kafka(
    java: Java, both: tuple[Kafka, Kafka], members: Members
) -> None:
    reset = "share-groups --reset-offsets --group"
    steps: list[Step] = [
        *TOPICS,
        members.fill,
        members.join_share_group,
        *(f"share-groups --describe --group share {view}" for view in VIEWS if view not in EPOCHS),
        "share-groups --list --state",
        "share-groups --list --state Empty",
        "share-groups --describe --all-groups --state",
        "groups --list --share",
        f"{reset} share --topic live --to-earliest --execute",
        "share-groups --delete-offsets --group share --topic live",
        "share-groups --delete --group share",
        "consumer-groups --describe --group share",
        "consumer-groups --delete --group share",
        members.leave,
        "share-groups --describe --group share --members",
        "share-groups --describe --group share --state",
        f"{reset} share --topic live --to-earliest --dry-run",
        f"{reset} share --topic live --to-earliest --execute",
        "share-groups --describe --group share",
        f"{reset} share --topic live --to-datetime 2023-11-14T22:13:25.000 --execute",
        "share-groups --describe --group share --verbose",
        f"{reset} share --all-topics --to-latest --execute",
        f"{reset} new --topic live --to-latest --execute",
        f"{reset} share --topic nowhere --to-latest --execute",
        "share-groups --delete-offsets --group share --topic live",
        "share-groups --delete-offsets --group share --topic live",
        "share-groups --describe --group share",
        "share-groups --delete --group share",
        "share-groups --delete --group share",
        "share-groups --delete-offsets --group share --topic live",
        "share-groups --list",
    ]
    assert first_difference(both, java, steps) == ""


def streams(play: Callable[[StreamsSession], Any]) -> Step:
    """What two members of a Streams group do."""

    async def main(broker: Kafka) -> None:
        on = await StreamsSession.open(broker.bootstrap, "run")
        on.group = "streams"
        await play(on)
        on.connection.close()

    return lambda broker: asyncio.run(main(broker))


async def join(on: StreamsSession) -> None:
    topology = on.topology(
        on.part("0", ["a"], changelogs=(on.info("c", retention_ms="9000"),)), on.part("1", ["b"])
    )
    for member in ("one", "two"):
        await on.beat(member, 0, topology)
    await on.settle("one", "two")
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, 0, committed_metadata="")
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(on.name("a"), partitions=[partition])]
    committed = await on.ask(OffsetCommitRequest("streams", on.epochs["one"], "one", topics=topics), 9)
    assert committed.topics[0].partitions[0].error_code == 0


async def leave(on: StreamsSession) -> None:
    for member in ("one", "two"):
        await on.beat(member, -1)


def test_streams_groups_are_shown_reset_and_deleted_as_on_kafka(
    java: Java, both: tuple[Kafka, Kafka]
) -> None:
    reset = "streams-groups --reset-offsets --group streams"
    steps: list[Step] = [
        streams(join),
        *(f"streams-groups --describe --group streams {view}" for view in VIEWS if view not in EPOCHS),
        "streams-groups --list --state",
        "streams-groups --list --state NotReady",
        "streams-groups --describe --all-groups --state",
        "streams-groups --describe --group nowhere",
        "groups --list --streams",
        "consumer-groups --describe --group streams",
        f"{reset} --input-topic run-a --to-earliest --execute",
        "streams-groups --delete-offsets --group streams --input-topic run-a",
        "streams-groups --delete --group streams",
        streams(leave),
        "streams-groups --describe --group streams --members",
        "streams-groups --describe --group streams --state",
        "streams-groups --describe --group streams --verbose",
        f"{reset} --input-topic run-a --to-earliest --dry-run",
        f"{reset} --input-topic run-a:0 --to-offset 0 --execute",
        f"{reset} --all-input-topics --to-latest --execute",
        f"{reset} --input-topic run-b --to-latest --execute",
        f"{reset} --input-topic nowhere --to-latest --execute",
        "streams-groups --describe --group streams",
        "streams-groups --delete-offsets --group streams --input-topic run-a",
        "streams-groups --delete-offsets --group streams --input-topic nowhere",
        "streams-groups --delete-offsets --group streams --all-input-topics",
        "streams-groups --delete --group streams",
        "streams-groups --delete --group streams",
        "streams-groups --delete --all-groups",
        "streams-groups --list",
    ]
    assert first_difference(both, java, steps) == ""
