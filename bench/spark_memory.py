"""The memory of Spark's executors while one great partition streams through them, from Kafka to nowhere.

    python -m bench.spark_memory [--gigabytes 10] [--bootstrap HOST:PORT]

Writes a topic of one partition, reads it in a single micro-batch, and samples meanwhile what Python's workers
and the JVM hold. The topic is deleted in the end.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from barnabas import Admin, NewTopic, Producer
from bench.broker import kafka
from bench.spark import session

VALUE_BYTES = 1000
ROWS_A_BATCH = 10_000
BATCHES_UNDER_WAY = 20
SAMPLE_SECONDS = 0.2
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def fill(bootstrap: str, topic: str, size: int) -> int:
    """Bytes by chance, so that nothing on the way makes them fewer. Returns the number of rows."""
    rows = size // VALUE_BYTES
    values = pa.array([os.urandom(VALUE_BYTES) for _ in range(ROWS_A_BATCH)], pa.binary())
    batch = pa.record_batch({"value": values})
    with Producer(bootstrap, batch_size=1_000_000) as producer:
        under_way: deque[Any] = deque()
        for start in range(0, rows, ROWS_A_BATCH):
            under_way.append(producer.send_arrow(topic, batch.slice(0, min(ROWS_A_BATCH, rows - start))))
            while len(under_way) > BATCHES_UNDER_WAY:
                under_way.popleft().result()
        for delivery in under_way:
            delivery.result()
    return rows


class Sampler(threading.Thread):
    """Resident bytes, again and again: of the greatest Python worker below this process, and of the JVM."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.workers: list[int] = []
        self.jvm: list[int] = []
        self._is_over = threading.Event()

    def run(self) -> None:
        while not self._is_over.wait(SAMPLE_SECONDS):
            held = list(self._held())
            # What only plans is no executor's.
            self.workers.append(max((size for name, size in held if "pyspark.worker" in name), default=0))
            self.jvm.append(max((size for name, size in held if "SparkSubmit" in name), default=0))

    def stop(self) -> None:
        self._is_over.set()
        self.join()

    def _held(self) -> Iterator[tuple[str, int]]:
        parents: dict[int, int] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        for pid in parents:
            ancestor = pid
            while ancestor in parents and ancestor != os.getpid():
                ancestor = parents[ancestor]
            if ancestor == os.getpid() != pid:
                with suppress(OSError):
                    folder = Path(f"/proc/{pid}")
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    yield command, int((folder / "statm").read_text().split()[1]) * PAGE_BYTES


def stream(spark: SparkSession, bootstrap: str, topic: str) -> dict[str, Any]:
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    frame = spark.readStream.format("barnabas").options(**options).load()
    sampler = Sampler()
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        began = time.monotonic()
        sampler.start()
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        sampler.stop()
    return {
        "rows": sum(progress.numInputRows for progress in query.recentProgress),
        "seconds": round(time.monotonic() - began, 1),
        "worker_megabytes_by_quarter": quarters(sampler.workers),
        "jvm_megabytes_by_quarter": quarters(sampler.jvm),
    }


def quarters(samples: list[int]) -> list[int]:
    """The most in each quarter of the time, from the first sample that is there."""
    held = [size for size in samples if size]
    edges = [len(held) * number // 4 for number in range(5)]
    return [max(held[start:end], default=0) // 1_000_000 for start, end in pairwise(edges)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.spark_memory", description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=10.0, help="of values (default 10)")
    parser.add_argument("--bootstrap", help="a Kafka to use instead of starting one")
    options = parser.parse_args()
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    with kafka(options.bootstrap) as bootstrap, Admin(bootstrap) as admin:
        configs = {"retention.ms": "-1", "retention.bytes": "-1"}
        admin.create_topics([NewTopic(topic, 1, 1, configs=configs)])
        try:
            rows = fill(bootstrap, topic, int(options.gigabytes * 1e9))
            print(f"bench: {rows} rows of {VALUE_BYTES} bytes are written", file=sys.stderr)
            figures = stream(session(), bootstrap, topic)
        finally:
            admin.delete_topics([topic])
    if figures["rows"] != rows:
        sys.exit(f"bench: Spark saw {figures['rows']} of {rows} rows")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
