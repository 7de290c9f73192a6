"""What Barnabas writes, Kafka's Java client and librdkafka read, and the other way about: every codec, in and
out of transactions, with all that keys, values and headers can be; and in the message formats before 0.11."""

from __future__ import annotations

import random
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka
import pyarrow as pa
import pytest
from tests.waiting import Patience

from barnabas import Admin, Consumer, NewTopic, Producer
from barnabas.broker_errors import UnsupportedForMessageFormatError
from barnabas.testing import ApacheKafka
from barnabas.testing.distribution import KafkaDistribution, java_command

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Written(NamedTuple):
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class Seen(NamedTuple):
    offset: int
    timestamp_type: int
    record: Written


class Part(NamedTuple):
    """Readers stop when they have what is visible: something visible comes after all that is not."""

    codec: str
    outcome: str
    """What becomes of the transaction: none, abort, commit."""
    records: list[Written]


def some_bytes(rng: random.Random) -> bytes | None:
    size = rng.choice([None, 0, 1, 20, 20, 300])
    if size is None:
        return None
    return rng.choice([rng.randbytes(size), b"a" * size])


def some_headers(rng: random.Random) -> tuple[tuple[str, bytes | None], ...]:
    names = ["", "name", "name", "später", "x" * 40]
    return tuple((rng.choice(names), some_bytes(rng)) for _ in range(rng.choice([0, 0, 1, 4])))


def some_records(rng: random.Random, *, headers: bool = True) -> list[Written]:
    return [
        Written(
            rng.randrange(1_600_000_000_000, 1_750_000_000_000),
            some_bytes(rng),
            some_bytes(rng),
            some_headers(rng) if headers else (),
        )
        for _ in range(25)
    ]


def parts(seed: int) -> list[Part]:
    """A part for each codec and outcome, of which read_committed must not see those that are aborted.

    Those without a transaction come first: a transaction's marker may be written after its end was confirmed,
    and only what begins another transaction waits for it.
    """
    rng = random.Random(seed)
    plain = [Part(codec, "none", some_records(rng)) for codec in CODECS]
    transactional = [Part(codec, end, some_records(rng)) for codec in CODECS for end in ("abort", "commit")]
    return plain + transactional


def visible(written: Sequence[Part], isolation: str) -> list[Seen]:
    """What is to be read: records in order, and after each transaction the offset of its marker left out."""
    found: list[Seen] = []
    offset = 0
    for part in written:
        for record in part.records:
            if part.outcome != "abort" or isolation == "read_uncommitted":
                found.append(Seen(offset, 0, record))
            offset += 1
        offset += part.outcome != "none"
    return found


def hexadecimal(data: bytes | None) -> str:
    return "-" if data is None else data.hex()


def unhexadecimal(text: str) -> bytes | None:
    return None if text == "-" else bytes.fromhex(text)


