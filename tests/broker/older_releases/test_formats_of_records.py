"""A broker that passes for an older release of Kafka: what it offers, and records in the formats of then."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.broker.conftest import NOW_MS, batch_of, values
from tests.broker.in_process import Client, fetch_request, run

from barnabas import _kernel
from barnabas.broker.older_release import Release
from barnabas.broker_errors import ErrorCode
from barnabas.errors import MisuseError, NoCommonVersionError
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest

OLD_CODECS = ["none", "gzip", "snappy", "lz4"]
MAGIC_OF_FETCH = {0: 0, 1: 0, 2: 1, 3: 1}


def message_set(*texts: str, magic: int, compression: str = "none") -> bytes:
    return _kernel.convert_to_old(batch_of(values(*texts), compression=compression), magic, first_offset=0)


def magics(records: bytes) -> set[int]:
    return {batch.magic for batch in _kernel.scan_batches(records)}


def read(records: bytes, offset: int = 0) -> list[tuple[int, int, bytes | None]]:
    reader = _kernel.RecordReader("t", 0, records, fetch_offset=offset)
    return [(record.offset, record.timestamp, record.value) for record in reader]


async def fetch(
    client: Client, offset: int, *, version: int, max_bytes: int = 1 << 20
) -> FetchResponse.PartitionData:
    request = fetch_request("t", offset)
    request.topics[0].partitions[0].partition_max_bytes = max_bytes
    if version < 3:
        request.max_bytes = FetchRequest().max_bytes
    response = await client.send(request, version=version)
    return response.responses[0].partitions[0]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        *[("2.8", "2.8"), ("2.8.2", "2.8"), ("0.10", "0.10.2"), ("0.10.1", "0.10.1"), ("0.10.0.1", "0.10.0")],
        *[("0.11", "0.11.0"), ("0.11.0.3", "0.11.0"), ("4.3", "4.3"), ("2", "2.8")],
    ],
)
def test_a_release_goes_by_its_line_or_its_full_name(name: str, line: str) -> None:
    assert Release.named(name).line == line


@pytest.mark.parametrize("name", ["0.9", "5.0", "two", "", "0.8.2.2"])
def test_other_releases_are_refused_by_naming_those_there_are(name: str) -> None:
    with pytest.raises(MisuseError, match=r"as_version=.*there are 0\.10\.0, .*4\.3"):
        Release.named(name)


def test_what_a_release_did_not_have_is_not_there(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        assert client.connection.versions[0] == (0, 2)
        assert client.connection.versions[18] == (0, 0)
        assert 22 not in client.connection.versions
        with pytest.raises(NoCommonVersionError):
            await client.send(ConsumerGroupHeartbeatRequest())

    run(tmp_path, scenario, as_version="0.10")


@pytest.mark.parametrize(("release", "told"), [("2.3", []), ("2.4", [(18, 0, 3)])])
def test_versions_in_a_refusal_are_told_since_2_4(
    tmp_path: Path, release: str, told: list[tuple[int, int, int]]
) -> None:
    async def scenario(client: Client) -> None:
        client.connection.versions = {18: (0, 4)}
        response = await client.send(
            ApiVersionsRequest(client_software_name="a", client_software_version="1")
        )
        assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert [(key.api_key, key.min_version, key.max_version) for key in response.api_keys] == told

    run(tmp_path, scenario, as_version=release)


@pytest.mark.parametrize("compression", OLD_CODECS)
def test_messages_of_old_formats_are_read_in_every_format(tmp_path: Path, compression: str) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        expected: list[tuple[int, int, bytes | None]] = []
        for version, magic in ((0, 0), (1, 0), (2, 1)):
            sent = message_set("a", "b", magic=magic, compression=compression)
            taken = await client.produce("t", sent, version=version)
            assert (taken.error_code, taken.base_offset) == (0, len(expected))
            for text in ("a", "b"):
                time = NOW_MS + (text == "b") if magic else -1
                expected.append((len(expected), time, text.encode()))
        for version, magic in MAGIC_OF_FETCH.items():
            records = bytes((await fetch(client, 0, version=version)).records or b"")
            assert magics(records) == {magic}
            times = [time if magic else -1 for _, time, _ in expected]
            assert read(records) == [
                (offset, time, value) for (offset, _, value), time in zip(expected, times, strict=True)
            ]
        current = bytes((await fetch(client, 0, version=4)).records or b"")
        assert magics(current) == {2}
        assert read(current) == expected
        assert {batch.compression for batch in _kernel.scan_batches(current)} == {compression}

    run(tmp_path, scenario, as_version="0.11")


def test_offsets_that_a_producer_sends_are_not_looked_at_and_a_part_of_a_message_is_left_out(
    tmp_path: Path,
) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        sent = bytearray(message_set("a", "b", "c", magic=0))
        for batch in _kernel.scan_batches(sent):
            sent[batch.position : batch.position + 8] = b"\xff" * 8
        assert (await client.produce("t", bytes(sent[:-1]), version=0)).error_code == 0
        assert [value for _, _, value in read(bytes((await fetch(client, 0, version=0)).records or b""))] == [
            b"a",
            b"b",
        ]
        nothing = await client.produce("t", b"", version=0)
        assert (nothing.error_code, nothing.base_offset) == (0, -1)
        sent[20] ^= 1
        assert (await client.produce("t", bytes(sent), version=0)).error_code == ErrorCode.CORRUPT_MESSAGE

    run(tmp_path, scenario, as_version="0.10.1")


def test_the_time_of_the_append_overrules_and_is_told(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        taken = await client.produce("t", message_set("a", "b", magic=0, compression="gzip"), version=2)
        assert taken.log_append_time_ms > NOW_MS
        records = bytes((await fetch(client, 0, version=3)).records or b"")
        assert [time for _, time, _ in read(records)] == [taken.log_append_time_ms] * 2
        assert [batch.timestamp_type for batch in _kernel.scan_batches(records)] == [1]

    run(tmp_path, scenario, as_version="2.8", config={"log.message.timestamp.type": "LogAppendTime"})


def test_a_message_that_is_too_large_comes_cut_before_version_3_and_whole_after(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        await client.produce("t", message_set("x" * 1000, magic=1), version=2)
        assert len((await fetch(client, 0, version=2, max_bytes=100)).records or b"") == 100
        assert len((await fetch(client, 0, version=3, max_bytes=100)).records or b"") > 1000

    run(tmp_path, scenario, as_version="0.10.1")


def test_zstd_is_not_for_old_requests(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        batch = batch_of(values("a"), compression="zstd")
        assert (await client.produce("t", batch, version=6)).error_code == (
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        )
        assert (await client.produce("t", batch, version=7)).error_code == 0
        refused = await fetch(client, 0, version=3)
        assert refused.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE

    run(tmp_path, scenario, as_version="2.8")


def test_version_0_of_list_offsets_tells_where_segments_begin(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", segment_bytes="1048576")
        for _ in range(3):
            await client.produce("t", message_set("x" * 700_000, magic=1), version=2)

        async def offsets(timestamp: int, count: int = 10) -> list[int]:
            partition = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=timestamp, max_num_offsets=count)
            topics = [ListOffsetsRequest.ListOffsetsTopic("t", [partition])]
            response = await client.send(ListOffsetsRequest(replica_id=-1, topics=topics), version=0)
            return response.topics[0].partitions[0].old_style_offsets

        assert await offsets(-1) == [3, 2, 1, 0]
        assert await offsets(-1, 1) == [3]
        assert await offsets(-2) == [0]
        assert await offsets(1) == []
        assert await offsets(2**62) == [3, 2, 1, 0]

    run(tmp_path, scenario, as_version="2.8")


def test_offsets_of_zookeepers_time_are_kept_and_not_there_before(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        asked = [OffsetFetchRequest.OffsetFetchRequestTopic("t", [0])]

        async def committed() -> tuple[int, int]:
            response = await client.send(OffsetFetchRequest(group_id="g", topics=asked), version=0)
            found = response.topics[0].partitions[0]
            return found.error_code, found.committed_offset

        assert await committed() == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
        partitions = [OffsetCommitRequest.OffsetCommitRequestPartition(0, 5, committed_metadata="m")]
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=partitions)]
        for version in (0, 1):
            response = await client.send(OffsetCommitRequest(group_id="g", topics=topics), version=version)
            assert response.topics[0].partitions[0].error_code == 0
        assert await committed() == (0, 5)

    run(tmp_path, scenario, as_version="2.8")
