"""The memory of Spark's executors while one great partition streams through them, from Kafka to nowhere.

    python -m bench.pipelines.memory [--gigabytes 10] [--bootstrap HOST:PORT]

Writes a topic of one partition, reads it in a single micro-batch, and samples meanwhile what Python's workers
and the JVM hold. The topic is deleted in the end.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import uuid
from collections import deque
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from barnabas import Admin, NewTopic, Producer
from bench.broker import kafka
from bench.processes import Sampler
from bench.spark_session import session

VALUE_BYTES = 1000
ROWS_A_BATCH = 10_000
BATCHES_UNDER_WAY = 20
SAMPLE_SECONDS = 0.2
# What only plans is no executor's.
KINDS = {"worker": "pyspark.worker", "jvm": "SparkSubmit"}


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


def stream(spark: SparkSession, bootstrap: str, topic: str) -> dict[str, Any]:
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    frame = spark.readStream.format("barnabas").options(**options).load()
    sampler = Sampler(KINDS, SAMPLE_SECONDS)
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
        **{
            f"{kind}_megabytes_by_quarter": [size // 1_000_000 for size in held["resident_bytes"]]
            for kind, held in sampler.quarters().items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pipelines.memory", description=__doc__)
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
