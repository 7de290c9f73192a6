"""Records are written, read and looked for, rightly and wrongly: Apache Kafka and the embedded broker are
asked the same, and say the same."""

from __future__ import annotations

import uuid

import pytest
from tests.broker.conftest import NOW_MS, batch_of, values
from tests.broker.in_process import fetch_request, produce_request

from barnabas import _kernel
from barnabas.clock import now_ms
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from .dialogue import Dialogue, Scenario, play

TIMEOUT_MS = 30_000
FAR_IN_FUTURE_MS = 4_102_444_800_000
UNKNOWN_ID = uuid.UUID("11111111-2222-3333-4444-555555555555")
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__.removeprefix("when_").replace("_", " ")] = function
    return function


def produced(
    records: bytes | None, *, name: str = "", topic_id: uuid.UUID | None = None, **request: int
) -> ProduceRequest:
    data = [ProduceRequest.PartitionProduceData(request.pop("partition", 0), records)]
    topic = ProduceRequest.TopicProduceData(name, partition_data=data)
    if topic_id is not None:
        topic.topic_id = topic_id
    return ProduceRequest(topic_data=[topic], **{"acks": -1, "timeout_ms": TIMEOUT_MS, **request})


@scenario
async def when_records_are_written(dialogue: Dialogue) -> None:
    name, small, stamped, compacted = map(dialogue.name, ("written", "small", "stamped", "compacted"))
    await dialogue.create_topic(name, 2)
    await dialogue.create_topic(small, 1, max_message_bytes="100")
    await dialogue.create_topic(stamped, 1, message_timestamp_before_max_ms="1000")
    await dialogue.create_topic(compacted, 1, cleanup_policy="compact")
    good = batch_of(values("a", "b"))
    for version in (3, 5, 8, 9, 10, 12):
        await dialogue.ask(produced(good, name=name), version)
    await dialogue.ask(produced(good, topic_id=dialogue.id_of(name)), 13)
    strange = batch_of(values("p"), producer_id=999_999_999, producer_epoch=0, base_sequence=5)
    for request in (
        *(produced(good, name=name, acks=acks) for acks in (1, -1, 2, -2)),
        *(produced(good, name=name, partition=partition) for partition in (2, -1)),
        *(produced(good, name=missing) for missing in ("missing", "a b")),
        produced(batch_of(values("x" * 200)), name=small),
        produced(good + good, name=name),
        produced(b"", name=name),
        produced(good[:-1], name=name),
        produced(good[:40], name=name),
        produced(good[:-1] + bytes([good[-1] ^ 1]), name=name),
        produced(good[:16] + b"\x03" + good[17:], name=name),
        produced(strange, name=name),
    ):
        # Kafka has no words for these.
        await dialogue.ask(request, 12, but="error_message")
    await dialogue.ask(produced(good, topic_id=UNKNOWN_ID), 13, but="error_message")
    for request in (
        produced(good, name=stamped),
        produced(good, name=compacted),
        produced(batch_of([(b"k", b"v")]), name=compacted),
        produced(batch_of([(b"k", b"v"), (None, b"v"), (b"k", None), (None, None)]), name=compacted),
        produced(batch_of(values(*"abcde")), name=compacted),
    ):
        await dialogue.ask(request, 12)


def batch_at(*times: int, compression: str = "none") -> bytes:
    builder = _kernel.BatchBuilder(compression=compression, max_bytes=1 << 20)
    for time in times:
        assert builder.append(time, b"k", b"v")
    return builder.build()


def times_of(name: str, *timestamps: int) -> list[ListOffsetsRequest]:
    Topic, Part = ListOffsetsRequest.ListOffsetsTopic, ListOffsetsRequest.ListOffsetsPartition
    return [
        ListOffsetsRequest(topics=[Topic(name, [Part(0, timestamp=timestamp)])]) for timestamp in timestamps
    ]


@scenario
async def when_some_records_have_times_that_are_far_off(dialogue: Dialogue) -> None:
    early, late = map(dialogue.name, ("early", "late"))
    await dialogue.create_topic(early, 1, message_timestamp_before_max_ms="3600000")
    # Near enough to be a time of thirteen digits, as `Dialogue` knows them.
    before = {"message_timestamp_before_max_ms": "100000000000"}
    await dialogue.create_topic(late, 1, message_timestamp_after_max_ms="3600000", **before)
    now = now_ms()
    for name, bad in ((early, 1000), (early, 0), (late, FAR_IN_FUTURE_MS)):
        for place in range(3):
            for compression in ("none", "zstd"):
                times = [bad if each == place else now for each in range(3)]
                await dialogue.ask(produced(batch_at(*times, compression=compression), name=name), 12)
    for name in (early, late):
        for times in ([-1], [-1, now], [now, -1, now - 1000]):
            await dialogue.ask(produced(batch_at(*times), name=name), 12)


