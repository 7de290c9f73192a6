"""What runs in Spark's Python workers, called directly."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from dataclasses import replace

import pytest
from pyarrow import RecordBatch
from pyspark.sql.datasource import InputPartition
from tests.spark.conftest import Kafka, Message

from barnabas.errors import ClosedError
from barnabas.spark.clients import ClientPool, make_consumer
from barnabas.spark.errors import DataLossError, ReadTimeoutError
from barnabas.spark.options import SourceOptions, source_options
from barnabas.spark.planning.ranges import OffsetRange
from barnabas.spark.reading.source import read_partition
from barnabas.types import TopicPartition


def options_for(kafka: Kafka, topic: str, **others: str) -> SourceOptions:
    return source_options({"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic} | others)


def test_a_task_reads_its_range_in_batches_without_a_gap(kafka: Kafka) -> None:
    topic = kafka.create()
    kafka.write(topic, [b"%d" % number for number in range(30_000)])
    task = InputPartition((OffsetRange(TopicPartition(topic, 0), 5, 29_995),))
    batches = list(read_partition(task, options_for(kafka, topic)))
    assert len(batches) > 1
    offsets = [offset for batch in batches for offset in batch.column("offset").to_pylist()]
    assert offsets == list(range(5, 29_995))


def test_tasks_of_one_worker_read_different_partitions_one_after_the_other(kafka: Kafka) -> None:
    topic = kafka.create(2)
    kafka.write(topic, [b"a"] * 10)
    options = options_for(kafka, topic)
    for start, end in [(0, 4), (8, 10), (2, 9)]:
        task = InputPartition((OffsetRange(TopicPartition(topic, 0), start, end),))
        batches = read_partition(task, options)
        assert [offset for batch in batches for offset in batch.column("offset").to_pylist()] == list(
            range(start, end)
        )


def offsets_read(batches: Iterable[RecordBatch]) -> dict[int, list[int]]:
    """By partition, in the order in which they came."""
    found: dict[int, list[int]] = {}
    for batch in batches:
        for partition, offset in zip(
            batch.column("partition").to_pylist(), batch.column("offset").to_pylist(), strict=True
        ):
            found.setdefault(partition, []).append(offset)
    return found


def test_a_task_of_many_ranges_reads_all_of_them_at_once(kafka: Kafka) -> None:
    topic = kafka.create(40)
    kafka.write(topic, [Message(b"%d" % number, partition=number % 40) for number in range(2_000)])
    task = InputPartition(
        tuple(OffsetRange(TopicPartition(topic, number), number % 7, 50 - number % 5) for number in range(40))
    )
    batches = list(read_partition(task, options_for(kafka, topic)))
    assert offsets_read(batches) == {number: [*range(number % 7, 50 - number % 5)] for number in range(40)}
    # Of many partitions each, not one after the other.
    assert len(batches) < 40


def test_a_task_of_many_ranges_tells_what_of_one_is_lost_and_reads_on_if_it_may(kafka: Kafka) -> None:
    topic = kafka.create(3)
    kafka.write(topic, [Message(b"%d" % number, partition=number % 3) for number in range(30)])
    kafka.delete_records_before(topic, 1, 6)
    task = InputPartition(tuple(OffsetRange(TopicPartition(topic, number), 0, 10) for number in range(3)))
    with pytest.raises(DataLossError, match=rf"{topic}-1: offsets \[0, 10\) were wanted, \[6, 10\)"):
        list(read_partition(task, options_for(kafka, topic)))
    lossy = options_for(kafka, topic, failondataloss="false")
    assert offsets_read(read_partition(task, lossy)) == {0: [*range(10)], 1: [*range(6, 10)], 2: [*range(10)]}
    expired = InputPartition(tuple(replace(each, starts_at_earliest=True) for each in task.value))
    assert offsets_read(read_partition(expired, options_for(kafka, topic)))[1] == [*range(6, 10)]


def test_a_task_of_many_ranges_that_gets_nothing_names_the_partitions(kafka: Kafka) -> None:
    topic = kafka.create(3)
    kafka.write(topic, [Message(b"%d" % number, partition=number % 3) for number in range(30)])
    ends = (10, 11, 12)
    task = InputPartition(
        tuple(OffsetRange(TopicPartition(topic, number), 0, end) for number, end in enumerate(ends))
    )
    rows = read_partition(task, options_for(kafka, topic, **{"kafkaconsumer.polltimeoutms": "3000"}))
    with pytest.raises(ReadTimeoutError, match=rf"{topic}-1, {topic}-2: nothing came within 3000 ms"):
        offsets_read(rows)


def test_a_task_that_gets_nothing_gives_up_and_names_the_offset(kafka: Kafka) -> None:
    topic = kafka.create()
    kafka.write(topic, [b"a"] * 5)
    task = InputPartition((OffsetRange(TopicPartition(topic, 0), 0, 10),))
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
