"""Logs of a real Kafka broker are read here, and Kafka's own classes read ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas._kernel import (
    KeyOffsets,
    RecordReader,
    compact_batches,
    find_max_timestamp,
    scan_batches,
    stamp_batches,
)
from barnabas.testing import ApacheKafka

Batch = Callable[..., bytes]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kafka")


@pytest.fixture(scope="module")
def kafka(data_dir: Path) -> Iterator[ApacheKafka]:
    with ApacheKafka(data_dir=data_dir) as broker:
        yield broker


def create(kafka: ApacheKafka, topic: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(topic, 1, config=config)])[topic].result(20)


def log_of(data_dir: Path, topic: str) -> bytes:
    (segment,) = data_dir.rglob(f"{topic}-0/*.log")
    return segment.read_bytes()


def test_what_librdkafka_and_the_broker_wrote_is_read(
    kafka: ApacheKafka, data_dir: Path, topic: Callable[[], str], codec: str
) -> None:
    name = topic()
    create(kafka, name)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": codec, "linger.ms": 50})
    # librdkafka leaves a batch as it is that does not get smaller: with this a batch of one record does.
    same = ("same", b"x" * 200)
    for i in range(500):
        headers = [("n", b"%d" % i), same]
        producer.produce(name, b"value " * (i % 20), b"%d" % i, timestamp=1000 + i, headers=headers)
    assert producer.flush(20) == 0
    data = log_of(data_dir, name)
    infos = scan_batches(data, check_crcs=True, check_records=True)
    assert {info.compression for info in infos} == {codec}
    records = RecordReader(name, 0, data).take(1000)
    assert [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in records] == [
        (i, 1000 + i, b"%d" % i, b"value " * (i % 20), (("n", b"%d" % i), same)) for i in range(500)
    ]
    assert find_max_timestamp(data) == (499, 1499, 0)


def test_what_the_broker_recompressed_and_stamped_is_read(
    kafka: ApacheKafka, data_dir: Path, topic: Callable[[], str], codec: str
) -> None:
    """With a codec and a timestamp type of the topic's own, the broker writes the batches itself, in Java."""
    name = topic()
    create(
        kafka,
        name,
        **{
            "compression.type": codec if codec != "none" else "uncompressed",
            "message.timestamp.type": "LogAppendTime",
        },
    )
    other = "gzip" if codec != "gzip" else "zstd"
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": other, "linger.ms": 50})
    for i in range(500):
        producer.produce(name, b"value " * (i % 20), b"%d" % i)
    assert producer.flush(20) == 0
    data = log_of(data_dir, name)
    infos = scan_batches(data, check_crcs=True, check_records=True)
    assert {(info.compression, info.timestamp_type) for info in infos} == {(codec, 1)}
    records = RecordReader(name, 0, data).take(1000)
    assert [(r.key, r.value) for r in records] == [(b"%d" % i, b"value " * (i % 20)) for i in range(500)]
    assert {record.timestamp for record in records} == {info.max_timestamp for info in infos}


def test_transactions_of_a_real_coordinator_are_told_apart(
    kafka: ApacheKafka,
    data_dir: Path,
    topic: Callable[[], str],
    eventually: Callable[[Callable[[], object]], object],
) -> None:
    name = topic()
    create(kafka, name)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name, "linger.ms": 50})
    producer.init_transactions(20)
    for outcome in ("commit", "abort", "commit"):
        producer.begin_transaction()
        for i in range(3):
            producer.produce(name, outcome.encode(), b"%d" % i)
        assert producer.flush(20) == 0
        (producer.commit_transaction if outcome == "commit" else producer.abort_transaction)(20)
    # The coordinator answers before it has written its markers.
    eventually(lambda: sum(info.is_control for info in scan_batches(log_of(data_dir, name))) == 3)
    data = log_of(data_dir, name)
    everything = RecordReader(name, 0, data).take(100)
    assert [record.value for record in everything] == [b"commit"] * 3 + [b"abort"] * 3 + [b"commit"] * 3
    assert [record.offset for record in everything] == [0, 1, 2, 4, 5, 6, 8, 9, 10]
    (aborted,) = [info for info in scan_batches(data, check_crcs=True) if info.base_offset == 4]
    assert aborted.is_transactional
    committed = RecordReader(name, 0, data, aborted=[(aborted.producer_id, 4)]).take(100)
    assert [record.offset for record in committed] == [0, 1, 2, 8, 9, 10]


def dump(kafka: ApacheKafka, path: Path) -> str:
    """What Kafka's own classes say of a log."""
    arguments = ["--files", str(path), "--deep-iteration", "--print-data-log"]
    result: Any = kafka.tool("org.apache.kafka.tools.DumpLogSegments", *arguments)
    return result.stdout


def test_kafkas_own_classes_read_our_batches(
    kafka: ApacheKafka, tmp_path: Path, batch: Batch, control_batch: Batch
) -> None:
    codecs = ["none", "gzip", "snappy", "lz4", "zstd"]
    written = b"".join(
        batch(
            [(1000 + i, b"key %d" % (i % 2), b"%d " % i * 40, [("h", b"x")]) for i in range(5)],
            compression=codec,
            producer_id=4,
            producer_epoch=1,
            base_sequence=5 * number,
        )
        for number, codec in enumerate(codecs)
    )
    log = stamp_batches(written, 0, 3, log_append_time=None)
    keys = KeyOffsets()
    keys.add(log[: len(log) // 2])
    log = compact_batches(log, keys, keep_tombstones_from=0) + control_batch(25, 4, commit=True)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(log)
    text = dump(kafka, path)
    read = list(RecordReader("t", 0, log))
    found = re.findall(r"\| offset: (\d+) .*?CreateTime: (\d+) .*?key: (key \d) payload: (.*)", text)
    assert [(int(o), int(t), k, v) for o, t, k, v in found] == [
        (r.offset, r.timestamp, (r.key or b"").decode(), (r.value or b"").decode()) for r in read
    ]
    assert len(read) > 10
    assert "endTxnMarker: COMMIT" in text
    assert text.count("isvalid: true") == len(scan_batches(log))
    assert "isvalid: false" not in text
    for info in scan_batches(log):
        assert re.search(
            rf"baseOffset: {info.base_offset} lastOffset: {info.last_offset} count: {info.record_count} "
            rf".*producerId: {info.producer_id} .*compresscodec: {info.compression}",
            text,
        )