@scenario
async def when_a_header_says_other_times_than_its_records(dialogue: Dialogue) -> None:
    for place, wrong in enumerate((NOW_MS - 1000, NOW_MS + 1_000_000)):
        for compression in ("none", "lz4"):
            name = dialogue.name(f"claimed-{place}-{compression}")
            await dialogue.create_topic(name, retention_ms="-1")
            good = batch_at(NOW_MS, NOW_MS + 5, NOW_MS + 2, compression=compression)
            await dialogue.ask(produced(_kernel.with_max_timestamp(good, wrong), name=name), 12)
            for request in times_of(name, -3, NOW_MS, NOW_MS + 3, NOW_MS + 6):
                await dialogue.ask(request)


@scenario
async def when_the_head_of_a_batch_is_deleted(dialogue: Dialogue) -> None:
    for compression in ("none", "gzip"):
        name = dialogue.name(f"beheaded-{compression}")
        await dialogue.create_topic(name, retention_ms="-1")
        for times in (range(10), range(30, 20, -1), range(15, 25)):
            batch = batch_at(*(NOW_MS + time for time in times), compression=compression)
            await dialogue.send(produced(batch, name=name), 12)
        Topic, Part = DeleteRecordsRequest.DeleteRecordsTopic, DeleteRecordsRequest.DeleteRecordsPartition
        for offset in (0, 4, 13, 20, 29, 30):
            await dialogue.ask(DeleteRecordsRequest([Topic(name, [Part(0, offset)])], TIMEOUT_MS))
            for request in times_of(name, -3, 0, *(NOW_MS + time for time in (0, 5, 9, 12, 24, 27, 30, 31))):
                await dialogue.ask(request)


@scenario
async def when_records_are_packed_anew(dialogue: Dialogue) -> None:
    """What is too large for its topic once it is unpacked is refused where the topic wants it unpacked."""
    zeros = [(b"k", bytes(200_000))]
    for wanted in ("producer", "uncompressed", "gzip", "zstd"):
        name = dialogue.name(f"packed-{wanted}")
        await dialogue.create_topic(name, compression_type=wanted, max_message_bytes="100000")
        for compression in ("gzip", "snappy", "lz4", "zstd"):
            request = produced(batch_of(zeros, compression=compression), name=name)
            await dialogue.ask(request, 12, but="error_message")


@scenario
async def when_records_are_read(dialogue: Dialogue) -> None:
    name, empty = dialogue.name("read"), dialogue.name("empty")
    await dialogue.create_topic(name, 2)
    await dialogue.create_topic(empty, 1)
    for text in ("a", "b", "c" * 50):
        await dialogue.send(produce_request(name, batch_of(values(text, text))), 8)
    Topic, Part = FetchRequest.FetchTopic, FetchRequest.FetchPartition
    for offset in (0, 1, 2, 5, 6, 7, -1, -2, 1 << 62):
        for version in (4, 11, 12):
            await dialogue.ask(fetch_request(name, offset), version)
    for sizes in ((0, 0), (1, 1), (1, 1 << 20), (1 << 20, 1), (100, 200)):
        request = fetch_request(name, 0)
        request.max_bytes, request.topics[0].partitions[0].partition_max_bytes = sizes
        await dialogue.ask(request, 12)
    for partitions in (
        [Part(2, fetch_offset=0, partition_max_bytes=100)],
        [Part(-1, fetch_offset=0, partition_max_bytes=100)],
        [Part(0, fetch_offset=0, partition_max_bytes=100, current_leader_epoch=0)],
        [Part(0, fetch_offset=0, partition_max_bytes=100, current_leader_epoch=7)],
        [Part(0, fetch_offset=2, partition_max_bytes=100, last_fetched_epoch=0)],
        [Part(0, fetch_offset=2, partition_max_bytes=100, last_fetched_epoch=3)],
        [Part(0, fetch_offset=9, partition_max_bytes=100, last_fetched_epoch=0)],
        [Part(0, fetch_offset=0, partition_max_bytes=100, log_start_offset=5)],
    ):
        await dialogue.ask(FetchRequest(topics=[Topic(name, partitions=partitions)]), 12)
    wanted = [Part(0, fetch_offset=0, partition_max_bytes=1000)]
    await dialogue.ask(FetchRequest(topics=[Topic("missing", partitions=wanted)]), 12)
    await dialogue.ask(FetchRequest(topics=[Topic("a b", partitions=wanted)]), 12)
    for version in (13, 15, 16, 17, 18):
        await dialogue.ask(
            FetchRequest(topics=[Topic(topic_id=dialogue.id_of(name), partitions=wanted)]), version
        )
        await dialogue.ask(FetchRequest(topics=[Topic(topic_id=UNKNOWN_ID, partitions=wanted)]), version)
    await dialogue.ask(FetchRequest(topics=[]), 12)
    await dialogue.ask(fetch_request(empty, 0), 12)
    await dialogue.ask(fetch_request(empty, 1), 12)
    for session in ((5, 3), (5, 0), (0, 3), (0, -1), (7, -1)):
        request = fetch_request(name, 0)
        request.session_id, request.session_epoch = session
        if session != (5, 0):
            await dialogue.ask(request, 12)


