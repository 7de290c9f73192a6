"""What `bench.spark` measures: each work through our source or sink, or through Spark's own connector.

Knows nothing of how the runs are arranged, or of what is wanted.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.avro import functions as avro
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
from pyspark.sql.types import StructType

from barnabas import Consumer, Producer, TopicPartition
from bench.runs import Topics
from bench.works import PARTITIONS, VALUE_BYTES

OURS = "barnabas"
PEER_FORMAT = "kafka"
FORMATS = (OURS, PEER_FORMAT)
SHORT_BATCHES = 30
WAIT_SECONDS = 600.0
RECORDS_A_SECOND = 1000
RECORDS_A_BATCH = 250_000
RECORDS_OF_NEW_APPLICATION = 20_000
WARM_UP_SECONDS = 5.0
WAY_SECONDS = 20.0
# As many fields as the flights of the demo have.
FIELDS = {
    **{f"count{number}": "INT" for number in range(6)},
    **{f"total{number}": "BIGINT" for number in range(3)},
    **{f"rate{number}": "DOUBLE" for number in range(3)},
    **{f"name{number}": "STRING" for number in range(5)},
    "is_open": "BOOLEAN",
    "at": "TIMESTAMP",
}
DDL = ", ".join(f"{name} {kind}" for name, kind in FIELDS.items())
_AVRO_TYPES = {
    "INT": "int",
    "BIGINT": "long",
    "DOUBLE": "double",
    "STRING": "string",
    "BOOLEAN": "boolean",
    "TIMESTAMP": {"type": "long", "logicalType": "timestamp-micros"},
}
AVRO_SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Row",
        "fields": [{"name": name, "type": _AVRO_TYPES[kind]} for name, kind in FIELDS.items()],
    }
)


class Works:
    """Each function takes the name of a format and returns seconds."""

    def __init__(
        self, spark: SparkSession, bootstrap: str, filled: str, records: int, topics: Topics
    ) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._filled = filled
        self._records = records
        self._topics = topics

    def read(self, format_name: str) -> float:
        frame = self._read(format_name, self._filled)
        began = time.perf_counter()
        count = total(frame)
        took = time.perf_counter() - began
        self._expect(count)
        return took

    def stream(self, format_name: str) -> float:
        return self._streamed(format_name)[0]

    def triggers(self, format_name: str) -> float:
        """Without the start of the query, in which Spark starts a Python process to plan with."""
        return self._streamed(format_name)[1]

    def _streamed(self, format_name: str) -> tuple[float, float]:
        """What the whole query took, and its triggers."""
        counts: list[int] = []
        with tempfile.TemporaryDirectory() as checkpoint:
            began = time.perf_counter()
            query = (
                self._stream_of(format_name, self._filled)
                .writeStream.foreachBatch(lambda frame, batch_id: counts.append(total(frame)))
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            took = time.perf_counter() - began
        self._expect(sum(counts))
        durations = [progress["durationMs"]["triggerExecution"] for progress in query.recentProgress]
        return took, sum(durations) / 1000

    def write(self, format_name: str) -> float:
        # A constant: to make rows is Spark's work, and should not count for much.
        value = f.lit(b"x" * VALUE_BYTES).alias("value")
        key = (f.col("id") % 1000).cast("string").alias("key")
        frame = self._spark.range(0, self._records, numPartitions=2).select(key, value)
        with self._topics.fresh() as topic:
            options = {"kafka.bootstrap.servers": self._bootstrap, "topic": topic}
            began = time.perf_counter()
            frame.write.format(format_name).mode("append").options(**options).save()
            return time.perf_counter() - began

    def short(self, format_name: str) -> float:
        """The shortest of many micro-batches of a few records each."""
        with self._topics.fresh() as topic, self._trickle(topic), tempfile.TemporaryDirectory() as checkpoint:
            query = (
                self._stream_of(format_name, topic)
                .writeStream.format("noop")
                .option("checkpointLocation", checkpoint)
                .start()
            )
            try:
                return shortest_batch(query)
            finally:
                query.stop()

    def copy(self, format_name: str) -> float:
        """All there is, from topic to topic: exactly once by ours, at least once by Spark's connector."""
        return self._copied(format_name)

    def batches(self, format_name: str) -> float:
        """The same in batches."""
        return self._copied(format_name, maxOffsetsPerTrigger=str(RECORDS_A_BATCH))

    def _copied(self, format_name: str, **options: str) -> float:
        with self._topics.fresh() as topic:
            took, count = copy_all(self._spark, format_name, self._bootstrap, self._filled, topic, **options)
        self._expect(count)
        return took

    def cold(self, format_name: str) -> float:
        """The first query of a new application, of few records, from `load()` to its end."""
        with self._topics.fresh() as few, self._topics.fresh() as topic:
            with Producer(self._bootstrap) as producer:
                for _ in range(RECORDS_OF_NEW_APPLICATION):
                    producer.send(few, b"x" * VALUE_BYTES)
            command = [sys.executable, "-m", "bench.pipelines.new_application"]
            done = subprocess.run(
                [*command, format_name, self._bootstrap, few, topic], capture_output=True, text=True
            )
            if done.returncode:
                raise RuntimeError(f"{format_name}: {done.stderr}")
            took, count = json.loads(done.stdout.splitlines()[-1])
        if count != RECORDS_OF_NEW_APPLICATION:
            raise RuntimeError(f"{format_name} copied {count} of {RECORDS_OF_NEW_APPLICATION} records")
        return took

    def short_copy(self, format_name: str) -> float:
        """The shortest micro-batch of such a query."""
        with (
            self._topics.fresh() as topic,
            self._topics.fresh() as target,
            self._trickle(topic),
            tempfile.TemporaryDirectory() as checkpoint,
        ):
            query = self._copying(format_name, topic, target, checkpoint, is_once=format_name == OURS).start()
            try:
                return shortest_batch(query)
            finally:
                query.stop()

    def way(self, format_name: str, real_time: str | None = None) -> list[float]:
        """How long each of a thousand records a second takes from the producer that sends it, through a
        query, at least once, to a consumer of the topic that the query writes. `real_time`: not in
        micro-batches, but in real-time mode with batches as long as this, which takes Spark's connector."""
        with (
            self._topics.fresh() as topic,
            self._topics.fresh() as target,
            tempfile.TemporaryDirectory() as checkpoint,
        ):
            writer = self._copying(format_name, topic, target, checkpoint, is_once=False)
            if real_time is not None:
                writer = writer.outputMode("update").trigger(realTime=real_time)
            query = writer.start()
            try:
                with self._trickle(topic, 1 / RECORDS_A_SECOND):
                    return arrivals(self._bootstrap, target)
            finally:
                query.stop()

    def fill_rows(self, value_format: str, topic: str) -> None:
        """With rows of the fields above."""
        number = f.col("id")
        columns = {
            "INT": lambda at: (number % (1000 + at)).cast("int"),
            # Of 5,000,000 rows the sum is a BIGINT, too.
            "BIGINT": lambda at: number * 100_003 + at,
            "DOUBLE": lambda at: number / (7 + at),
            "STRING": lambda at: f.concat(f.lit(f"name {at} "), (number % 5000).cast("string")),
            "BOOLEAN": lambda at: number % 2 == 0,
            "TIMESTAMP": lambda at: f.timestamp_seconds(f.lit(1_700_000_000) + number % 100_000),
        }
        row = f.struct(
            *(columns[kind](at).cast(kind).alias(name) for at, (name, kind) in enumerate(FIELDS.items()))
        )
        options = {"kafka.bootstrap.servers": self._bootstrap, "topic": topic, "value.format": value_format}
        if value_format == "avro":
            options["value.schema"] = AVRO_SCHEMA
        frame = self._spark.range(0, self._records, numPartitions=2).select(row.alias("value"))
        frame.write.format(OURS).mode("append").options(**options).save()

    def decode(self, value_format: str, topic: str, format_name: str) -> float:
        """Reads, decodes and aggregates all fields."""
        schema = AVRO_SCHEMA if value_format == "avro" else DDL
        if format_name == OURS:
            options = {"value.format": value_format, "value.schema": schema}
            frame = self._read(format_name, topic, **options).select("value.*")
        else:
            column = f.col("value")
            row = avro.from_avro(column, schema) if value_format == "avro" else from_json(column)
            frame = self._read(format_name, topic).select(row.alias("value")).select("value.*")
        began = time.perf_counter()
        [found] = frame.agg(f.count("*"), *(aggregate(name, kind) for name, kind in FIELDS.items())).collect()
        took = time.perf_counter() - began
        if found[0] != self._records or None in found:
            raise RuntimeError(f"{format_name} decoded {found}")
        return took

    @contextmanager
    def _trickle(self, topic: str, pause_seconds: float = 0.005) -> Iterator[None]:
        """Records that keep coming, so that no batch waits for one. Each begins with when it was sent."""
        enough = Event()

        def send() -> None:
            due = time.monotonic()
            with Producer(self._bootstrap) as producer:
                while not enough.is_set():
                    producer.send(topic, time.time_ns().to_bytes(8, "big") + b"x" * (VALUE_BYTES - 8))
                    due += pause_seconds
                    time.sleep(max(0.0, due - time.monotonic()))

        sender = Thread(target=send)
        sender.start()
        try:
            yield
        finally:
            enough.set()
            sender.join()

    def _copying(
        self, format_name: str, topic: str, target: str, checkpoint: str, *, is_once: bool
    ) -> DataStreamWriter:
        stream = self._stream_of(format_name, topic)
        return copying(stream, format_name, self._bootstrap, target, checkpoint, is_once=is_once)

    def _read(self, format_name: str, topic: str, **options: str) -> DataFrame:
        settings = source_options(self._bootstrap, topic) | options
        return self._spark.read.format(format_name).options(**settings).load()

    def _stream_of(self, format_name: str, topic: str) -> DataFrame:
        return stream_of(self._spark, format_name, self._bootstrap, topic)

    def _expect(self, count: int) -> None:
        # Filling the topic took a record more, before the watch was started.
        if count < self._records:
            raise RuntimeError(f"Spark saw {count} of {self._records} records")