def run_java(arguments: Sequence[str], lines: Sequence[str] = ()) -> list[str]:
    finished = subprocess.run(
        [
            java_command(),
            "-cp",
            KafkaDistribution().class_path,
            str(Path(__file__).with_name("Records.java")),
            *arguments,
        ],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


def write_by_java(bootstrap: str, topic: str, written: Sequence[Part], *settings: str) -> None:
    lines: list[str] = []
    for part in written:
        lines.append(f"{part.codec} {part.outcome} {len(part.records)}")
        for record in part.records:
            words = [str(record.timestamp), hexadecimal(record.key), hexadecimal(record.value)]
            for name, value in record.headers:
                words += [name.encode().hex(), hexadecimal(value)]
            lines.append(" ".join(words))
    run_java(["write", bootstrap, topic, *settings], lines)


def read_by_java(bootstrap: str, topic: str, count: int, isolation: str) -> list[Seen]:
    found: list[Seen] = []
    for line in run_java(["read", bootstrap, topic, str(count), isolation]):
        offset, timestamp_type, timestamp, key, value, *headers = line.split(" ")
        pairs = zip(headers[::2], headers[1::2], strict=True)
        record = Written(
            int(timestamp),
            unhexadecimal(key),
            unhexadecimal(value),
            tuple((bytes.fromhex(name).decode(), unhexadecimal(text)) for name, text in pairs),
        )
        found.append(Seen(int(offset), int(timestamp_type), record))
    return found


def write_by_barnabas(
    bootstrap: str, topic: str, written: Sequence[Part], *, arrow: bool = False, **settings: Any
) -> None:
    for codec, outcome, records in written:
        transactional: dict[str, Any] = {"transactional_id": topic} if outcome != "none" else {}
        with Producer(bootstrap, compression=codec, linger_ms=20, **transactional, **settings) as producer:
            if outcome != "none":
                producer.init_transactions()
                producer.begin_transaction()
            if arrow:
                delivery = producer.send_arrow(topic, as_table(records))
                assert delivery.result(timeout=30) == len(records)
            else:
                deliveries = [
                    producer.send(
                        topic, r.value, key=r.key, headers=r.headers, timestamp=r.timestamp, partition=0
                    )
                    for r in records
                ]
                for delivery in deliveries:
                    delivery.result(timeout=30)
            if outcome == "commit":
                producer.commit_transaction()
            elif outcome == "abort":
                producer.abort_transaction()


def as_table(records: Sequence[Written]) -> pa.Table:
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    return pa.table(
        {
            "timestamp": pa.array([r.timestamp for r in records], pa.timestamp("ms", "UTC")),
            "key": pa.array([r.key for r in records], pa.binary()),
            "value": pa.array([r.value for r in records], pa.binary()),
            "headers": pa.array(
                [[{"key": name, "value": value} for name, value in r.headers] for r in records],
                pa.list_(header),
            ),
            "partition": pa.array([0] * len(records), pa.int32()),
        }
    )


def write_by_send_arrow(bootstrap: str, topic: str, written: Sequence[Part]) -> None:
    write_by_barnabas(bootstrap, topic, written, arrow=True)


def read_by_barnabas(bootstrap: str, topic: str, count: int, isolation: str) -> list[Seen]:
    found: list[Seen] = []
    patience = Patience()
    with Consumer(bootstrap, isolation_level=isolation, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        while len(found) < count:
            patience.check(f"{len(found)} of {count} records came")
            found += [
                Seen(r.offset, r.timestamp_type, Written(r.timestamp, r.key, r.value, r.headers))
                for r in consumer.poll(0.2)
            ]
    return found


def read_by_poll_arrow(bootstrap: str, topic: str, count: int, isolation: str) -> list[Seen]:
    found: list[Seen] = []
    patience = Patience()
    with Consumer(bootstrap, isolation_level=isolation, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        while len(found) < count:
            patience.check(f"{len(found)} of {count} records came")
            batch = consumer.poll_arrow(0.2)
            milliseconds = batch["timestamp"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
            for timestamp, row in zip(milliseconds, batch.to_pylist(), strict=True):
                headers = tuple((header["key"], header["value"]) for header in row["headers"] or ())
                record = Written(timestamp, row["key"], row["value"], headers)
                found.append(Seen(row["offset"], row["timestampType"], record))
    return found


def write_by_librdkafka(bootstrap: str, topic: str, written: Sequence[Part]) -> None:
    for codec, outcome, records in written:
        settings = {"transactional.id": topic} if outcome != "none" else {}
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 20, **settings}
        )
        if outcome != "none":
            producer.init_transactions(30)
            producer.begin_transaction()
        for record in records:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=0,
                timestamp=record.timestamp,
                headers=list(record.headers),
            )
        assert producer.flush(30) == 0
        if outcome == "commit":
            producer.commit_transaction(30)
        elif outcome == "abort":
            producer.abort_transaction(30)


def read_by_librdkafka(bootstrap: str, topic: str, count: int, isolation: str) -> list[Seen]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": topic, "isolation.level": isolation}
    )
    found: list[Seen] = []
    patience = Patience()
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, confluent_kafka.OFFSET_BEGINNING)])
        while len(found) < count:
            patience.check(f"{len(found)} of {count} records came")
            for message in consumer.consume(500, 0.2):
                assert message.error() is None
                timestamp_type, timestamp = message.timestamp()
                record = Written(timestamp, message.key(), message.value(), tuple(message.headers() or ()))
                # librdkafka counts from 1, after its "not available".
                found.append(Seen(message.offset(), timestamp_type - 1, record))
    finally:
        consumer.close()
    return found


