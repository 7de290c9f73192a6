"""Spark with Barnabas's source and sink, and with Spark's own connector in the JVM.

The session and the first read of a topic are not counted: a Spark application pays for them once.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bench.works import VALUE_BYTES, Task

JARS_VARIABLE = "BENCH_SPARK_JARS"


def session() -> SparkSession:
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("bench")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
    )
    # Otherwise Spark's workers run the python3 of PATH, which need not be the one with Barnabas in it.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if os.environ.get(JARS_VARIABLE):
        builder = builder.config("spark.jars", os.environ[JARS_VARIABLE])
    return builder.getOrCreate()


def source_options(task: Task) -> dict[str, str]:
    # Spark's connector otherwise waits up to half a second at the end of each partition.
    return {
        "kafka.bootstrap.servers": task.bootstrap,
        "subscribe": task.topic,
        "startingOffsets": "earliest",
        "kafka.fetch.max.wait.ms": "10",
    }


def total(frame: DataFrame) -> int:
    row = frame.agg(f.count("*"), f.sum(f.length("value"))).collect()[0]
    return row[0]


def expect(count: int, task: Task) -> None:
    if count < task.records:
        raise RuntimeError(f"Spark saw {count} of {task.records} records")


def read(format_name: str, task: Task) -> float:
    spark = session()
    frame = spark.read.format(format_name).options(**source_options(task)).load()
    total(frame)
    began = time.perf_counter()
    count = total(frame)
    took = time.perf_counter() - began
    expect(count, task)
    return took


def stream(format_name: str, task: Task) -> float:
    spark = session()
    total(spark.read.format(format_name).options(**source_options(task)).load())
    counts: list[int] = []
    with tempfile.TemporaryDirectory() as checkpoint:
        began = time.perf_counter()
        query = (
            spark.readStream.format(format_name)
            .options(**source_options(task))
            .load()
            .writeStream.foreachBatch(lambda frame, batch_id: counts.append(total(frame)))
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        took = time.perf_counter() - began
    expect(sum(counts), task)
    return took


def write(format_name: str, task: Task) -> float:
    spark = session()

    def rows(count: int) -> DataFrame:
        number = f.col("id")
        value = f.lpad(number.cast("string"), VALUE_BYTES, "x").cast("binary")
        return spark.range(0, count, numPartitions=2).select(
            (number % 1000).cast("string").alias("key"), value.alias("value")
        )

    def save(count: int) -> None:
        writer = rows(count).write.format(format_name).mode("append")
        writer.options(**{"kafka.bootstrap.servers": task.bootstrap, "topic": task.topic}).save()

    save(1000)
    began = time.perf_counter()
    save(task.records)
    return time.perf_counter() - began


def works_of(format_name: str) -> dict[str, Callable[[Task], float]]:
    return {
        "spark/read": lambda task: read(format_name, task),
        "spark/stream": lambda task: stream(format_name, task),
        "spark/write": lambda task: write(format_name, task),
    }
