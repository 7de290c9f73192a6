"""Offsets of groups and partitions in every version of their requests that Kafka still answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Consumer, OffsetAndMetadata, TopicPartition
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.groups.offsets import fetch_committed, list_offsets
from barnabas.errors import NoCommonVersionError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.settings.table import CommonConfig, load
from barnabas.types import (
    EARLIEST_LOCAL_OFFSET,
    EARLIEST_OFFSET,
    EARLIEST_PENDING_UPLOAD_OFFSET,
    LATEST_OFFSET,
    LATEST_TIERED_OFFSET,
    MAX_TIMESTAMP_OFFSET,
)

MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]
Limit = Callable[[Any, int], None]


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Limit:
    """`limit(request_type, version)` has brokers speak no higher version of that request."""

    def impose(limited: Any, highest: int) -> None:
        newest = Connection.version_of

        def version_of(connection: Connection, request_type: Any, max_version: int | None = None) -> int:
            if request_type is limited:
                max_version = highest if max_version is None else min(highest, max_version)
            return newest(connection, request_type, max_version)

        monkeypatch.setattr(Connection, "version_of", version_of)

    return impose


@pytest.mark.parametrize("version", range(2, 11))
def test_commits_of_every_version_are_kept_with_their_metadata(
    version: int, broker: Any, make_topic: MakeTopic, limit: Limit
) -> None:
    topic = make_topic(broker, 2)
    limit(OffsetCommitRequest, version)
    with Consumer(broker.bootstrap, group_id=topic) as consumer:
        offset = OffsetAndMetadata(17, "checkpoint 4", leader_epoch=0)
        consumer.commit({(topic, 0): offset})
        expected = offset if version >= 6 else OffsetAndMetadata(17, "checkpoint 4")
        assert consumer.committed([(topic, 0), (topic, 1)]) == {(topic, 0): expected, (topic, 1): None}


@pytest.mark.parametrize("version", range(1, 11))
def test_commits_are_read_in_every_version(
    version: int, broker: Any, make_topic: MakeTopic, limit: Limit
) -> None:
    topic, other = make_topic(broker, 2), make_topic(broker)
    limit(OffsetFetchRequest, version)
    with Consumer(broker.bootstrap, group_id=topic) as consumer:
        offset = OffsetAndMetadata(17, "checkpoint 4", leader_epoch=0)
        consumer.commit({(topic, 0): offset, (other, 0): 3})
        expected = offset if version >= 5 else OffsetAndMetadata(17, "checkpoint 4")
        assert consumer.committed([(topic, 0), (topic, 1), (other, 0)]) == {
            (topic, 0): expected,
            (topic, 1): None,
            (other, 0): OffsetAndMetadata(3),
        }


def test_without_partitions_all_commits_of_a_group_are_read_even_of_topics_not_in_the_metadata(
    broker: Any, make_topic: MakeTopic
) -> None:
    topics = [make_topic(broker) for _ in range(3)]
    with Consumer(broker.bootstrap, group_id=topics[0]) as consumer:
        consumer.commit({(topic, 0): 5 for topic in topics})

    async def main() -> dict[TopicPartition, OffsetAndMetadata | None]:
        client = KafkaClient(load(CommonConfig, {"bootstrap_servers": broker.bootstrap}))
        try:
            return await fetch_committed(client, topics[0], None, timeout_ms=10_000)
        finally:
            await client.close()

    assert asyncio.run(main()) == {(topic, 0): OffsetAndMetadata(5) for topic in topics}


@pytest.mark.parametrize("version", range(1, 12))
@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_ends_and_times_are_found_in_every_version(
    version: int,
    isolation_level: Any,
    broker: Any,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    limit: Limit,
) -> None:
    if version == 1 and isolation_level == "read_committed":
        # That version is older than transactions.
        version = 2
    topic = make_topic(broker)
    fill_topic(broker, topic, [{"value": b"x", "timestamp": time} for time in (1000, 3000, 2000)])
    limit(ListOffsetsRequest, version)
    partition = TopicPartition(topic, 0)
    with Consumer(broker.bootstrap, isolation_level=isolation_level) as consumer:
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 3}
        found = consumer.offsets_for_times({partition: 1500})[partition]
        assert found is not None
        assert (found.offset, found.timestamp) == (1, 3000)
        assert consumer.offsets_for_times({partition: 5000}) == {partition: None}


PLACES = {
    EARLIEST_OFFSET: (1, 0),
    LATEST_OFFSET: (1, 3),
    MAX_TIMESTAMP_OFFSET: (7, 1),
    EARLIEST_LOCAL_OFFSET: (8, 0),
    LATEST_TIERED_OFFSET: (9, -1),
    EARLIEST_PENDING_UPLOAD_OFFSET: (11, -1),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_broker_that_is_too_old_for_a_place_is_named(
    place: int, broker: Any, make_topic: MakeTopic, fill_topic: FillTopic, limit: Limit
) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, [{"value": b"x", "timestamp": time} for time in (1000, 3000, 2000)])
    partition = TopicPartition(topic, 0)
    first_version, expected = PLACES[place]

    async def look_up() -> int:
        client = KafkaClient(load(CommonConfig, {"bootstrap_servers": broker.bootstrap}))
        try:
            found = await list_offsets(
                client, {partition: place}, isolation_level="read_uncommitted", timeout_ms=10_000
            )
            return found[partition].offset
        finally:
            await client.close()

    limit(ListOffsetsRequest, first_version)
    assert asyncio.run(look_up()) == expected
    if first_version > 1:
        limit(ListOffsetsRequest, first_version - 1)
        with pytest.raises(NoCommonVersionError, match=rf"{topic}-0 takes version {first_version}"):
            asyncio.run(look_up())
