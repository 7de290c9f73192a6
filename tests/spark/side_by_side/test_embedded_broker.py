"""Spark's own connector does its ordinary jobs against the embedded broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.side_by_side.outcomes import SPARKS

from barnabas.testing import EmbeddedBroker

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]


def test_it_writes_reads_and_streams(spark: SparkSession, tmp_path: Path) -> None:
    with EmbeddedBroker(storage="memory", config={"num.partitions": "3"}) as broker:
        options = {"kafka.bootstrap.servers": broker.bootstrap}
        rows = spark.range(0, 40).selectExpr("cast(id as string) as key", "concat('value ', id) as value")
        rows.write.format(SPARKS).options(**options).option("topic", "first").save()
        read = spark.read.format(SPARKS).options(**options).option("subscribe", "first").load()
        sent = {(str(number), f"value {number}") for number in range(40)}
        found = read.selectExpr("cast(key as string)", "cast(value as string)", "partition").collect()
        assert {(row.key, row.value) for row in found} == sent
        assert {row.partition for row in found} == {0, 1, 2}
        stream = spark.readStream.format(SPARKS).options(**options).option("subscribe", "first")
        copy = (
            stream.option("startingOffsets", "earliest")
            .load()
            .writeStream.format(SPARKS)
            .options(**options)
            .option("topic", "second")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert copy.awaitTermination(120)
        copied = spark.read.format(SPARKS).options(**options).option("subscribePattern", "sec.*").load()
        found = copied.selectExpr("cast(key as string)", "cast(value as string)").collect()
        assert {(row.key, row.value) for row in found} == sent
        assert len(found) == 40
