"""Triggers: how a query divides what it reads into batches, and the one that Spark does not have for us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from tests.spark.conftest import Kafka

TIMEOUT_SECONDS = 120
Read = Callable[..., DataFrame]


@pytest.fixture
def stream(real_kafka: Kafka, read_stream: Read) -> DataFrame:
    """Six records, of which a batch is to read four."""
    topic = real_kafka.create()
    real_kafka.write(topic, [b"x"] * 6)
    return read_stream(real_kafka, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=4)


@pytest.mark.parametrize(
    ("trigger", "batches"),
    [({"availableNow": True}, [4, 2]), ({"once": True}, [6])],
    ids=["availableNow", "once"],
)
def test_a_trigger_that_ends_reads_what_is_there(
    stream: DataFrame, trigger: dict[str, Any], batches: list[int]
) -> None:
    query = stream.writeStream.format("noop").trigger(**trigger).start()
    assert query.awaitTermination(TIMEOUT_SECONDS)
    assert [each.numInputRows for each in query.recentProgress if each.numInputRows] == batches


def test_a_trigger_by_time_keeps_to_the_limit_of_a_batch(stream: DataFrame) -> None:
    query = stream.writeStream.format("noop").trigger(processingTime="100 milliseconds").start()
    try:
        query.processAllAvailable()
        assert [each.numInputRows for each in query.recentProgress if each.numInputRows] == [4, 2]
    finally:
        query.stop()


def test_continuous_processing_is_refused_with_a_reason(stream: DataFrame) -> None:
    with pytest.raises(PySparkException, match="barnabas does not support continuous processing"):
        stream.writeStream.format("noop").trigger(continuous="1 second").start()
