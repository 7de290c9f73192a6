"""Whether a streaming query holds the same after thousands of batches as after few.

    python -m bench.pipelines.batches [--batches 5000] [--bootstrap HOST:PORT]

Copies the topics of a pattern into another topic, exactly once, while topics are added and older ones, which
have been read, are deleted. Samples meanwhile what the driver, the JVM, the process that plans and Python's
workers hold, and compares in the end what was sent with what the copy has.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import uuid
from collections import deque
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from rich.console import Console
from rich.progress import Progress

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from bench.broker import kafka
from bench.processes import Sampler
from bench.spark_session import session

BATCHES_A_TOPIC = 100
# The oldest has been read for long when it is deleted.
TOPICS = 3
RECORDS_A_TURN = 20
TURN_SECONDS = 0.05
SAMPLE_SECONDS = 5.0
PATIENCE_SECONDS = 120.0
KINDS = {
    "planner": "python_streaming_source_runner",
    "worker": "pyspark.worker",
    "jvm": "SparkSubmit",
    "driver": "bench.pipelines.batches",
}


class Writing:
    """Sends to the newest of the topics, and has there be few of them."""

    def __init__(self, admin: Admin, producer: Producer, prefix: str) -> None:
        self.sent = 0
        self._admin = admin
        self._producer = producer
        self._prefix = prefix
        self._made = 0
        self._topics: deque[str] = deque()

    def send_a_few(self, batch: int) -> None:
        if batch // BATCHES_A_TOPIC >= self._made:
            self._renew()
        for _ in range(RECORDS_A_TURN):
            self._producer.send(self._topics[-1], b"%d" % self.sent)
            self.sent += 1
        self._producer.flush()

    def _renew(self) -> None:
        self._topics.append(f"{self._prefix}{self._made}")
        self._made += 1
        self._admin.create_topics([NewTopic(self._topics[-1], 2, 1)])
        if len(self._topics) > TOPICS:
            self._admin.delete_topics([self._topics.popleft()])

    def close(self) -> None:
        self._admin.delete_topics(list(self._topics))


def copy(spark: SparkSession, bootstrap: str, batches: int, prefix: str, target: str) -> dict[str, Any]:
    source = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribePattern": f"{prefix}[0-9]+",
        "startingOffsets": "earliest",
        "failOnDataLoss": "false",
    }
    sink = {"kafka.bootstrap.servers": bootstrap, "topic": target, "delivery": "exactly-once"}
    frame = spark.readStream.format("barnabas").options(**source).load().select("value")
    writer = frame.writeStream.format("barnabas").options(**sink)
    sampler = Sampler(KINDS, SAMPLE_SECONDS)
    with (
        tempfile.TemporaryDirectory() as checkpoint,
        Admin(bootstrap) as admin,
        Producer(bootstrap, linger_ms=0) as producer,
        Progress(console=Console(stderr=True), transient=True) as progress,
    ):
        writing = Writing(admin, producer, prefix)
        writing.send_a_few(0)
        began = time.monotonic()
        query = writer.option("checkpointLocation", checkpoint).start()
        try:
            task = progress.add_task("batches", total=batches)
            sampler.start()
            seconds: dict[int, float] = {}
            while (batch := _note(query, seconds)) < batches:
                progress.update(task, completed=batch)
                writing.send_a_few(batch)
                time.sleep(TURN_SECONDS)
            took = time.monotonic() - began
            sampler.stop()
            query.processAllAvailable()
        finally:
            query.stop()
            writing.close()
    in_order = [seconds[number] for number in sorted(seconds)]
    return {
        "batches": batches,
        "seconds": round(took),
        "rows": writing.sent,
        "median_batch_seconds_by_quarter": _medians(in_order),
        "held_by_quarter": sampler.quarters(),
    }


def _note(query: StreamingQuery, seconds: dict[int, float]) -> int:
    """How long batches took that had rows; the newest one's number. Raises: RuntimeError."""
    if query.exception() is not None:
        raise RuntimeError(f"the query failed: {query.exception()}")
    newest = 0
    for each in query.recentProgress:
        newest = each["batchId"]
        if each["numInputRows"]:
            seconds[newest] = each["durationMs"]["triggerExecution"] / 1000
    return newest


def _medians(samples: list[float]) -> list[float]:
    size = len(samples) // 4
    return [round(statistics.median(samples[number * size :][:size]), 3) for number in range(4)]


def rows_in(bootstrap: str, topic: str) -> list[int]:
    """The values of what was committed."""
    partition = TopicPartition(topic, 0)
    found: list[int] = []
    with Consumer(bootstrap, isolation_level="read_committed") as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            found += [int(record.value or b"") for record in consumer.poll(PATIENCE_SECONDS)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pipelines.batches", description=__doc__)
    parser.add_argument("--batches", type=int, default=5000, help="how many (default 5000)")
    parser.add_argument("--bootstrap", help="a Kafka to use instead of starting one")
    options = parser.parse_args()
    name = f"bench-{uuid.uuid4().hex[:8]}"
    target = f"{name}-copy"
    with kafka(options.bootstrap) as bootstrap, Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(target, 1, 1)])
        spark = session()
        try:
            figures = copy(spark, bootstrap, options.batches, f"{name}-", target)
            copied = rows_in(bootstrap, target)
        finally:
            spark.stop()
            admin.delete_topics([target])
    if sorted(copied) != list(range(figures["rows"])):
        sent, there, different = figures["rows"], len(copied), len(set(copied))
        sys.exit(f"bench: {sent} rows were sent, {there} are in the copy, {different} of them different")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
