"""What a streaming source notices of records that are gone, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from pyspark.sql.datasource import InputPartition
from tests.spark.conftest import Kafka, Message

from barnabas.spark.errors import DataLossError
from barnabas.spark.options import source_options
from barnabas.spark.planning.offsets import starts_of
from barnabas.spark.planning.ranges import OffsetRange
from barnabas.spark.pyspark_features import ReadAllAvailable
from barnabas.spark.reading.source import read_partition
from barnabas.spark.reading.stream_source import KafkaStreamReader
from barnabas.types import TopicPartition

Eventually = Callable[..., object]


def numbered(start: int, end: int) -> list[Message]:
    return [Message(b"%d" % number) for number in range(start, end)]


def options_for(kafka: Kafka, topic: str, **others: str) -> dict[str, str]:
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, "startingoffsets": "earliest"}
    return options | {"fetchoffset.retryintervalms": "1"} | others


@contextmanager
def reading(kafka: Kafka, topic: str, **others: str) -> Iterator[KafkaStreamReader]:
    reader = KafkaStreamReader(source_options(options_for(kafka, topic, **others)))
    with closing(_Stopped(reader)):
        yield reader


class _Stopped:
    def __init__(self, reader: KafkaStreamReader) -> None:
        self.close = reader.stop


def create_again(kafka: Kafka, topic: str, eventually: Eventually) -> None:
    kafka.delete(topic)
    eventually(lambda: kafka.try_to_create(topic), timeout=120)


def ranges_of(parts: list[InputPartition]) -> list[OffsetRange]:
    return [each for part in parts for each in part.value]


def test_a_topic_created_again_under_a_query_is_told_even_with_as_many_records(
    kafka: Kafka, eventually: Eventually
) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(0, 5))
    with reading(kafka, topic) as reader:
        start = reader.initialOffset()
        end = reader.latestOffset(start, ReadAllAvailable())
        reader.partitions(start, end)
        create_again(kafka, topic, eventually)
        kafka.write(topic, numbered(0, 8))
        with pytest.raises(
            DataLossError,
            match=rf"{topic}-0: offset 5 was wanted, \[0, 8\) are available: the topic was deleted",
        ):
            reader.latestOffset(end, ReadAllAvailable())


def test_a_topic_created_again_is_read_from_its_beginning_where_losses_are_allowed(
    kafka: Kafka, eventually: Eventually
) -> None:
    topic = kafka.create()
    partition = TopicPartition(topic, 0)
    kafka.write(topic, numbered(0, 5))
    with reading(kafka, topic, failondataloss="false") as reader:
        start = reader.initialOffset()
        end = reader.latestOffset(start, ReadAllAvailable())
        create_again(kafka, topic, eventually)
        kafka.write(topic, numbered(0, 5))
        again = reader.latestOffset(end, ReadAllAvailable())
        assert starts_of(again) == {partition: 0}
        planned = ranges_of(reader.partitions(end, again))
        assert planned == [OffsetRange(partition, 0, 5)]
        assert reader.latestOffset(again, ReadAllAvailable()) is again
    # When the batch fails, the next run plans the same.
    with reading(kafka, topic, failondataloss="false") as reader:
        assert ranges_of(reader.partitions(end, again)) == planned


def test_a_topic_created_again_between_two_runs_is_told_with_as_many_records_too(
    kafka: Kafka, eventually: Eventually
) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(0, 5))
    with reading(kafka, topic) as reader:
        end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    create_again(kafka, topic, eventually)
    kafka.write(topic, numbered(0, 9))
    with (
        reading(kafka, topic) as reader,
        pytest.raises(DataLossError, match=r"offset 5 was wanted, \[0, 9\) are available.*created again"),
    ):
        reader.latestOffset(end, ReadAllAvailable())


def test_a_batch_whose_topic_was_created_again_before_it_is_repeated_is_told(
    kafka: Kafka, eventually: Eventually
) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(0, 5))
    with reading(kafka, topic) as reader:
        start = reader.initialOffset()
        end = reader.latestOffset(start, ReadAllAvailable())
    create_again(kafka, topic, eventually)
    kafka.write(topic, numbered(0, 9))
    with reading(kafka, topic) as reader, pytest.raises(DataLossError, match="deleted and created again"):
        reader.partitions(start, end)


def test_a_log_that_has_another_history_than_the_query_saw_is_told(real_kafka: Kafka) -> None:
    """As after an unclean election: the broker does not know the epoch that the query has read up to."""
    topic = real_kafka.create()
    real_kafka.write(topic, numbered(0, 9))
    task = InputPartition((OffsetRange(TopicPartition(topic, 0), 5, 9, leader_epoch=7),))
    # It asks for the leader of that epoch again and again before it takes what it has read for lost.
    soon = {"kafka.retry.backoff.ms": "10", "kafka.retry.backoff.max.ms": "10"}
    with pytest.raises(
        DataLossError,
        match=rf"{topic}-0: offsets \[5, 9\) were wanted, \[0, 9\) are available: .*log was truncated",
    ):
        list(read_partition(task, source_options(options_for(real_kafka, topic, **soon))))
    options = source_options(options_for(real_kafka, topic, failondataloss="false", **soon))
    (batch,) = read_partition(task, options)
    assert batch.column("offset").to_pylist() == [5, 6, 7, 8]


def test_later_batches_know_the_leader_epoch_of_what_was_read(real_kafka: Kafka) -> None:
    topic = real_kafka.create()
    real_kafka.write(topic, numbered(0, 5))
    with reading(real_kafka, topic) as reader:
        end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
        real_kafka.write(topic, numbered(5, 9))
        (planned,) = ranges_of(reader.partitions(end, reader.latestOffset(end, ReadAllAvailable())))
        assert planned == OffsetRange(TopicPartition(topic, 0), 5, 9, leader_epoch=0)
        (batch,) = reader.read(InputPartition((planned,)))
        assert batch.num_rows == 4
