"""How busy Spark's cores are with a batch of which one partition holds a hundred times what the others do.

    python -m bench.pipelines.skew [--records 400000] [--runs 3]

Real Spark, local[2], reads a topic of 20 even partitions and one of 20 skewed ones, as many records in both,
and does some work in Python for each record. Tasks tell when they began and ended: cores are busy for the sum
of that, out of the time from the first beginning to the last end, on each core. Medians of the runs, in turn.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import time
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from barnabas import Admin, NewTopic, Producer
from barnabas.testing import EmbeddedBroker
from bench.spark_session import session

CORES = 2
PARTITIONS = 20
SKEW = 100
TASKS = 40
VALUE = b"x" * 100
ROUNDS_A_RECORD = 4
ENDS = "began double, ended double"


def fill(bootstrap: str, topic: str, counts: list[int]) -> None:
    with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        admin.create_topics([NewTopic(topic, len(counts), 1)])
        for partition, count in enumerate(counts):
            rows = {
                "value": pa.array([VALUE] * count),
                "partition": pa.array([partition] * count, pa.int32()),
            }
            producer.send_arrow(topic, pa.table(rows)).result(120)


def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of one task."""
    began = time.time()
    for batch in batches:
        for value in batch.column("value").to_pylist():
            for _ in range(ROUNDS_A_RECORD):
                hashlib.sha256(value).digest()
    yield pa.RecordBatch.from_pydict({"began": [began], "ended": [time.time()]})


def busy(spark: SparkSession, bootstrap: str, topic: str, option: dict[str, str]) -> tuple[float, float, int]:
    """The part of the time that cores were busy, how long all took in seconds, and how many tasks."""
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic} | option
    tasks = spark.read.format("barnabas").options(**options).load().mapInArrow(work, ENDS).collect()
    took = max(task.ended for task in tasks) - min(task.began for task in tasks)
    return sum(task.ended - task.began for task in tasks) / (CORES * took), took, len(tasks)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pipelines.skew", description=__doc__)
    parser.add_argument("--records", type=int, default=400_000, help="of each topic (default 400000)")
    parser.add_argument("--runs", type=int, default=3, help="of which the median counts (default 3)")
    arguments = parser.parse_args()
    each = arguments.records // PARTITIONS
    small = arguments.records // (PARTITIONS - 1 + SKEW)
    with EmbeddedBroker() as broker:
        fill(broker.bootstrap, "even", [each] * PARTITIONS)
        fill(broker.bootstrap, "skewed", [small * SKEW, *[small] * (PARTITIONS - 1)])
        spark = session()
        print("| option | topic | tasks | cores are busy | all took, s |\n| --- | --- | ---: | ---: | ---: |")
        for option in (
            {},
            {"minPartitions": str(TASKS)},
            {"maxRecordsPerPartition": str(arguments.records // TASKS)},
            {"maxBytesPerPartition": str(arguments.records * len(VALUE) // TASKS)},
        ):
            found: dict[str, list[tuple[float, float, int]]] = {"even": [], "skewed": []}
            for run in range(arguments.runs + 1):
                for topic, runs in found.items():
                    measured = busy(spark, broker.bootstrap, topic, option)
                    if run:
                        runs.append(measured)
            for topic, runs in found.items():
                part, took, tasks = (statistics.median(column) for column in zip(*runs, strict=True))
                name = ", ".join(option) or "none"
                print(f"| {name} | {topic} | {tasks:.0f} | {part:.0%} | {took:.2f} |", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
