"""maxBytesPerTrigger and maxBytesPerPartition, on what brokers tell of their logs."""

from __future__ import annotations

import os
from contextlib import closing

import pytest
from tests.spark.conftest import Kafka, Message

from barnabas.spark.clients import make_admin, make_consumer
from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.options import source_options
from barnabas.spark.planning.log_sizes import LogSizes
from barnabas.spark.planning.losses import Available
from barnabas.spark.planning.ranges import OffsetRange
from barnabas.spark.pyspark_features import ReadMaxBytes
from barnabas.spark.reading.source import KafkaReader
from barnabas.spark.reading.stream_source import KafkaStreamReader
from barnabas.types import TopicPartition

SMALL, LARGE = 100, 5000


def fill(kafka: Kafka) -> str:
    """A topic with 1000 small records in its first partition and 1000 large ones in its second."""
    topic = kafka.create(2)
    kafka.write(topic, [Message(os.urandom(SMALL)) for _ in range(1000)])
    kafka.write(topic, [Message(os.urandom(LARGE), partition=1) for _ in range(1000)])
    return topic


def options_for(kafka: Kafka, topic: str, **others: str) -> dict[str, str]:
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, "startingoffsets": "earliest"}
    return options | others


def size(ranges: list[OffsetRange]) -> int:
    return sum((each.end - each.start) * (LARGE if each.partition.partition else SMALL) for each in ranges)


def test_micro_batches_are_bounded_in_bytes_and_cover_everything_once(kafka: Kafka) -> None:
    topic = fill(kafka)
    reader = KafkaStreamReader(source_options(options_for(kafka, topic, maxbytespertrigger="1m")))
    read: dict[int, list[int]] = {0: [], 1: []}
    batches = 0
    try:
        assert reader.getDefaultReadLimit() == ReadMaxBytes(1 << 20)
        start = reader.initialOffset()
        while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
            ranges = [each for part in reader.partitions(start, end) for each in part.value]
            assert size(ranges) <= 1.1 * (1 << 20)
            for each in ranges:
                read[each.partition.partition] += range(each.start, each.end)
            start = end
            batches += 1
    finally:
        reader.stop()
    assert read == {0: list(range(1000)), 1: list(range(1000))}
    assert 5 <= batches <= 7


def test_great_partitions_are_cut_into_tasks_of_so_many_bytes(kafka: Kafka) -> None:
    topic = fill(kafka)
    options = options_for(kafka, topic, maxbytesperpartition="1mb")
    tasks = KafkaReader(source_options(options)).partitions()
    parts = [each for task in tasks for each in task.value]
    assert [part.partition.partition for part in parts].count(0) == 1
    assert 5 <= [part.partition.partition for part in parts].count(1) <= 6
    assert all(size([part]) <= 1.1 * (1 << 20) for part in parts)


def test_where_brokers_do_not_tell_sizes_records_are_sampled(kafka: Kafka) -> None:
    topic = fill(kafka)
    settings = source_options(options_for(kafka, topic)).consumer_settings
    admin_settings = {"bootstrap_servers": kafka.bootstrap}
    small, large = TopicPartition(topic, 0), TopicPartition(topic, 1)
    ranges = {small: Available(0, 1000), large: Available(0, 1000)}
    with closing(make_admin(admin_settings)) as admin, closing(make_consumer(settings)) as consumer:
        told = LogSizes(admin, consumer).bytes_per_offset(ranges, {small: 1, large: 1})
        no_such_node = {small: 12345, large: 12345}
        sampled = LogSizes(admin, consumer).bytes_per_offset(ranges, no_such_node)
    for found in (told, sampled):
        assert SMALL <= found[small] <= 1.5 * SMALL
        assert LARGE <= found[large] <= 1.1 * LARGE


@pytest.mark.parametrize("value", ["0", "-1", "1x", "many", "1.5m"])
def test_sizes_that_make_no_sense_are_refused(value: str) -> None:
    options = {"kafka.bootstrap.servers": "localhost:1", "subscribe": "a", "maxbytespertrigger": value}
    with pytest.raises(InvalidOptionError, match="maxBytesPerTrigger must be a size above 0 such as 64m"):
        source_options(options)
