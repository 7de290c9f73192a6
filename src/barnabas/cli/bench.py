"""`barnabas bench`: how fast a cluster takes and gives records, as this client sees it."""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import barnabas
from barnabas import NewTopic, RecordMetadata, TopicPartition
from barnabas.cli import completion
from barnabas.cli.consuming import bounds
from barnabas.cli.consuming.progress import Bar
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError, settings_of_one
from barnabas.cli.output import note, plural, print_json
from barnabas.cli.producing.throttle import Throttle
from barnabas.client.admin.types import BROKER_DEFAULT
from barnabas.errors import KafkaTimeoutError
from barnabas.settings.table import AdminConfig, ConsumerConfig, ProducerConfig

if TYPE_CHECKING:
    from barnabas import Consumer, Producer

app = typer.Typer(help="Measure throughput and latency of a cluster.", no_args_is_help=True)

_PERCENTILES = (50.0, 95.0, 99.0, 99.9)
# Beyond so many more samples tell no more, and cost time that is measured.
_MOST_SAMPLES = 100_000
_RECORDS_A_WAIT = 1_000
_STALLED_SECONDS = 30.0

Topic = Annotated[
    str | None,
    typer.Option(
        "--topic",
        "-t",
        help="Write to this topic; if left out, to a new one, which is deleted afterwards.",
        autocompletion=completion.topics,
    ),
]
Records = Annotated[int, typer.Option("--records", "-n", min=1, help="How many records.")]
Size = Annotated[
    int, typer.Option("--size", "-s", min=0, help="How many bytes each value has; they are random.")
]
PayloadFile = Annotated[
    Path | None,
    typer.Option(
        "--payload-file",
        exists=True,
        dir_okay=False,
        help="A file whose lines are the values, in place of random ones, over and over.",
    ),
]
Partitions = Annotated[
    int, typer.Option("--partitions", "-p", min=1, help="How many partitions the new topic has.")
]
ReplicationFactor = Annotated[
    int | None,
    typer.Option(
        "--replication-factor",
        "-r",
        min=1,
        help="How many replicas each partition of the new topic has; the broker's default if left out.",
    ),
]

Acks = Annotated[
    str | None,
    typer.Option(
        "--acks", metavar="0|1|all", help="How many replicas must have a record; as -X acks. Default: all."
    ),
]
Compression = Annotated[
    str | None,
    typer.Option(
        "--compression",
        metavar="CODEC",
        help="none, gzip, snappy, lz4 or zstd; as -X compression.type. Default: none.",
    ),
]


