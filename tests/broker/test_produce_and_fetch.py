"""Produce, Fetch and ListOffsets, request by request."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from barnabas import _kernel
from barnabas.broker_errors import ErrorCode
from barnabas.clock import now_ms
from barnabas.errors import KafkaConnectionError
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from barnabas.protocol.messages.produce import ProduceRequest

from .conftest import batch_of, values
from .in_process import Client, fetch_request, produce_request, run


def texts(data: object, offset: int = 0) -> list[str]:
    reader = _kernel.RecordReader("t", 0, data, fetch_offset=offset)  # pyright: ignore[reportArgumentType]
    return [(record.value or b"").decode() for record in reader]


@pytest.mark.parametrize("version", range(3, 13))
def test_every_version_by_name_stores_and_returns_records(tmp_path: Path, version: int) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        produced = await client.produce("t", batch_of(values("a", "b")), version=version)
        assert (produced.error_code, produced.base_offset) == (ErrorCode.NONE, 0)
        response = await client.send(fetch_request("t", 0), version=min(12, version + 1))
        (partition,) = response.responses[0].partitions
        assert partition.high_watermark == 2
        assert texts(partition.records) == ["a", "b"]

    run(tmp_path, scenario)


def test_the_newest_versions_name_topics_by_id(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        topic = await client.create_topic("t")
        request = produce_request("", batch_of(values("a")))
        request.topic_data[0].topic_id = topic.topic_id
        response = await client.send(request)
        assert response.responses[0].topic_id == topic.topic_id
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        fetch = fetch_request("", 0)
        fetch.topics[0].topic_id = topic.topic_id
        fetched = await client.send(fetch)
        assert texts(fetched.responses[0].partitions[0].records) == ["a"]

    run(tmp_path, scenario)


def test_an_id_of_no_topic_is_an_error_of_its_own(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        topic = await client.create_topic("t")
        other = topic.topic_id.__class__(int=topic.topic_id.int ^ 1)
        fetch = fetch_request("", 0)
        fetch.topics[0].topic_id = other
        fetched = await client.send(fetch)
        assert fetched.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID

    run(tmp_path, scenario)


def test_produce_without_an_answer_stores_records(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        client.connection.send_no_response(
            produce_request("t", batch_of(values("a")), acks=0), max_version=12
        )
        assert texts((await client.fetch("t", 0)).records) == ["a"]

    run(tmp_path, scenario)


def test_a_failed_produce_without_an_answer_ends_the_connection(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        client.connection.send_no_response(
            produce_request("missing", batch_of(values("a")), acks=0), max_version=12
        )
        with pytest.raises(KafkaConnectionError):
            await client.send(MetadataRequest(topics=None))

    run(tmp_path, scenario)


def damaged(batch: bytes) -> bytes:
    return batch[:-1] + bytes([batch[-1] ^ 1])


def too_old() -> bytes:
    """A message of magic 1: offset, size, crc, magic, attributes, timestamp, no key, no value."""
    body = bytes([1, 0]) + bytes(8) + (-1).to_bytes(4, "big", signed=True) * 2
    crc = _kernel.crc32(body).to_bytes(4, "big")
    return bytes(8) + (len(body) + 4).to_bytes(4, "big") + crc + body


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        (damaged(batch_of(values("a"))), ErrorCode.CORRUPT_MESSAGE),
        (b"", ErrorCode.INVALID_RECORD),
        (batch_of(values("a")) * 2, ErrorCode.INVALID_RECORD),
        (batch_of(values("a"))[:-1], ErrorCode.INVALID_RECORD),
        (too_old(), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (batch_of([(None, bytes(2_000_000))]), ErrorCode.MESSAGE_TOO_LARGE),
        (batch_of(values("a"), producer_id=1), ErrorCode.INVALID_RECORD),
        (batch_of(values("a"), timestamp=9_000_000_000_000), ErrorCode.INVALID_TIMESTAMP),
    ],
    ids=["checksum", "nothing", "two batches", "cut short", "magic 1", "too large", "no epoch", "future"],
)
def test_a_bad_batch_is_refused_and_nothing_is_stored(tmp_path: Path, batch: bytes, code: ErrorCode) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        produced = await client.produce("t", batch)
        assert produced.error_code == code
        assert produced.error_message
        assert (await client.fetch("t", 0)).high_watermark == 0

    run(tmp_path, scenario)


def test_refusals_name_the_setting_and_what_it_is(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", max_message_bytes="1000")
        produced = await client.produce("t", batch_of([(None, bytes(2_000))]))
        assert "max.message.bytes=1000 of topic t" in (produced.error_message or "")

    run(tmp_path, scenario)


def test_a_compacted_topic_names_the_records_that_lack_a_key(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", cleanup_policy="compact")
        produced = await client.produce("t", batch_of([(b"k", b"a"), (None, b"b"), (b"k", None)]))
        assert produced.error_code == ErrorCode.INVALID_RECORD
        assert [error.batch_index for error in produced.record_errors] == [1]
        produced = await client.produce("t", batch_of([(b"k", b"a"), (b"k", None)]))
        assert produced.error_code == ErrorCode.NONE

    run(tmp_path, scenario)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_a_topic_can_have_its_own_codec(tmp_path: Path, codec: str) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", compression_type=codec)
        for compression in ("none", "gzip", "zstd"):
            produced = await client.produce("t", batch_of(values("a", "b"), compression=compression))
            assert produced.error_code == ErrorCode.NONE
        data = (await client.fetch("t", 0)).records
        found = {batch.compression for batch in _kernel.scan_batches(bytes(data), check_crcs=True)}
        assert found == {"none" if codec == "uncompressed" else codec}
        assert texts(data) == ["a", "b"] * 3

    run(tmp_path, scenario)


def test_the_topic_may_ask_for_the_brokers_timestamps(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", message_timestamp_type="LogAppendTime")
        before = now_ms()
        produced = await client.produce("t", batch_of(values("a"), timestamp=5))
        assert produced.log_append_time_ms >= before
        reader = _kernel.RecordReader("t", 0, bytes((await client.fetch("t", 0)).records))
        assert next(reader).timestamp == produced.log_append_time_ms

    run(tmp_path, scenario)


def test_producer_ids_are_never_given_twice_even_after_a_restart(tmp_path: Path) -> None:
    found: list[int] = []

    async def scenario(client: Client) -> None:
        for _ in range(3):
            response = await client.send(
                InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
            )
            assert (response.error_code, response.producer_epoch) == (0, 0)
            found.append(response.producer_id)

    run(tmp_path, scenario)
    run(tmp_path, scenario)
    assert len(set(found)) == 6


def test_a_waiting_fetch_is_answered_as_soon_as_records_come(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        waiting = client.start(fetch_request("t", 0, max_wait_ms=15_000), version=12)
        other = await client.another()
        assert not waiting.done()
        await other.produce("t", batch_of(values("a")))
        response = await asyncio.wait_for(waiting, 12)
        assert texts(response.responses[0].partitions[0].records) == ["a"]
        other.connection.close()

    run(tmp_path, scenario)


def test_a_waiting_fetch_is_answered_with_nothing_when_its_time_is_up(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        loop = asyncio.get_running_loop()
        started = loop.time()
        fetched = await client.fetch("t", 0, max_wait_ms=200)
        assert 0.2 <= loop.time() - started < 0.21
        assert (fetched.error_code, bytes(fetched.records or b"")) == (0, b"")

    run(tmp_path, scenario)


def test_a_fetch_waits_until_there_are_min_bytes(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        batch = batch_of(values("a"))
        waiting = client.start(
            fetch_request("t", 0, max_wait_ms=15_000, min_bytes=3 * len(batch)), version=12
        )
        other = await client.another()
        for _ in range(2):
            await other.produce("t", batch)
        assert not waiting.done()
        await other.produce("t", batch)
        response = await asyncio.wait_for(waiting, 12)
        assert texts(response.responses[0].partitions[0].records) == ["a"] * 3
        other.connection.close()

    run(tmp_path, scenario)


def test_answers_keep_the_order_of_requests_while_a_fetch_waits(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        order: list[str] = []
        waiting = client.start(fetch_request("t", 0, max_wait_ms=300), version=12)
        behind = client.start(MetadataRequest(topics=None))
        waiting.add_done_callback(lambda _: order.append("fetch"))
        behind.add_done_callback(lambda _: order.append("metadata"))
        await asyncio.gather(waiting, behind)
        assert order == ["fetch", "metadata"]

    run(tmp_path, scenario)


def test_the_limit_on_a_response_leaves_out_later_partitions(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", partitions=3)
        batch = batch_of([(None, bytes(1000))])
        for partition in range(3):
            await client.produce("t", batch, partition=partition)
        request = fetch_request("t", 0, max_bytes=2 * len(batch))
        request.topics[0].partitions = [
            FetchRequest.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
            for index in range(3)
        ]
        response = await client.send(request, version=12)
        sizes = [len(partition.records) for partition in response.responses[0].partitions]
        assert sizes == [len(batch), len(batch), 0]

    run(tmp_path, scenario)


def test_offsets_outside_the_log_are_out_of_range(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        await client.produce("t", batch_of(values("a")))
        for offset in (-1, 2):
            fetched = await client.fetch("t", offset, max_wait_ms=10_000)
            assert fetched.error_code == ErrorCode.OFFSET_OUT_OF_RANGE

    run(tmp_path, scenario)


def test_leader_epochs_are_checked_and_grow_with_every_start(tmp_path: Path) -> None:
    async def first(client: Client) -> None:
        await client.create_topic("t")
        await client.produce("t", batch_of(values("a")))

    async def second(client: Client) -> None:
        await client.produce("t", batch_of(values("b")))
        fenced = await client.fetch("t", 0, current_leader_epoch=0)
        assert fenced.error_code == ErrorCode.FENCED_LEADER_EPOCH
        unknown = await client.fetch("t", 0, current_leader_epoch=2)
        assert unknown.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert (await client.fetch("t", 0, current_leader_epoch=1)).error_code == ErrorCode.NONE
        partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=0)
        topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic="t", partitions=[partition])
        response = await client.send(OffsetForLeaderEpochRequest(topics=[topic]))
        assert response.topics[0].partitions[0].end_offset == 1

    run(tmp_path, first)
    run(tmp_path, second)


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (-2, (0, -1)),
        (-1, (3, -1)),
        (-3, (1, 900)),
        (-4, (0, -1)),
        (-5, (-1, -1)),
        (501, (1, 900)),
        (901, (-1, -1)),
    ],
)
def test_offsets_are_listed_by_time(tmp_path: Path, timestamp: int, expected: tuple[int, int]) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        for time_ms in (500, 900, 700):
            await client.produce("t", batch_of(values("a"), timestamp=time_ms))
        partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        topic = ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[partition])
        response = await client.send(ListOffsetsRequest(replica_id=-1, topics=[topic]))
        found = response.topics[0].partitions[0]
        assert (found.error_code, found.offset, found.timestamp) == (0, *expected)

    run(tmp_path, scenario)


def test_several_partitions_answer_each_for_itself(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", partitions=1)
        request = produce_request("t", batch_of(values("a")))
        request.topic_data[0].partition_data.append(
            ProduceRequest.PartitionProduceData(index=5, records=batch_of(values("b")))
        )
        response = await client.send(request, version=12)
        codes = [answer.error_code for answer in response.responses[0].partition_responses]
        assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]

    run(tmp_path, scenario)


def test_a_fetch_that_waits_learns_that_the_topic_is_deleted(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        waiting = client.start(fetch_request("t", 0, max_wait_ms=15_000), version=12)
        other = await client.another()
        await other.send(
            DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name="t")], timeout_ms=1_000)
        )
        response = await asyncio.wait_for(waiting, 12)
        assert response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        other.connection.close()

    run(tmp_path, scenario)


@pytest.mark.parametrize("are_faults_told", [False, True], ids=["from the file", "by way of memory"])
def test_large_fetches_give_what_is_in_the_log(tmp_path: Path, are_faults_told: bool) -> None:
    """Whoever harms answers needs them in memory; else they are sent from the log's files."""

    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        sent = [f"{number}" * 300 for number in range(2_000)]
        for first in range(0, len(sent), 500):
            await client.produce("t", batch_of(values(*sent[first : first + 500])))
        if are_faults_told:
            client.broker.faults.clear()
        asked = [client.start(fetch_request("t", offset), version=12) for offset in (0, 0, 1_500)]
        for offset, answer in zip((0, 0, 1_500), asked, strict=True):
            (partition,) = (await answer).responses[0].partitions
            found = texts(partition.records, offset)
            assert len(found) >= 500
            assert found == sent[offset : offset + len(found)]
        assert client.broker._parts is not None
        connections = [
            connection.context.sends_files
            for server in client.broker.nodes[1]._servers.values()
            for connection in server.connections
        ]
        assert connections == [not are_faults_told]

    run(tmp_path, scenario)
