"""Writes that are there once, or not at all, whatever dies when."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StructField, StructType
from tests.spark.conftest import Kafka, committed

from barnabas import Admin
from barnabas.spark.errors import (
    InvalidOptionError,
    PartialCommitError,
    StaleTaskError,
    TransactionExpiredError,
)
from barnabas.spark.options import SinkOptions, sink_options
from barnabas.spark.writing.decisions import Decision
from barnabas.spark.writing.exactly_once import (
    Committer,
    ExactlyOnceStreamWriter,
    ExactlyOnceWriter,
    RowsPrepared,
    Run,
    Slots,
    prepare_rows,
)
from barnabas.testing import ApacheKafka

SCHEMA = StructType([StructField("value", BinaryType())])
Read = Callable[..., DataFrame]


def rows(*values: bytes) -> Iterator[pa.RecordBatch]:
    return iter([pa.record_batch({"value": pa.array(values, pa.binary())})])


class Sink:
    """A sink of its own, as driver and tasks use it."""

    def __init__(self, kafka: Kafka, **options: str) -> None:
        self.kafka = kafka
        self.topic = kafka.create(2)
        self.name = f"sink-{uuid.uuid4().hex[:12]}"
        given = {
            "kafka.bootstrap.servers": kafka.bootstrap,
            "topic": self.topic,
            "delivery": "exactly-once",
            "transactionalidprefix": self.name,
        }
        self.options: SinkOptions = sink_options(given | options)

    def plan(self) -> ExactlyOnceStreamWriter:
        self.writer = ExactlyOnceStreamWriter(self.options, SCHEMA)
        return self.writer

    def work(self, *values: bytes) -> RowsPrepared:
        """A task of the batch that was planned last."""
        return prepare_rows(rows(*values), self.options, self.writer._run)

    @property
    def committer(self) -> Committer:
        return Committer(self.options, self.name)

    @property
    def values(self) -> list[bytes]:
        return committed(self.kafka, self.topic)


@pytest.fixture
def sink(real_kafka: Kafka) -> Sink:
    return Sink(real_kafka)


def test_rows_are_seen_when_the_batch_is_committed(sink: Sink) -> None:
    writer = sink.plan()
    messages = [sink.work(b"a", b"b"), sink.work(b"c"), sink.work()]
    assert [message.rows for message in messages] == [2, 1, 0]
    assert messages[2].transaction is None
    writer.commit([*messages, None], 0)
    assert sink.values == [b"a", b"b", b"c"]


def test_rows_of_an_aborted_batch_are_not_seen(sink: Sink) -> None:
    writer = sink.plan()
    writer.abort([sink.work(b"a"), None], 0)
    writer.commit([sink.work(b"b")], 0)
    assert sink.values == [b"b"]


def test_a_decision_that_was_not_carried_out_is_carried_out_by_the_next_driver(sink: Sink) -> None:
    sink.plan()
    prepared = [sink.work(b"a"), sink.work(b"b")]
    transactions = tuple(message.transaction for message in prepared if message.transaction)
    log = sink.committer._log
    # The driver dies here, once having ended one transaction of two.
    log.write(sink.name, Decision(7, is_done=False, transactions=transactions))
    log.admin.end_prepared_transactions(transactions[:1], commit=True)
    writer = sink.plan()
    assert writer._last_batch == 7
    assert sink.values == [b"a", b"b"]


def test_a_batch_that_was_committed_is_not_committed_again(sink: Sink) -> None:
    sink.plan().commit([sink.work(b"a")], 3)
    repeated = sink.plan()
    assert repeated._last_batch == 3
    repeated.commit([RowsPrepared(1, None, 0.0)], 3)
    repeated.commit([sink.work(b"b")], 4)
    assert sink.values == [b"a", b"b"]


def test_it_works_on_brokers_that_cannot_describe_transactions() -> None:
    with ApacheKafka("2.8.2") as broker:
        sink = Sink(Kafka(broker.bootstrap))
        sink.plan().commit([sink.work(b"a"), sink.work(b"b")], 0)
        sink.plan().commit([sink.work(b"c")], 1)
        assert sink.values == [b"a", b"b", b"c"]


def test_another_sink_whose_name_begins_alike_is_left_alone(sink: Sink) -> None:
    other = Sink(sink.kafka, transactionalidprefix=f"{sink.name}-other")
    other.name = f"{sink.name}-other"
    writer = other.plan()
    message = other.work(b"a")
    sink.plan().commit([sink.work(b"b")], 0)
    writer.commit([message], 0)
    assert (sink.values, other.values) == ([b"b"], [b"a"])


def test_what_a_dead_task_left_open_does_not_hold_readers_up(sink: Sink) -> None:
    writer = sink.plan()
    sink.work(b"of an attempt that the driver never heard of")
    writer.commit([sink.work(b"a")], 0)
    assert sink.values == [b"a"]


def test_a_batch_that_took_too_long_is_not_committed_at_all(real_kafka: Kafka) -> None:
    sink = Sink(real_kafka, **{"kafka.transaction.timeout.ms": "20000"})
    writer = sink.plan()
    late = replace(sink.work(b"a"), expires_at=time.time() + 1)
    with pytest.raises(TransactionExpiredError, match=r"batch 0 took too long.*transaction\.timeout\.ms"):
        writer.commit([late, sink.work(b"b")], 0)
    writer.commit([sink.work(b"again")], 0)
    assert sink.values == [b"again"]


def test_a_transaction_that_the_broker_ended_keeps_its_whole_batch_from_being_committed(sink: Sink) -> None:
    writer = sink.plan()
    messages = [sink.work(b"a"), sink.work(b"b")]
    with Admin(sink.kafka.bootstrap) as admin:
        admin.fence_producers([messages[0].transaction.transactional_id])
    with pytest.raises(TransactionExpiredError, match="1 of its 2 transactions have ended"):
        writer.commit(messages, 0)
    assert sink.values == []


@pytest.mark.parametrize(("choice", "expected"), [("rewrite", [b"a", b"a", b"b"]), ("skip", [b"a"])])
def test_a_decision_that_came_too_late_for_some_is_an_error_until_the_user_chooses(
    real_kafka: Kafka, choice: str, expected: list[bytes]
) -> None:
    sink = Sink(real_kafka)
    sink.plan()
    transactions = tuple(sink.work(value).transaction for value in (b"a", b"b"))
    log = sink.committer._log
    log.write(sink.name, Decision(5, is_done=False, transactions=transactions))
    log.admin.end_prepared_transactions(transactions[:1], commit=True)
    log.admin.fence_producers([transactions[1].transactional_id])
    for _ in range(2):
        with pytest.raises(PartialCommitError, match=r"batch 5 .* aborted 1 of its 2 .*onPartialCommit"):
            sink.plan()
    sink.options = replace(sink.options, on_partial_commit=choice)
    writer = sink.plan()
    if writer._last_batch < 5:
        writer.commit([sink.work(b"a", b"b")], 5)
    sink.options = replace(sink.options, on_partial_commit="fail")
    assert sink.plan()._last_batch == 5
    assert sink.values == expected


def test_a_time_out_that_brokers_refuse_is_explained_before_anything_runs(real_kafka: Kafka) -> None:
    sink = Sink(real_kafka, **{"kafka.transaction.timeout.ms": "3600000"})
    with pytest.raises(InvalidOptionError, match=r"3600000.*900000 at most.*maxOffsetsPerTrigger"):
        sink.plan()


def test_a_query_without_a_name_for_its_sink_is_refused(real_kafka: Kafka) -> None:
    options = sink_options({"kafka.bootstrap.servers": real_kafka.bootstrap, "delivery": "exactly-once"})
    schema = StructType([StructField("value", BinaryType()), StructField("topic", BinaryType())])
    with pytest.raises(InvalidOptionError, match="checkpointLocation on this query, or trans"):
        ExactlyOnceStreamWriter(replace(options, topic="t"), schema)


def test_no_two_tasks_of_a_run_share_a_transactional_id_and_later_runs_use_them_again() -> None:
    slots = Slots()
    first = [slots.take(Run("sink", 1)) for _ in range(3)]
    assert len(set(first)) == 3
    assert [slots.take(Run("sink", 2)) for _ in range(3)] == first
    assert slots.take(Run("other", 1)) not in first
    with pytest.raises(StaleTaskError, match="'sink'"):
        slots.take(Run("sink", 1))


def test_a_batch_write_is_there_whole_or_not_at_all(spark: SparkSession, real_kafka: Kafka) -> None:
    topic = real_kafka.create(2)
    options = {"kafka.bootstrap.servers": real_kafka.bootstrap, "topic": topic, "delivery": "exactly-once"}
    frame = spark.range(0, 1000, numPartitions=4).selectExpr("cast(cast(id as string) as binary) as value")
    frame.write.format("barnabas").options(**options).mode("append").save()
    expected = sorted(b"%d" % number for number in range(1000))
    assert committed(real_kafka, topic) == expected
    failing = frame.selectExpr("if(value = '999', raise_error('no'), value) as value")
    with pytest.raises(PySparkException, match="no"):
        failing.write.format("barnabas").options(**options).mode("append").save()
    assert committed(real_kafka, topic) == expected


def test_a_task_that_comes_after_the_end_of_its_write_leaves_nothing_open(real_kafka: Kafka) -> None:
    topic = real_kafka.create(2)
    given = {"kafka.bootstrap.servers": real_kafka.bootstrap, "topic": topic, "delivery": "exactly-once"}
    failed, done = (ExactlyOnceWriter(sink_options(given), SCHEMA) for _ in range(2))
    failed.abort([failed.write(rows(b"a")), None])
    with pytest.raises(StaleTaskError, match="was over before this task was done"):
        failed.write(rows(b"late"))
    done.commit([done.write(rows(b"b"))])
    with pytest.raises(StaleTaskError, match="was over before this task was done"):
        done.write(rows(b"of a second attempt"))
    assert committed(real_kafka, topic) == [b"b"]


@pytest.mark.from_pyspark_4_2
def test_a_query_writes_each_row_of_its_input_once(
    real_kafka: Kafka, read_stream: Read, tmp_path: Path
) -> None:
    source, target = real_kafka.create(2), real_kafka.create(2)
    stream = read_stream(real_kafka, subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger=40)
    options: dict[str, Any] = {
        "kafka.bootstrap.servers": real_kafka.bootstrap,
        "topic": target,
        "delivery": "exactly-once",
        "checkpointLocation": str(tmp_path / "checkpoint"),
    }
    expected: list[bytes] = []
    for start in (0, 100):
        values = [b"%d" % number for number in range(start, start + 100)]
        expected += values
        real_kafka.write(source, values)
        query = (
            (stream.select("value").writeStream.format("barnabas").options(**options))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(60)
    assert committed(real_kafka, target) == sorted(expected)
    # Spark forgets that it has finished the last batch: it is written again, and seen once.
    commits = sorted((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    commits[-1].unlink()
    (commits[-1].parent / f".{commits[-1].name}.crc").unlink(missing_ok=True)
    query = stream.select("value").writeStream.format("barnabas").options(**options)
    assert query.trigger(availableNow=True).start().awaitTermination(60)
    assert committed(real_kafka, target) == sorted(expected)
