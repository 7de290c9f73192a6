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
def a_transaction_timeout_that_the_broker_refuses_ends_the_producer(kafka: ModuleType, stage: Stage) -> None:
    producer = _transactional(stage, transaction_timeout_ms=2_000_000_000, error_cb=stage.callback("error"))
    stage.attempt("init", producer.init_transactions, WAIT)
    stage.attempt("init", producer.init_transactions, WAIT)
    _states(stage, producer)
    stage.attempt("poll", producer.poll, 0)
    stage.attempt("poll", producer.poll, 0)
    stage.attempt("close", producer.close)


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
    # By then the topic's partitions are known; a message that waits for them has none when it is purged.
    producer.produce(topic, "known")
    stage.attempt("commit", producer.commit_transaction, WAIT)
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
    # It sends when commit has begun: what is refused before makes that fail in another way.
    older = _transactional(stage, identity, linger_ms=5000)
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


def _fenced(stage: Stage, topic: str, *, sends: bool) -> Any:
    """A producer in a transaction, with a message in it or not, which a newer one has fenced."""
    identity = stage.name("transactional-id")
    errors, reports = stage.callback("error"), stage.callback("report")
    # What is refused before a call has begun makes that fail in another way.
    if sends:
        later: dict[str, Any] = {"linger_ms": 5000}
    else:
        later = {"bootstrap_servers": stage.delayed(1, "AddPartitionsToTxn", "Produce")}
    producer = _transactional(stage, identity, error_cb=errors, on_delivery=reports, **later)
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    if sends:
        producer.produce(topic, "before", partition=0)
        stage.attempt("flush", producer.flush, WAIT)
    _transactional(stage, identity).init_transactions(WAIT)
    return producer


def _calls(stage: Stage, producer: Any, offsets: Any, group: Any) -> None:
    """Every transactional call, each after every other one and after itself."""
    calls = {
        "abort": lambda: producer.abort_transaction(WAIT),
        "commit": lambda: producer.commit_transaction(WAIT),
        "begin": producer.begin_transaction,
        "init": lambda: producer.init_transactions(WAIT),
        "send offsets": lambda: producer.send_offsets_to_transaction(offsets, group, WAIT),
    }
    names = list(calls)
    for index, first in enumerate(names):
        stage.attempt(first, calls[first])
        for second in names[index + 1 :]:
            stage.attempt(first, calls[first])
            stage.attempt(second, calls[second])


def _reports(stage: Stage, producer: Any) -> None:
    stage.attempt("produce", producer.produce, "topic", "later")
    stage.attempt("flush", producer.flush, WAIT)
    stage.record("len", len(producer))
    stage.attempt("close", producer.close)


@on_apache()
def a_fenced_producer_sends_nothing_to_further_partitions(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(2)
    producer = _fenced(stage, topic, sends=False)
    stage.attempt("produce", producer.produce, topic, "first", partition=0)
    stage.attempt("produce", producer.produce, topic, "second", partition=0)
    stage.attempt("commit", producer.commit_transaction, WAIT)
    _calls(stage, producer, [kafka.TopicPartition(topic, 0, 1)], stage.consumer().consumer_group_metadata())
    _reports(stage, producer)


@on_apache()
def what_a_fenced_producer_sends_is_refused(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = _fenced(stage, topic, sends=True)
    stage.attempt("produce", producer.produce, topic, "after", partition=0)
    stage.attempt("commit", producer.commit_transaction, WAIT)
    _calls(stage, producer, [kafka.TopicPartition(topic, 0, 1)], stage.consumer().consumer_group_metadata())
    _reports(stage, producer)


@on_apache()
def calls_of_a_fenced_producer_raise_the_first_ones_error(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    offsets, group = [kafka.TopicPartition(topic, 0, 1)], stage.consumer().consumer_group_metadata()
    for label, call in (
        ("commit", lambda producer: producer.commit_transaction(WAIT)),
        ("abort", lambda producer: producer.abort_transaction(WAIT)),
        ("send offsets", lambda producer: producer.send_offsets_to_transaction(offsets, group, WAIT)),
    ):
        producer = _fenced(stage, topic, sends=True)
        stage.attempt(label, call, producer)
        # The text of this one is decided by timing.
        stage.within("begin", lambda producer=producer: _code(kafka, producer.begin_transaction))
        _calls(stage, producer, offsets, group)
        _reports(stage, producer)


def _code(kafka: ModuleType, call: Any) -> None:
    try:
        call()
    except kafka.KafkaException as error:
        if error.args[0].code() != kafka.KafkaError._FENCED:
            raise


@on_apache()
def a_poll_raises_the_fatal_error_before_it_reports(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = _fenced(stage, topic, sends=False)
    stage.attempt("produce", producer.produce, topic, "value")
    stage.attempt("poll", producer.poll, WAIT)
    stage.poll_until(producer, stage.recorded("report within"))
    stage.attempt("commit", producer.commit_transaction, WAIT)
    stage.attempt("abort", producer.abort_transaction, WAIT)
    _reports(stage, producer)


@on_apache()
def a_fenced_producer_raises_its_error_when_it_is_closed(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = _fenced(stage, topic, sends=True)
    stage.attempt("close", producer.close)
    stage.attempt("close", producer.close)
    stage.attempt("len", len, producer)


@on_apache()
def a_fenced_producer_may_end_a_transaction_without_anything_in_it(kafka: ModuleType, stage: Stage) -> None:
    producer = _fenced(stage, stage.topic(), sends=False)
    stage.attempt("commit", producer.commit_transaction, WAIT)
    stage.attempt("begin", producer.begin_transaction)
    stage.attempt("abort", producer.abort_transaction, WAIT)
    stage.attempt("poll", producer.poll, 0)


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
    stage.attempt("nowhere", producer.send_offsets_to_transaction, [there, nowhere], metadata, 5)
    stage.attempt("again", producer.send_offsets_to_transaction, [nowhere], metadata, 5)
    stage.attempt("there", producer.send_offsets_to_transaction, [there], metadata, WAIT)
    stage.attempt("produce", producer.produce, topic, "v")
    stage.attempt("commit", producer.commit_transaction, WAIT)
    stage.attempt("abort", producer.abort_transaction, WAIT)
    producer.begin_transaction()
    offsets = [nowhere, kafka.TopicPartition(missing, 2, 1)]
    stage.attempt("two partitions", producer.send_offsets_to_transaction, offsets, metadata, 5)
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
