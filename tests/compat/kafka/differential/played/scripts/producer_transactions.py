"""Transactions of a KafkaProducer."""

from tests.compat.kafka.differential.played.script import on_kafka
from tests.compat.kafka.differential.played.stage import WAIT_SECONDS


def transactional(stage, **settings):
    return stage.producer(transactional_id=stage.name("identity"), **settings)


def read(stage, topic, *, isolation_level="read_committed"):
    """The values that a consumer sees, up to a last one that is sent outside of transactions."""
    stage.fill(topic, b"the end")
    consumer = stage.reader(topic, isolation_level=isolation_level)
    values = []

    def step():
        for records in consumer.poll(timeout_ms=200).values():
            values.extend(record.value for record in records)

    stage.until(lambda: b"the end" in values, step)
    return values


def committed(stage, group, topic):
    """What the group committed, once that is there: the coordinator ends a transaction after it answers."""
    stage.until(lambda: stage.ask("committed", group, topic, 0) is not None)
    return stage.ask("committed", group, topic, 0)


@on_kafka("2", "3")
def a_committed_transaction_is_read(kafka, stage):
    topic = stage.topic()
    producer = transactional(stage)
    stage.record("init gives", producer.init_transactions())
    stage.record("begin gives", producer.begin_transaction())
    futures = [producer.send(topic, b"value %d" % number) for number in range(3)]
    stage.record("commit gives", producer.commit_transaction())
    stage.record("offsets", [future.value.offset for future in futures])
    stage.record("done", [future.succeeded() for future in futures])
    stage.record("read", read(stage, topic))


@on_kafka("2", "3")
def an_aborted_transaction_is_not_read(kafka, stage):
    topic = stage.topic()
    producer = transactional(stage)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"first").get(timeout=WAIT_SECONDS)
    stage.record("abort gives", producer.abort_transaction())
    producer.begin_transaction()
    producer.send(topic, b"second")
    producer.commit_transaction()
    stage.record("read committed", read(stage, topic))


@on_kafka("2", "3")
def an_empty_transaction_may_be_committed_or_aborted(kafka, stage):
    producer = transactional(stage)
    producer.init_transactions()
    producer.begin_transaction()
    stage.attempt("commit", producer.commit_transaction)
    producer.begin_transaction()
    stage.attempt("abort", producer.abort_transaction)


@on_kafka("2", "3")
def calls_of_transactions_need_a_transactional_id(kafka, stage):
    producer = stage.producer(**({"enable_idempotence": False} if stage.generation == "3" else {}))
    for name in ("init_transactions", "begin_transaction", "commit_transaction", "abort_transaction"):
        stage.attempt(name, getattr(producer, name))
    stage.attempt("send_offsets_to_transaction", producer.send_offsets_to_transaction, {}, "group")


@on_kafka("3")
def an_idempotent_producer_has_no_transactions(kafka, stage):
    producer = stage.producer(enable_idempotence=True)
    for name in ("init_transactions", "begin_transaction", "commit_transaction", "abort_transaction"):
        stage.attempt(name, getattr(producer, name))


@on_kafka("2", "3")
def calls_of_transactions_have_an_order(kafka, stage):
    topic = stage.topic()
    producer = transactional(stage)
    stage.attempt("send at first", producer.send, topic, b"value")
    stage.attempt("begin at first", producer.begin_transaction)
    stage.attempt("commit at first", producer.commit_transaction)
    stage.attempt("abort at first", producer.abort_transaction)
    producer.init_transactions()
    stage.attempt("send outside", producer.send, topic, b"value")
    stage.attempt("commit outside", producer.commit_transaction)
    stage.attempt("abort outside", producer.abort_transaction)
    stage.attempt("init again", producer.init_transactions)
    producer.begin_transaction()
    stage.attempt("begin again", producer.begin_transaction)
    producer.send(topic, b"value")
    stage.attempt("commit", producer.commit_transaction)
    stage.attempt("commit again", producer.commit_transaction)


@on_kafka("2", "3")
def callbacks_have_returned_when_a_transaction_is_committed(kafka, stage):
    topic = stage.topic()
    producer = transactional(stage, linger_ms=100)
    producer.init_transactions()
    producer.begin_transaction()
    for _ in range(3):
        producer.send(topic, b"value").add_callback(lambda metadata: stage.record("called", metadata.offset))
    producer.commit_transaction()
    stage.record("committed", True)


@on_kafka("2", "3")
def an_abort_fails_what_was_not_sent(kafka, stage):
    topic = stage.topic()
    producer = transactional(stage, linger_ms=20000)
    producer.init_transactions()
    producer.begin_transaction()
    future = producer.send(topic, b"value")
    producer.abort_transaction()
    stage.record("done", (future.is_done, future.failed()))
    stage.record("exception", type(future.exception).__name__)


@on_kafka("2", "3")
def offsets_are_committed_with_a_transaction(kafka, stage):
    topic, group = stage.topic(), stage.group()
    structs = stage.module("structs")
    producer = transactional(stage)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"value")
    offsets = {stage.partition(topic): structs.OffsetAndMetadata(5, "note", -1)}
    stage.attempt("send offsets", producer.send_offsets_to_transaction, offsets, group)
    stage.record("before", stage.ask("committed", group, topic, 0))
    producer.commit_transaction()
    stage.record("after", committed(stage, group, topic))
    producer.begin_transaction()
    offsets = {stage.partition(topic): structs.OffsetAndMetadata(9, "", -1)}
    producer.send_offsets_to_transaction(offsets, group)
    producer.abort_transaction()
    stage.record("aborted", stage.ask("committed", group, topic, 0))


@on_kafka("2", "3")
def offsets_need_a_transaction(kafka, stage):
    topic, group = stage.topic(), stage.group()
    structs = stage.module("structs")
    producer = transactional(stage)
    producer.init_transactions()
    offsets = {stage.partition(topic): structs.OffsetAndMetadata(5, "", -1)}
    stage.attempt("outside", producer.send_offsets_to_transaction, offsets, group)


@on_kafka("3")
def groups_of_offsets_are_named_or_told_whole(kafka, stage):
    topic, group = stage.topic(), stage.group()
    structs = stage.module("structs")
    producer = transactional(stage)
    producer.init_transactions()
    producer.begin_transaction()
    offsets = {stage.partition(topic): structs.OffsetAndMetadata(5, "", -1)}
    metadata = structs.ConsumerGroupMetadata(group_id=group)
    stage.attempt("metadata", producer.send_offsets_to_transaction, offsets, metadata)
    stage.attempt("a number", producer.send_offsets_to_transaction, offsets, 5)
    joined = structs.ConsumerGroupMetadata(group_id=group, generation_id=3)
    stage.attempt("no member", producer.send_offsets_to_transaction, offsets, joined)
    producer.commit_transaction()
    stage.record("committed", committed(stage, group, topic))


@on_kafka("2", "3")
def a_newer_producer_fences_an_older_one(kafka, stage):
    topic = stage.topic()
    identity = stage.name("identity")
    older = stage.producer(transactional_id=identity)
    older.init_transactions()
    older.begin_transaction()
    older.send(topic, b"older").get(timeout=WAIT_SECONDS)
    newer = stage.producer(transactional_id=identity)
    newer.init_transactions()
    newer.begin_transaction()
    newer.send(topic, b"newer")
    newer.commit_transaction()
    try:
        older.commit_transaction()
    except stage.module("errors").KafkaError as error:
        # kafka-python 2 asks in a version in which brokers had one error for all that is old.
        stage.record("older commits", type(error).__name__ if stage.generation == "3" else "is refused")
    stage.record("read", read(stage, topic))