def source_options(bootstrap: str, topic: str) -> dict[str, str]:
    # Spark's connector otherwise waits up to half a second at the end of each partition.
    return {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "kafka.fetch.max.wait.ms": "10",
    }


def stream_of(spark: SparkSession, format_name: str, bootstrap: str, topic: str, **options: str) -> DataFrame:
    settings = source_options(bootstrap, topic) | options
    return spark.readStream.format(format_name).options(**settings).load()


def copying(
    stream: DataFrame, format_name: str, bootstrap: str, target: str, checkpoint: str, *, is_once: bool
) -> DataStreamWriter:
    options = {"kafka.bootstrap.servers": bootstrap, "topic": target, "checkpointLocation": checkpoint}
    if is_once:
        options["delivery"] = "exactly-once"
    return stream.select("key", "value").writeStream.format(format_name).options(**options)


def copy_all(
    spark: SparkSession, format_name: str, bootstrap: str, topic: str, target: str, **options: str
) -> tuple[float, int]:
    """The seconds from `load()` to the query's end, and the records that it read: exactly once by ours, at
    least once by Spark's connector."""
    with tempfile.TemporaryDirectory() as checkpoint:
        began = time.perf_counter()
        stream = stream_of(spark, format_name, bootstrap, topic, **options)
        writer = copying(stream, format_name, bootstrap, target, checkpoint, is_once=format_name == OURS)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        took = time.perf_counter() - began
    return took, sum(progress["numInputRows"] for progress in query.recentProgress)