WRITERS = {
    "barnabas": write_by_barnabas,
    "send_arrow": write_by_send_arrow,
    "java": write_by_java,
    "librdkafka": write_by_librdkafka,
}
READERS = {
    "barnabas": read_by_barnabas,
    "poll_arrow": read_by_poll_arrow,
    "java": read_by_java,
    "librdkafka": read_by_librdkafka,
}
OURS = ("barnabas", "poll_arrow")


def make_topic(bootstrap: str, **configs: str) -> str:
    topic = f"interop-{uuid.uuid4().hex[:12]}"
    with Admin(bootstrap) as admin:
        settings = {name.replace("_", "."): value for name, value in configs.items()}
        admin.create_topics([NewTopic(topic, 1, 1, {"retention.ms": "-1", **settings})])
    return topic


@pytest.mark.parametrize("writer", WRITERS)
def test_what_one_client_writes_the_others_read(apache_kafka: Any, writer: str) -> None:
    bootstrap = apache_kafka.bootstrap
    topic = make_topic(bootstrap)
    written = parts(seed=len(writer))
    WRITERS[writer](bootstrap, topic, written)
    for reader in READERS if writer in ("barnabas", "send_arrow") else OURS:
        for isolation in ("read_committed", "read_uncommitted"):
            expected = visible(written, isolation)
            assert READERS[reader](bootstrap, topic, len(expected), isolation) == expected, (
                reader,
                isolation,
            )


def test_all_read_the_same_times_where_the_broker_sets_them(apache_kafka: Any) -> None:
    bootstrap = apache_kafka.bootstrap
    topic = make_topic(bootstrap, message_timestamp_type="LogAppendTime")
    written = parts(seed=3)
    began_ms = int(time.time() * 1000)
    write_by_barnabas(bootstrap, topic, written)
    ended_ms = int(time.time() * 1000)
    expected = visible(written, "read_committed")
    seen = read_by_java(bootstrap, topic, len(expected), "read_committed")
    assert {(one.timestamp_type, began_ms <= one.record.timestamp <= ended_ms) for one in seen} == {(1, True)}
    assert [one.record[1:] for one in seen] == [one.record[1:] for one in expected]
    for reader in ("barnabas", "poll_arrow", "librdkafka"):
        assert READERS[reader](bootstrap, topic, len(expected), "read_committed") == seen, reader


@pytest.fixture(scope="module")
def old_kafka() -> Iterator[ApacheKafka]:
    """A release that stores records in formats from before 0.11 where a topic asks for them."""
    with ApacheKafka("2.8.2") as kafka:
        yield kafka


@pytest.mark.parametrize("message_format", ["0.9.0", "0.10.2"])
@pytest.mark.parametrize("writer", ["barnabas", "java"])
def test_records_in_formats_before_0_11_are_read_as_they_were_written(
    old_kafka: ApacheKafka, writer: str, message_format: str
) -> None:
    bootstrap = old_kafka.bootstrap
    topic = make_topic(bootstrap, message_format_version=message_format)
    rng = random.Random(11)
    # Neither headers nor producer ids are in these formats, and brokers keep no zstd in them.
    written = [Part(codec, "none", some_records(rng, headers=False)) for codec in CODECS if codec != "zstd"]
    if writer == "barnabas":
        write_by_barnabas(bootstrap, topic, written, enable_idempotence=False)
    else:
        write_by_java(bootstrap, topic, written, "enable.idempotence=false")
    expected = visible(written, "read_uncommitted")
    if message_format == "0.9.0":
        expected = [Seen(one.offset, -1, one.record._replace(timestamp=-1)) for one in expected]
    for reader in (*OURS, "java") if writer == "barnabas" else OURS:
        assert READERS[reader](bootstrap, topic, len(expected), "read_uncommitted") == expected, reader


def test_an_idempotent_producer_names_the_topic_whose_format_is_too_old(old_kafka: ApacheKafka) -> None:
    topic = make_topic(old_kafka.bootstrap, message_format_version="0.10.2")
    with Producer(old_kafka.bootstrap) as producer:
        delivery = producer.send(topic, b"value", partition=0)
        with pytest.raises(UnsupportedForMessageFormatError, match=f"{topic}-0"):
            delivery.result(timeout=30)