@scenario
async def when_offsets_are_looked_for(dialogue: Dialogue) -> None:
    name, empty = dialogue.name("searched"), dialogue.name("empty")
    await dialogue.create_topic(name, 2)
    await dialogue.create_topic(empty, 1)
    for number in range(4):
        batch = batch_of(values("a", "b"), timestamp=NOW_MS + 100 * number)
        await dialogue.send(produce_request(name, batch), 8)
    await dialogue.send(produce_request(name, batch_of(values("late"), timestamp=NOW_MS + 50)), 8)
    partition = DeleteRecordsRequest.DeleteRecordsPartition(0, 3)
    await dialogue.ask(
        DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(name, [partition])], TIMEOUT_MS)
    )
    Topic, Part = ListOffsetsRequest.ListOffsetsTopic, ListOffsetsRequest.ListOffsetsPartition
    for timestamp in (
        *(-1, -2, -3, -4, -5, -6, -7, 0, 1 << 62),
        *(NOW_MS + shift for shift in (-1, 0, 1, 2, 50, 99, 100, 101, 102, 250, 300, 301, 302)),
    ):
        for topic in (name, empty):
            for version in (1, 4, 7, 8, 9, 10, 11):
                await dialogue.ask(
                    ListOffsetsRequest(-1, topics=[Topic(topic, [Part(0, timestamp=timestamp)])]), version
                )
    for topics in (
        [Topic(name, [Part(2, timestamp=-1)])],
        [Topic(name, [Part(0, timestamp=-1), Part(0, timestamp=-2)])],
        [Topic(name, [Part(0, timestamp=-1, current_leader_epoch=0)])],
        [Topic(name, [Part(0, timestamp=-1, current_leader_epoch=5)])],
        [Topic("missing", [Part(0, timestamp=-1)])],
        [Topic("a b", [Part(0, timestamp=-1)])],
        [Topic(name, [])],
        [],
    ):
        for isolation_level in (0, 1):
            await dialogue.ask(ListOffsetsRequest(-1, isolation_level, topics), 7)
    await dialogue.ask(ListOffsetsRequest(5, 0, [Topic(name, [Part(0, timestamp=-1)])]), 7)


@scenario
async def when_ends_of_epochs_are_asked_for(dialogue: Dialogue) -> None:
    name, empty = dialogue.name("epochs"), dialogue.name("empty")
    await dialogue.create_topic(name, 2)
    await dialogue.create_topic(empty, 1)
    await dialogue.send(produce_request(name, batch_of(values("a", "b"))), 8)
    Topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    Part = OffsetForLeaderEpochRequest.OffsetForLeaderPartition
    for partition in (
        *(Part(0, leader_epoch=epoch) for epoch in (0, 1, 5, -1)),
        *(Part(0, current_leader_epoch=epoch, leader_epoch=0) for epoch in (0, 1, -1, -2)),
        Part(2, leader_epoch=0),
        Part(-1, leader_epoch=0),
    ):
        for topic in (name, empty):
            for version in (2, 3, 4):
                request = OffsetForLeaderEpochRequest(topics=[Topic(topic, [partition])])
                await dialogue.ask(request, version)
    for topics in ([Topic("missing", [Part(0, leader_epoch=0)])], [Topic(name, [])], []):
        await dialogue.ask(OffsetForLeaderEpochRequest(topics=topics), 4)


@pytest.mark.parametrize("which", SCENARIOS)
def test_both_say_the_same(which: str, apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker) -> None:
    theirs, ours = play(SCENARIOS[which], apache_kafka, embedded_broker)
    assert ours == theirs
