"""The same requests of old to an older release of Apache Kafka and to the embedded broker that passes for it:
the answers say the same.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest
from tests.broker.conftest import NOW_MS, batch_of
from tests.waiting import Patience

from barnabas import _kernel
from barnabas.broker.handlers import HANDLERS
from barnabas.net.connection import Connection
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

RELEASES = ["0.11.0.3", "2.8.2"]
TIMEOUT_MS = 30_000
OLD_CODECS = ["none", "gzip", "snappy", "lz4"]
ADMINISTRATION_OF_ZOOKEEPERS_TIME = frozenset({38, 39, 40, 41})
"""Delegation tokens, which need a secret key of all brokers."""

Ask = Callable[..., Awaitable[Any]]
Scenario = Callable[[Ask, str], Awaitable[Any]]


class Pair(NamedTuple):
    kafka: ApacheKafka
    embedded: EmbeddedBroker

    def answers(self, scenario: Scenario) -> tuple[Any, Any]:
        """What a scenario saw on each."""
        return asyncio.run(_play(self.kafka.bootstrap, scenario)), asyncio.run(
            _play(self.embedded.bootstrap, scenario)
        )


async def _play(bootstrap: str, scenario: Scenario) -> Any:
    host, _, port = bootstrap.partition(":")
    connection = await Connection.open(host, int(port), client_id="test")

    async def ask(request: Any, version: int) -> Any:
        assert connection.versions[request.API_KEY][0] <= version <= connection.versions[request.API_KEY][1]
        return await connection.submit(request, timeout_ms=TIMEOUT_MS, max_version=version)

    try:
        return await asyncio.wait_for(scenario(ask, f"t-{uuid.uuid4().hex[:8]}"), 60)
    finally:
        connection.close()


@pytest.fixture(scope="module", params=RELEASES)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with ApacheKafka(request.param) as kafka, EmbeddedBroker(as_version=request.param) as embedded:
        yield Pair(kafka, embedded)


async def create(ask: Ask, topic: str, **configs: str) -> None:
    asked = CreateTopicsRequest.CreatableTopic(
        topic,
        1,
        1,
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name.replace("_", "."), value)
            for name, value in configs.items()
        ],
    )
    response = await ask(CreateTopicsRequest(topics=[asked], timeout_ms=TIMEOUT_MS), 0)
    assert response.topics[0].error_code == 0
    # Kafka of then says that the topic is there before its leader knows of it.
    await until_settled(lambda: list_offsets(ask, topic, -1))


async def until_settled(ask_once: Callable[[], Awaitable[tuple[Any, ...]]]) -> tuple[Any, ...]:
    """The first answer that begins with no error."""
    async with asyncio.timeout(TIMEOUT_MS / 1000):
        patience = Patience()
        while True:
            answer = await ask_once()
            if answer[0] == 0:
                return answer
            await patience.pause_async()


async def list_offsets(ask: Ask, topic: str, timestamp: int, count: int = 10) -> tuple[int, list[int]]:
    partition = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=timestamp, max_num_offsets=count)
    topics = [ListOffsetsRequest.ListOffsetsTopic(topic, [partition])]
    response = await ask(ListOffsetsRequest(replica_id=-1, topics=topics), 0)
    found = response.topics[0].partitions[0]
    return found.error_code, list(found.old_style_offsets)


async def produce(ask: Ask, topic: str, records: bytes, version: int) -> tuple[int, int, bool]:
    data = [ProduceRequest.PartitionProduceData(index=0, records=records)]
    topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=data)]
    response = await ask(ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=topics), version)
    taken = response.responses[0].partition_responses[0]
    return taken.error_code, taken.base_offset, taken.log_append_time_ms >= 0


async def fetch(ask: Ask, topic: str, offset: int, version: int, max_bytes: int = 1 << 20) -> Any:
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait_ms=100, min_bytes=1, topics=[FetchRequest.FetchTopic(topic=topic, partitions=[partition])]
    )
    found = (await ask(request, version)).responses[0].partitions[0]
    return found.error_code, found.high_watermark, bytes(found.records or b"")


async def fetch_all(ask: Ask, topic: str, offset: int, version: int) -> bytes:
    """All from an offset on. How much comes at once is each broker's own: Kafka cuts what it has converted to
    the size that it had before, and fills it up to that."""
    found = b""
    while True:
        code, high_watermark, records = await fetch(ask, topic, offset, version)
        assert code == 0
        batches = _kernel.scan_batches(records, check_crcs=True)
        found += records[: batches[-1].position + batches[-1].size] if batches else b""
        offset = batches[-1].last_offset + 1
        if offset >= high_watermark:
            return found


async def coordinator(ask: Ask, group: str) -> tuple[int, int]:
    """Whether there is one that has read what it needs."""
    found = await ask(FindCoordinatorRequest(key=group), 0)
    if found.error_code:
        return found.error_code, -1
    topics = [OffsetFetchRequest.OffsetFetchRequestTopic("none", [0])]
    response = await ask(OffsetFetchRequest(group_id=group, topics=topics), 1)
    return response.topics[0].partitions[0].error_code, found.node_id


def described(records: bytes) -> list[Any]:
    """Batches as far as both have to make the same of them, and all records."""
    batches = [
        (batch.magic, batch.compression, batch.timestamp_type, batch.last_offset)
        for batch in _kernel.scan_batches(records, check_crcs=True)
    ]
    reader = _kernel.RecordReader("t", 0, records)
    return [batches, [(each.offset, each.timestamp, each.key, each.value) for each in reader]]


def message_set(count: int, *, magic: int, compression: str) -> bytes:
    pairs = [(None if index % 2 else b"k%d" % index, b"value %d" % index) for index in range(count)]
    # Far from retention, in the years of neither.
    batch = batch_of(pairs, compression=compression, timestamp=NOW_MS)
    return _kernel.convert_to_old(batch, magic, first_offset=0)


def test_it_offers_the_same_versions_of_all_that_it_has(pair: Pair) -> None:
    async def versions(ask: Ask, _: str) -> dict[int, tuple[int, int]]:
        response = await ask(ApiVersionsRequest(), 0)
        return {
            key.api_key: (key.min_version, key.max_version)
            for key in response.api_keys
            if key.api_key in HANDLERS and key.api_key not in ADMINISTRATION_OF_ZOOKEEPERS_TIME
        }

    of_kafka, of_embedded = pair.answers(versions)
    assert of_embedded == of_kafka


@pytest.mark.parametrize("compression", OLD_CODECS)
def test_messages_of_old_formats_become_the_same_in_every_version(pair: Pair, compression: str) -> None:
    async def scenario(ask: Ask, topic: str) -> list[Any]:
        await create(ask, topic, retention_ms="-1")
        seen: list[Any] = []
        for version, magic in ((0, 0), (1, 0), (1, 1), (2, 1), (2, 0)):
            sent = message_set(3, magic=magic, compression=compression)
            seen.append(await produce(ask, topic, sent, version))
        return seen + [
            described(await fetch_all(ask, topic, offset, version))
            for version in (0, 1, 2, 3, 4)
            for offset in (0, 4)
        ]

    of_kafka, of_embedded = pair.answers(scenario)
    assert of_embedded == of_kafka


def test_the_bytes_of_messages_that_are_not_compressed_are_the_same(pair: Pair) -> None:
    async def scenario(ask: Ask, topic: str) -> list[bytes]:
        await create(ask, topic, retention_ms="-1")
        await produce(ask, topic, message_set(5, magic=1, compression="none"), 2)
        return [await fetch_all(ask, topic, offset, version) for version in (0, 1, 2, 3) for offset in (0, 3)]

    of_kafka, of_embedded = pair.answers(scenario)
    assert of_embedded == of_kafka


def test_a_time_that_the_broker_sets_is_in_old_formats_too(pair: Pair) -> None:
    async def scenario(ask: Ask, topic: str) -> list[Any]:
        await create(ask, topic, message_timestamp_type="LogAppendTime")
        seen: list[Any] = []
        for compression in ("none", "gzip"):
            sent = message_set(2, magic=0, compression=compression)
            seen.append(await produce(ask, topic, sent, 2))
        _, _, records = await fetch(ask, topic, 0, 2)
        batches = _kernel.scan_batches(records)
        seen.append([(batch.timestamp_type, batch.max_timestamp > NOW_MS) for batch in batches])
        return seen

    of_kafka, of_embedded = pair.answers(scenario)
    assert of_embedded == of_kafka


def test_what_is_too_large_for_a_fetch_comes_in_part_or_whole_alike(pair: Pair) -> None:
    async def scenario(ask: Ask, topic: str) -> list[Any]:
        await create(ask, topic, retention_ms="-1")
        await produce(ask, topic, message_set(1, magic=1, compression="none"), 2)
        await produce(ask, topic, message_set(1, magic=1, compression="none"), 2)
        return [
            (len(records) if version < 3 else 0, len(_kernel.scan_batches(records)))
            for version in (0, 1, 2, 3)
            for _, _, records in [await fetch(ask, topic, 0, version, max_bytes=30)]
        ]

    of_kafka, of_embedded = pair.answers(scenario)
    assert of_embedded == of_kafka


def test_what_is_broken_is_refused_with_the_same_codes(pair: Pair) -> None:
    async def scenario(ask: Ask, topic: str) -> list[Any]:
        await create(ask, topic)
        damaged = bytearray(message_set(1, magic=1, compression="none"))
        damaged[-1] ^= 1
        sent = [b"", bytes(damaged), message_set(2, magic=1, compression="none")[:-1]]
        seen: list[Any] = [await produce(ask, topic, records, 2) for records in sent]
        seen.append((await fetch(ask, topic, 99, 2))[0])
        seen.append(await list_offsets(ask, topic, 99))
        seen.append((await ask(MetadataRequest(topics=[]), 0)).topics != [])
        return seen

    of_kafka, of_embedded = pair.answers(scenario)
    assert of_embedded == of_kafka


def test_segments_are_told_alike_by_list_offsets_of_old(pair: Pair) -> None:
    async def scenario(ask: Ask, topic: str) -> list[Any]:
        await create(ask, topic, segment_bytes="100000", retention_ms="-1")
        seen: list[Any] = [await list_offsets(ask, topic, -1), await list_offsets(ask, topic, -2)]
        for _ in range(4):
            batch = batch_of([(None, b"x" * 60_000)])
            await produce(ask, topic, _kernel.convert_to_old(batch, 1, first_offset=0), 2)
        for timestamp, count in ((-1, 10), (-1, 2), (-1, 1), (-2, 10), (1, 10), (2**62, 10)):
            seen.append(await list_offsets(ask, topic, timestamp, count))
        return seen

    of_kafka, of_embedded = pair.answers(scenario)
    assert of_embedded == of_kafka


def test_offsets_are_committed_and_fetched_alike_by_versions_of_old(pair: Pair) -> None:
    async def scenario(ask: Ask, topic: str) -> list[Any]:
        await create(ask, topic)
        group = topic
        for name in (group, f"{topic}-2"):
            await until_settled(partial(coordinator, ask, name))
        asked = [OffsetFetchRequest.OffsetFetchRequestTopic(topic, [0])]
        seen: list[Any] = []
        for version in (0, 1):
            for offset in (None, 5):
                if offset is not None:
                    committed = [
                        OffsetCommitRequest.OffsetCommitRequestPartition(0, offset, committed_metadata="m")
                    ]
                    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=committed)]
                    answer = await ask(OffsetCommitRequest(group_id=group, topics=topics), version)
                    seen.append([each.error_code for each in answer.topics[0].partitions])
                answer = await ask(OffsetFetchRequest(group_id=group, topics=asked), version)
                seen.append(
                    [
                        (each.error_code, each.committed_offset, each.metadata)
                        for each in answer.topics[0].partitions
                    ]
                )
            # Of its own, as version 0 is with Kafka.
            group = f"{topic}-2"
        return seen

    of_kafka, of_embedded = pair.answers(scenario)
    assert of_embedded == of_kafka


def test_settings_are_described_in_version_0(pair: Pair) -> None:
    async def scenario(ask: Ask, topic: str) -> list[Any]:
        await create(ask, topic, retention_ms="5000")
        names = ["retention.ms", "cleanup.policy"]
        asked = [DescribeConfigsRequest.DescribeConfigsResource(2, topic, names)]
        (result,) = (await ask(DescribeConfigsRequest(resources=asked), 0)).results
        # Whether they are defaults, Kafka 2.8 says of none.
        return [
            result.error_code,
            *sorted((each.name, each.value, each.read_only, each.is_sensitive) for each in result.configs),
        ]

    of_kafka, of_embedded = pair.answers(scenario)
    assert of_embedded == of_kafka