def from_json(column: Column) -> Column:
    return f.from_json(column.cast("string"), StructType.fromDDL(DDL))


def aggregate(name: str, kind: str) -> Column:
    return f.sum(name) if kind in ("INT", "BIGINT", "DOUBLE") else f.max(name)


def total(frame: DataFrame) -> int:
    return frame.agg(f.count("*"), f.sum(f.length("value"))).collect()[0][0]


def shortest_batch(query: StreamingQuery) -> float:
    taken: dict[int, int] = {}
    deadline = time.monotonic() + WAIT_SECONDS
    while len(taken) < SHORT_BATCHES:
        if query.exception() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the query failed: {query.exception()}")
        for progress in query.recentProgress:
            if progress["numInputRows"]:
                taken[progress["batchId"]] = progress["durationMs"]["triggerExecution"]
        time.sleep(0.1)
    return min(taken.values()) / 1000


def arrivals(bootstrap: str, topic: str) -> list[float]:
    """The seconds that records take, of those that come after a while."""
    taken: list[float] = []
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    with Consumer(bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=10) as consumer:
        consumer.assign(partitions)
        deadline = time.monotonic() + WAIT_SECONDS
        counts_from = ends = None
        while ends is None or time.monotonic() < ends:
            records = consumer.poll(0.1)
            now = time.time_ns()
            if records and counts_from is None:
                counts_from = time.monotonic() + WARM_UP_SECONDS
                ends = counts_from + WAY_SECONDS
            if counts_from is not None and time.monotonic() > counts_from:
                taken += [(now - int.from_bytes(bytes(each.value)[:8], "big")) / 1e9 for each in records]
            if time.monotonic() > deadline:
                raise RuntimeError(f"no record came in {WAIT_SECONDS} s")
    return taken


def percentile(seconds: list[float], percent: int) -> float:
    return statistics.quantiles(seconds, n=100)[percent - 1]
