"""Transactions: their states, what is refused, fencing, and what readers see."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, script
from tests.compat.differential.stage import WAIT, Stage


def _transactional(stage: Stage, identity: str | None = None, **settings: Any) -> Any:
    return stage.producer(transactional_id=identity or stage.name("transactional-id"), **settings)


def _states(stage: Stage, producer: Any) -> None:
    for label, call in (
        ("begin", lambda: producer.begin_transaction()),
        ("commit", lambda: producer.commit_transaction(1)),
        ("abort", lambda: producer.abort_transaction(1)),
        ("send offsets", lambda: producer.send_offsets_to_transaction([], None, 1)),
        ("produce", lambda: producer.produce("t", "v")),
    ):
        stage.attempt(label, call)


def _until_readable(stage: Stage, topic: str, count: int) -> None:
    """Waits for so many committed messages: a commit is answered before the log has its end, and until then
    the log ends before them."""
    stage.messages(stage.reader(topic), count)


@script()
def without_a_transactional_id_transactions_are_refused(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer()
    stage.attempt("init", producer.init_transactions, 0.1)
    stage.attempt("begin", producer.begin_transaction)
    stage.attempt("commit", producer.commit_transaction, 0.1)
    stage.attempt("abort", producer.abort_transaction, 0.1)
    stage.attempt("begin with an argument", producer.begin_transaction, 1)


@script()
def initialization_comes_first(kafka: ModuleType, stage: Stage) -> None:
    _states(stage, _transactional(stage))


@script()
def initialization_without_a_broker_times_out(kafka: ModuleType, stage: Stage) -> None:
    producer = _transactional(stage)
    stage.attempt("init", producer.init_transactions, 0.2)
    for arguments in (("1",), (None,), (1, 2)):
        stage.attempt(f"init{arguments}", producer.init_transactions, *arguments)
        stage.attempt(f"commit{arguments}", producer.commit_transaction, *arguments)
        stage.attempt(f"abort{arguments}", producer.abort_transaction, *arguments)


@on_apache()
def a_transaction_is_committed(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = _transactional(stage, on_delivery=stage.callback("report"))
    stage.attempt("init", producer.init_transactions, WAIT)
    stage.attempt("begin", producer.begin_transaction)
    stage.attempt("produce", producer.produce, topic, "a")
    stage.attempt("commit", producer.commit_transaction, WAIT)
    stage.attempt("begin", producer.begin_transaction)
    stage.attempt("commit nothing", producer.commit_transaction)
    _until_readable(stage, topic, 1)
    consumer = stage.reader(topic, enable_partition_eof=True)
    for message in stage.messages(consumer, 2):
        stage.record("message", message)


@on_apache()
def an_aborted_transaction_is_not_read(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = _transactional(stage, on_delivery=stage.callback("report"))
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.produce(topic, "aborted")
    stage.attempt("flush", producer.flush, WAIT)
    stage.attempt("abort", producer.abort_transaction, WAIT)
    producer.begin_transaction()
    producer.produce(topic, "committed")
    stage.attempt("commit", producer.commit_transaction, WAIT)
    _until_readable(stage, topic, 1)
    stage.values(stage.reader(topic, enable_partition_eof=True), 2)
    stage.values(stage.reader(topic, enable_partition_eof=True, isolation_level="read_uncommitted"), 3)


@on_apache()
def messages_not_yet_sent_are_purged_by_an_abort(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = _transactional(stage, on_delivery=stage.callback("report"), linger_ms=5000)
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.produce(topic, "first")
    producer.produce(topic, "second")
    stage.attempt("abort", producer.abort_transaction, WAIT)
    stage.record("len", len(producer))


@on_apache()
def states_of_a_transaction_are_kept(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = _transactional(stage)
    stage.attempt("init", producer.init_transactions, WAIT)
    stage.attempt("init again", producer.init_transactions, WAIT)
    stage.attempt("produce outside", producer.produce, topic, "v")
    stage.attempt("commit outside", producer.commit_transaction, WAIT)
    stage.attempt("abort outside", producer.abort_transaction, WAIT)
    stage.attempt("begin", producer.begin_transaction)
    stage.attempt("begin again", producer.begin_transaction)
    stage.attempt("init inside", producer.init_transactions, WAIT)
    stage.attempt("commit", producer.commit_transaction, WAIT)
    stage.attempt("commit again", producer.commit_transaction, WAIT)
    stage.attempt("abort after", producer.abort_transaction, WAIT)
    stage.attempt("begin", producer.begin_transaction)
    stage.attempt("abort", producer.abort_transaction, WAIT)
    stage.attempt("abort again", producer.abort_transaction, WAIT)


@on_apache()
def a_newer_producer_fences_the_older(kafka: ModuleType, stage: Stage) -> None:
    topic, identity = stage.topic(), stage.name("transactional-id")
    older = _transactional(stage, identity)
    older.init_transactions(WAIT)
    older.begin_transaction()
    older.produce(topic, "before")
    older.flush(WAIT)
    newer = _transactional(stage, identity)
    stage.attempt("newer", newer.init_transactions, WAIT)
    stage.attempt("produce", older.produce, topic, "after")
    stage.attempt("commit", older.commit_transaction, WAIT)
    stage.attempt("abort", older.abort_transaction, WAIT)
    stage.attempt("begin", older.begin_transaction)
    stage.attempt("produce", older.produce, topic, "later")
    newer.begin_transaction()
    newer.produce(topic, "newer")
    stage.attempt("newer's commit", newer.commit_transaction, WAIT)
    _until_readable(stage, topic, 1)
    stage.values(stage.reader(topic, enable_partition_eof=True), 2)


@on_apache()
def offsets_are_committed_with_a_transaction(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    group = stage.group()
    consumer = stage.consumer(group_id=group)
    consumer.subscribe([topic])
    stage.values(consumer, 2)
    producer = _transactional(stage)
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    metadata = consumer.consumer_group_metadata()
    positions = consumer.position(consumer.assignment())
    stage.attempt("send", producer.send_offsets_to_transaction, positions, metadata, WAIT)
    other = stage.consumer()
    stage.attempt("commit", producer.commit_transaction, WAIT)
    stage.attempt("committed", consumer.committed, [kafka.TopicPartition(topic, 0)], timeout=WAIT)
    producer.begin_transaction()
    offsets = [kafka.TopicPartition(topic, 0, 3, "m")]
    stage.attempt("send", producer.send_offsets_to_transaction, offsets, metadata)
    stage.attempt("abort", producer.abort_transaction, WAIT)
    stage.attempt("committed", consumer.committed, [kafka.TopicPartition(topic, 0)], timeout=WAIT)
    other.close()


@on_apache()
def offsets_for_a_transaction_are_checked(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    consumer = stage.consumer()
    metadata = consumer.consumer_group_metadata()
    producer = _transactional(stage)
    producer.init_transactions(WAIT)
    offsets = [kafka.TopicPartition(topic, 0, 1)]
    stage.attempt("outside", producer.send_offsets_to_transaction, offsets, metadata, 10)
    producer.begin_transaction()
    for label, arguments in (
        ("nothing", ()),
        ("no group", (offsets,)),
        ("a wrong group", (offsets, "group", 10)),
        ("none", (offsets, None, 10)),
        ("wrong offsets", (3, metadata, 10)),
        ("no list", (offsets[0], metadata, 10)),
        ("empty", ([], metadata, 10)),
        ("logical", ([kafka.TopicPartition(topic, 0, kafka.OFFSET_END)], metadata, 10)),
        ("wrong time", (offsets, metadata, "10")),
    ):
        stage.attempt(label, producer.send_offsets_to_transaction, *arguments)
    stage.attempt("good", producer.send_offsets_to_transaction, offsets, metadata, WAIT)
    stage.attempt("commit", producer.commit_transaction, WAIT)
    stage.attempt("committed", consumer.committed, [kafka.TopicPartition(topic, 0)], timeout=WAIT)


@on_apache()
def offsets_of_a_topic_that_does_not_exist_make_the_transaction_fail(kafka: ModuleType, stage: Stage) -> None:
    topic, missing = stage.filled_topic("a"), stage.name("missing")
    metadata = stage.consumer().consumer_group_metadata()
    producer = _transactional(stage)
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    there, nowhere = kafka.TopicPartition(topic, 0, 1), kafka.TopicPartition(missing, 0, 1)
    # Both libraries ask until the time is up, as the topic may be about to appear.
    stage.attempt("nowhere", producer.send_offsets_to_transaction, [there, nowhere], metadata, 2)
    stage.attempt("again", producer.send_offsets_to_transaction, [nowhere], metadata, 2)
    stage.attempt("there", producer.send_offsets_to_transaction, [there], metadata, WAIT)
    stage.attempt("produce", producer.produce, topic, "v")
    stage.attempt("commit", producer.commit_transaction, WAIT)
    stage.attempt("abort", producer.abort_transaction, WAIT)
    producer.begin_transaction()
    offsets = [nowhere, kafka.TopicPartition(missing, 2, 1)]
    stage.attempt("two partitions", producer.send_offsets_to_transaction, offsets, metadata, 1)
    stage.attempt("abort", producer.abort_transaction, WAIT)
    producer.begin_transaction()
    stage.attempt("there", producer.send_offsets_to_transaction, [there], metadata, WAIT)
    stage.attempt("commit", producer.commit_transaction, WAIT)


@on_apache()
def a_failed_message_makes_the_transaction_fail(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(max_message_bytes="500")
    producer = _transactional(stage, on_delivery=stage.callback("report", leaving_out=[kafka.Message]))
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.produce(topic, b"x" * 2000)
    stage.attempt("commit", producer.commit_transaction, WAIT)
    stage.attempt("begin", producer.begin_transaction)
    stage.attempt("produce", producer.produce, topic, b"small")
    stage.attempt("abort", producer.abort_transaction, WAIT)
    stage.attempt("begin", producer.begin_transaction)


@on_apache()
def read_committed_waits_for_open_transactions(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = _transactional(stage)
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.produce(topic, "open")
    producer.flush(WAIT)
    committed = stage.reader(topic)
    stage.attempt("read committed", committed.poll, 0.3)
    stage.attempt("watermarks", committed.get_watermark_offsets, kafka.TopicPartition(topic, 0), timeout=WAIT)
    uncommitted = stage.reader(topic, isolation_level="read_uncommitted")
    stage.values(uncommitted, 1)
    stage.attempt(
        "uncommitted", uncommitted.get_watermark_offsets, kafka.TopicPartition(topic, 0), timeout=WAIT
    )
    producer.commit_transaction(WAIT)
    stage.values(committed, 1)
