"""What a driver does on a standalone cluster.

    python -m tests.spark.cluster_job MASTER BOOTSTRAP SOURCE TARGET CHECKPOINT

Reads a batch, then copies it as a stream exactly once. Prints, as JSON, who read what."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

READ = "worker string, partition int, rows long"


def who_reads(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A standalone worker gives each executor a folder in its own."""
    for batch in batches:
        partitions = batch.column("partition").value_counts().to_pylist()
        yield pa.RecordBatch.from_pylist(
            [
                {"worker": os.getcwd(), "partition": each["values"], "rows": each["counts"]}
                for each in partitions
            ],
            pa.schema([("worker", pa.string()), ("partition", pa.int32()), ("rows", pa.int64())]),
        )


def main() -> None:
    master, bootstrap, source, target, checkpoint = sys.argv[1:]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .config("spark.executor.cores", "1")
        .config("spark.executor.memory", "512m")
        # No task is begun before both executors are there.
        .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "300s")
        .getOrCreate()
    )
    servers = {"kafka.bootstrap.servers": bootstrap}
    frame = spark.read.format("barnabas").options(**servers, subscribe=source).load()
    batch = [list(row) for row in frame.mapInArrow(who_reads, READ).collect()]
    stream = spark.readStream.format("barnabas").options(
        **servers, subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger=600
    )
    query = (
        stream.load()
        .select("key", "value")
        .writeStream.format("barnabas")
        .options(**servers, topic=target, delivery="exactly-once", checkpointLocation=checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    print(json.dumps({"batch": batch, "micro_batches": len(query.recentProgress)}))


if __name__ == "__main__":
    main()
