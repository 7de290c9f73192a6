"""What runs in Spark's Python workers, called directly."""

from __future__ import annotations

import gc
import sys

import pytest
from pyspark.sql.datasource import InputPartition
from tests.spark.conftest import Kafka

from barnabas.errors import ClosedError
from barnabas.spark.clients import ClientPool, make_consumer
from barnabas.spark.errors import ReadTimeoutError
from barnabas.spark.options import SourceOptions, source_options
from barnabas.spark.planning.ranges import OffsetRange
from barnabas.spark.reading.source import read_partition
from barnabas.types import TopicPartition


def options_for(kafka: Kafka, topic: str, **others: str) -> SourceOptions:
    return source_options({"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic} | others)


def test_a_task_reads_its_range_in_batches_without_a_gap(kafka: Kafka) -> None:
    topic = kafka.create()
    kafka.write(topic, [b"%d" % number for number in range(30_000)])
    task = InputPartition(OffsetRange(TopicPartition(topic, 0), 5, 29_995))
    batches = list(read_partition(task, options_for(kafka, topic)))
    assert len(batches) > 1
    offsets = [offset for batch in batches for offset in batch.column("offset").to_pylist()]
    assert offsets == list(range(5, 29_995))


def test_tasks_of_one_worker_read_different_partitions_one_after_the_other(kafka: Kafka) -> None:
    topic = kafka.create(2)
    kafka.write(topic, [b"a"] * 10)
    options = options_for(kafka, topic)
    for start, end in [(0, 4), (8, 10), (2, 9)]:
        batches = read_partition(InputPartition(OffsetRange(TopicPartition(topic, 0), start, end)), options)
        assert [offset for batch in batches for offset in batch.column("offset").to_pylist()] == list(
            range(start, end)
        )


def test_a_task_that_gets_nothing_gives_up_and_names_the_offset(kafka: Kafka) -> None:
    topic = kafka.create()
    kafka.write(topic, [b"a"] * 5)
    task = InputPartition(OffsetRange(TopicPartition(topic, 0), 0, 10))
    options = options_for(kafka, topic, **{"kafkaconsumer.polltimeoutms": "3000"})
    rows = read_partition(task, options)
    assert next(rows).num_rows == 5
    with pytest.raises(ReadTimeoutError, match=rf"{topic}-0: nothing came at offset 5 within 3000 ms"):
        next(rows)


def test_garbage_collections_after_tasks_leave_out_what_a_worker_has_imported(kafka: Kafka) -> None:
    with ClientPool(make_consumer).lend(options_for(kafka, "any").consumer_settings) as client:
        # Modules and what is in them, as soon as a process has its first client.
        assert gc.get_freeze_count() > len(sys.modules)
    client.close()


def test_a_client_is_lent_again_unless_its_task_failed(kafka: Kafka) -> None:
    settings = options_for(kafka, "any").consumer_settings
    pool = ClientPool(make_consumer)
    with pool.lend(settings) as first, pool.lend(settings) as at_the_same_time:
        assert at_the_same_time is not first

    def fail_with_a_client() -> None:
        with pool.lend(settings) as lent_again:
            assert lent_again is first
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_with_a_client()
    with pytest.raises(ClosedError):
        first.poll(timeout=0.1)
    with pool.lend(settings) as another:
        assert another is at_the_same_time
        another.close()
