"""How the work of planning a batch grows with partitions, counted in calls: as many on any machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from bench.paper_cluster import PaperCluster
from bench.spark_cluster import next_batch

from barnabas.spark.options import source_options
from barnabas.spark.reading.garbage import without_collections
from barnabas.spark.reading.stream_source import KafkaStreamReader

PARTITIONS_A_TOPIC = 2


@contextmanager
def counted_calls() -> Iterator[list[int]]:
    """Those of this thread, of functions in Python and in native code."""
    count = [0]

    def note(frame: FrameType, event: str, argument: Any) -> None:
        count[0] += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        yield count
    finally:
        sys.setprofile(None)


def calls_of_a_batch(topics: int) -> int:
    """Of planning a batch in which all partitions have new records."""
    with PaperCluster(1, topics, PARTITIONS_A_TOPIC) as cluster:
        options = {"subscribePattern": "paper-.*", "startingOffsets": "earliest"}
        reader = KafkaStreamReader(source_options(options | {"kafka.bootstrap.servers": cluster.bootstrap}))
        try:
            at = next_batch(reader, reader.initialOffset())
            cluster.records += 1
            with counted_calls() as count:
                end = next_batch(reader, at)
                tasks = reader.partitions(at, end)
            assert sum(len(task.value) for task in tasks) == cluster.partitions
            return count[0]
        finally:
            reader.stop()


@pytest.mark.integration
def test_four_times_the_partitions_are_four_times_the_work() -> None:
    few, many = calls_of_a_batch(500), calls_of_a_batch(2000)
    assert many <= 4.2 * few
    # Some forty for each partition; a second look at all of them would be ten more.
    assert many <= 50 * 2000 * PARTITIONS_A_TOPIC


def test_garbage_collections_are_off_while_a_batch_is_planned_and_then_as_they_were() -> None:
    seen = without_collections(gc.isenabled)
    assert not seen()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        without_collections(lambda: 1 // 0)()
    assert gc.isenabled()
    gc.disable()
    try:
        seen()
        assert not gc.isenabled()
    finally:
        gc.enable()