@app.command()
def produce(
    records: Records = 1_000_000,
    size: Size = 100,
    payload_file: PayloadFile = None,
    records_per_second: Annotated[
        float | None,
        typer.Option(
            "--records-per-second",
            "--rate",
            min=1,
            help="Send at most so many records a second; as many as possible if left out.",
        ),
    ] = None,
    topic: Topic = None,
    partitions: Partitions = 6,
    replication_factor: ReplicationFactor = None,
    acks: Acks = None,
    compression: Compression = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Send records, and print how many a second were stored, and how long each took."""
    values = _values(size, payload_file)
    settings = settings_of_one(ProducerConfig, bootstrap, command_config, setting)
    settings = _with(settings, acks, compression)
    with (
        _topic(topic, partitions, replication_factor, bootstrap, command_config, setting) as name,
        barnabas.Producer(**settings) as producer,
    ):
        producer.partitions_for(name)
        began = time.perf_counter()
        sent, latencies = _send(producer, name, values, records, records_per_second)
        seconds = time.perf_counter() - began
    _tell("produce", topic, records, sent, seconds, latencies, as_json=as_json)


@app.command()
def consume(
    records: Records = 1_000_000,
    size: Size = 100,
    payload_file: PayloadFile = None,
    topic: Annotated[
        str | None,
        typer.Option(
            "--topic",
            "-t",
            help="Read this topic from its beginning; if left out, a new one, which is filled first.",
            autocompletion=completion.topics,
        ),
    ] = None,
    partitions: Partitions = 6,
    replication_factor: ReplicationFactor = None,
    acks: Acks = None,
    compression: Compression = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Read records, and print how many a second came."""
    values = _values(size, payload_file)
    settings = settings_of_one(ConsumerConfig, bootstrap, command_config, setting)
    settings |= {"allow_auto_create_topics": False, "enable_auto_commit": False}
    settings.pop("group_id", None)
    with _topic(topic, partitions, replication_factor, bootstrap, command_config, setting) as name:
        if topic is None:
            producing = settings_of_one(ProducerConfig, bootstrap, command_config, setting)
            with barnabas.Producer(**_with(producing, acks, compression)) as producer:
                _send(producer, name, values, records, None)
        with barnabas.Consumer(**settings) as consumer, Bar(records) as bar:
            bounds.check_topics(consumer, [name])
            places = bounds.partitions_of(consumer, [name], None)
            consumer.assign(places)
            consumer.seek_to_beginning(*places)
            began = last = time.perf_counter()
            count = read = 0
            while count < records:
                found = consumer.poll(1.0, min(10_000, records - count))
                now = time.perf_counter()
                if found:
                    last = now
                elif now - last > _STALLED_SECONDS or _is_at_end(consumer, places):
                    break
                count += len(found)
                read += sum(record.serialized_size for record in found)
                bar.tell(records - count)
            seconds = last - began
    if not count:
        raise UsageError(f"topic {name} has no records to read")
    _tell("consume", topic, count, read, seconds, [], as_json=as_json)


@app.command()
def latency(
    records: Records = 1_000,
    size: Size = 100,
    payload_file: PayloadFile = None,
    topic: Topic = None,
    partitions: Partitions = 1,
    replication_factor: ReplicationFactor = None,
    acks: Acks = None,
    compression: Compression = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Send one record at a time, and print how long each takes until a consumer has it."""
    values = _values(size, payload_file)
    producing = settings_of_one(ProducerConfig, bootstrap, command_config, setting)
    producing.setdefault("linger_ms", 0)
    producing = _with(producing, acks, compression)
    consuming = settings_of_one(ConsumerConfig, bootstrap, command_config, setting)
    consuming |= {"allow_auto_create_topics": False, "enable_auto_commit": False}
    consuming.pop("group_id", None)
    latencies: list[float] = []
    sent = 0
    with (
        _topic(topic, partitions, replication_factor, bootstrap, command_config, setting) as name,
        barnabas.Producer(**producing) as producer,
        barnabas.Consumer(**consuming) as consumer,
        Bar(records) as bar,
    ):
        places = bounds.partitions_of(consumer, [name], None)
        consumer.assign(places)
        consumer.seek_to_end(*places)
        for place in places:
            consumer.position(place)
        start = time.perf_counter()
        for number, value in enumerate(itertools.islice(values, records), 1):
            # What others write to the same topic is not ours.
            key = uuid.uuid4().bytes
            began = time.perf_counter()
            producer.send(name, value, key=key)
            producer.flush()
            while not any(record.key == key for record in consumer.poll(1.0)):
                if time.perf_counter() - began > _STALLED_SECONDS:
                    raise KafkaTimeoutError(
                        f"a record sent to {name} had not come back after {_STALLED_SECONDS:.0f} s"
                    )
            latencies.append((time.perf_counter() - began) * 1000)
            sent += len(value)
            bar.tell(records - number)
        seconds = time.perf_counter() - start
    _tell("latency", topic, records, sent, seconds, latencies, as_json=as_json)


def _with(settings: dict[str, Any], acks: str | None, compression: str | None) -> dict[str, Any]:
    """The settings of a producer, with those that have options of their own, which count before -X."""
    found = dict(settings)
    if acks is not None:
        found["acks"] = acks
    if compression is not None:
        found.pop("compression_type", None)
        found["compression"] = compression
    return found


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The mean, the greatest, and those that so many of a hundred do not exceed."""
    ordered = sorted(values)
    found = {"mean": sum(ordered) / len(ordered)}
    for percent in _PERCENTILES:
        # The least value that at least so many of a hundred do not exceed.
        rank = max(1, -(-len(ordered) * round(percent * 10) // 1000))
        found[f"p{percent:g}"] = ordered[rank - 1]
    return {name: round(value, 3) for name, value in {**found, "max": ordered[-1]}.items()}


def _send(
    producer: Producer, topic: str, values: Iterator[bytes], count: int, records_a_second: float | None
) -> tuple[int, list[float]]:
    """Bytes of values sent, and milliseconds that samples took until they were stored."""
    latencies: list[float] = []
    failures: list[BaseException] = []
    clock = time.perf_counter
    every = -(-count // _MOST_SAMPLES)
    throttle = Throttle(records_a_second)
    a_wait = throttle.records_at_once(_RECORDS_A_WAIT)
    sent = 0

    def timed(began: float) -> Any:
        def delivered(error: BaseException | None, _metadata: RecordMetadata | None) -> None:
            if error is None:
                latencies.append((clock() - began) * 1000)
            else:
                failures.append(error)

        return delivered

    with Bar(count) as bar:
        for number in range(count):
            value = next(values)
            sent += len(value)
            producer.send(topic, value, on_delivery=timed(clock()) if number % every == 0 else None)
            if number % a_wait == a_wait - 1:
                throttle.wait(a_wait)
                bar.tell(count - number - 1)
            if failures:
                break
        producer.flush()
    if failures:
        raise failures[0]
    return sent, latencies


def _values(size: int, payload_file: Path | None) -> Iterator[bytes]:
    """Without end. Raises: UsageError for a file without lines."""
    if payload_file is None:
        # Made once: to make them anew would be measured as well. Random, so that they do not compress.
        return itertools.cycle([os.urandom(size) for _ in range(1_000)])
    lines = payload_file.read_bytes().splitlines()
    if not lines:
        raise UsageError(f"{str(payload_file)!r} has no lines to send")
    return itertools.cycle(lines)


@contextmanager
def _topic(
    given: str | None,
    partitions: int,
    replication_factor: int | None,
    bootstrap: str | None,
    command_config: Path | None,
    setting: list[str] | None,
) -> Generator[str]:
    """The given topic, or one of its own for as long as this lasts."""
    with barnabas.Admin(**settings_of_one(AdminConfig, bootstrap, command_config, setting)) as admin:
        if given is not None:
            admin.describe_topics([given])
            yield given
            return
        name = f"barnabas-bench-{uuid.uuid4().hex[:12]}"
        admin.create_topics([NewTopic(name, partitions, replication_factor or BROKER_DEFAULT)])
        try:
            yield name
        finally:
            admin.delete_topics([name])


def _is_at_end(consumer: Consumer, places: Sequence[TopicPartition]) -> bool:
    return all(consumer.position(place) >= end for place, end in consumer.end_offsets(places).items())


def _tell(
    what: str,
    topic: str | None,
    records: int,
    size: int,
    seconds: float,
    latencies: Sequence[float],
    *,
    as_json: bool,
) -> None:
    seconds = max(seconds, 1e-9)
    found: dict[str, Any] = {
        "what": what,
        "topic": topic,
        "records": records,
        "bytes": size,
        "seconds": round(seconds, 3),
        "records_per_second": round(records / seconds, 1),
        "megabytes_per_second": round(size / 1e6 / seconds, 3),
    }
    if latencies:
        found["latency_ms"] = percentiles(latencies)
        found["latency_samples"] = len(latencies)
    if as_json:
        print_json(found)
        return
    print(
        f"{plural(records, 'record')}, {size / 1e6:,.2f} MB in {seconds:,.2f} s: "
        f"{found['records_per_second']:,.0f} records/s, {found['megabytes_per_second']:,.2f} MB/s"
    )
    if latencies:
        shown = ", ".join(f"{name} {value:,.2f} ms" for name, value in found["latency_ms"].items())
        print(f"latency: {shown}")
        if len(latencies) < records:
            note(f"latencies are those of {plural(len(latencies), 'record')} among them")
