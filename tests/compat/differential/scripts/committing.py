"""Committed and stored offsets, in each form, and what they are answered with."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, on_both, script
from tests.compat.differential.stage import WAIT, Stage


@script()
def commit_refuses_other_types(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer()
    message = kafka.Message("t", 0, 5)
    offsets = [kafka.TopicPartition("t", 0, 5)]
    cases: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((3,), {}),
        ((None,), {}),
        (("t",), {}),
        ((offsets,), {}),
        ((), {"message": 3}),
        ((), {"offsets": 3}),
        ((), {"offsets": message}),
        ((), {"message": offsets}),
        ((), {"message": message, "offsets": offsets}),
        ((), {"offsets": [3]}),
        ((), {"nonsense": 1}),
        ((), {"async": True, "asynchronous": True}),
        ((message, offsets), {}),
        ((), {"message": kafka.Message(error=kafka.KafkaError(3))}),
        ((), {"message": kafka.Message("t", 0)}),
        ((), {"offsets": []}),
    ]
    for arguments, keywords in cases:
        if "asynchronous" not in keywords:
            keywords = keywords | {"asynchronous": True}
        stage.attempt(f"commit{arguments}{sorted(keywords)}", consumer.commit, *arguments, **keywords)


@script()
def store_offsets_refuses_other_types(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer(enable_auto_offset_store=False)
    message = kafka.Message("t", 0, 5)
    offsets = [kafka.TopicPartition("t", 0, 5)]
    cases: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        ((3,), {}),
        ((None,), {}),
        ((offsets,), {}),
        ((), {"message": 3}),
        ((), {"offsets": 3}),
        ((), {"offsets": []}),
        ((), {"message": message, "offsets": offsets}),
        ((), {"message": message}),
        ((), {"offsets": offsets}),
        ((), {"message": kafka.Message(error=kafka.KafkaError(3))}),
        ((), {"nonsense": 1}),
        ((), {"offsets": [3]}),
    ]
    for arguments, keywords in cases:
        stage.attempt(f"store{arguments}{sorted(keywords)}", consumer.store_offsets, *arguments, **keywords)


@script()
def offsets_are_not_stored_by_hand_while_they_are_stored_by_themselves(
    kafka: ModuleType, stage: Stage
) -> None:
    consumer = stage.consumer()
    stage.attempt("store", lambda: consumer.store_offsets(offsets=[kafka.TopicPartition("t", 0, 5)]))
    stage.attempt("a message", lambda: consumer.store_offsets(message=kafka.Message("t", 0, 5)))


@on_both()
def commits_are_made_in_each_form(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    consumer = stage.reader(topic)
    partition = kafka.TopicPartition(topic, 0)
    stage.attempt("nothing committed", consumer.committed, [partition], timeout=WAIT)
    message = stage.messages(consumer, 1)[0]
    stage.attempt("positions", lambda: consumer.commit(asynchronous=False))
    stage.attempt("committed", consumer.committed, [partition], timeout=WAIT)
    message = stage.messages(consumer, 1)[0]
    stage.attempt("a message", lambda: consumer.commit(message=message, asynchronous=False))
    stage.attempt("a message by position", lambda: consumer.commit(message, asynchronous=False))
    stage.attempt("committed", consumer.committed, [partition], timeout=WAIT)
    with_metadata = [kafka.TopicPartition(topic, 0, 1, "metadata")]
    stage.attempt("offsets", lambda: consumer.commit(offsets=with_metadata, asynchronous=False))
    stage.record("the argument", with_metadata)
    stage.attempt("committed", consumer.committed, [partition], timeout=WAIT)
    stage.record("the argument", partition)
    stage.attempt("the same again", lambda: consumer.commit(asynchronous=False))
    stage.attempt("committed", consumer.committed, [partition], timeout=WAIT)


@on_both()
def nothing_to_commit_is_an_error(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.reader(topic)
    stage.attempt("nothing read", lambda: consumer.commit(asynchronous=False))
    stage.attempt("asynchronously", lambda: consumer.commit(asynchronous=True))
    stage.values(consumer, 1)
    stage.attempt("one read", lambda: consumer.commit(asynchronous=False))
    stage.attempt("nothing new", lambda: consumer.commit(asynchronous=False))
    stage.attempt("no offsets", lambda: consumer.commit(offsets=[], asynchronous=False))
    stage.attempt(
        "no offset", lambda: consumer.commit(offsets=[kafka.TopicPartition(topic, 0)], asynchronous=False)
    )


@on_both()
def commits_of_what_is_unknown_tell_so(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    consumer = stage.reader(topic)
    unknown = stage.name("unknown")
    for label, partitions in (
        ("unknown topic", [kafka.TopicPartition(unknown, 0, 5)]),
        ("unknown partition", [kafka.TopicPartition(topic, 9, 5)]),
        ("one of two", [kafka.TopicPartition(topic, 0, 1), kafka.TopicPartition(topic, 9, 5)]),
        ("beyond the end", [kafka.TopicPartition(topic, 0, 1000)]),
        ("logical", [kafka.TopicPartition(topic, 0, kafka.OFFSET_END)]),
    ):
        stage.attempt(label, lambda p=partitions: consumer.commit(offsets=p, asynchronous=False))
    stage.attempt(
        "committed",
        consumer.committed,
        [kafka.TopicPartition(unknown, 0), kafka.TopicPartition(topic, 9)],
        timeout=10,
    )


@on_both()
def asynchronous_commits_call_back(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.reader(topic, on_commit=stage.callback("on_commit"))
    message = stage.messages(consumer, 2)[0]
    stage.attempt("by default", consumer.commit)
    stage.poll_until(consumer, stage.recorded("on_commit", 1))
    stage.attempt("a message", lambda: consumer.commit(message=message, asynchronous=True))
    stage.poll_until(consumer, stage.recorded("on_commit", 2))
    offsets = [kafka.TopicPartition(topic, 0, 2, "m")]
    stage.attempt("offsets", lambda: consumer.commit(offsets=offsets))
    stage.poll_until(consumer, stage.recorded("on_commit", 3))
    stage.attempt("unknown", lambda: consumer.commit(offsets=[kafka.TopicPartition(topic, 9, 1)]))
    stage.poll_until(consumer, stage.recorded("on_commit", 4))


@on_both()
def synchronous_commits_do_not_call_back(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.reader(topic, on_commit=stage.callback("on_commit"))
    stage.values(consumer, 1)
    stage.attempt("commit", lambda: consumer.commit(asynchronous=False))
    stage.values(consumer, 1)
    stage.attempt("poll", consumer.poll, 0.1)


@on_both()
def an_exception_of_on_commit_leaves_poll(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    consumer = stage.reader(topic, on_commit=stage.callback("on_commit", raises=ValueError("mine")))
    stage.values(consumer, 1)
    consumer.commit()
    stage.within("poll", lambda: stage.until(stage.recorded("on_commit"), lambda: consumer.poll(0.1)))
    stage.attempt("afterwards", consumer.poll, 0)


@on_both()
def stored_offsets_are_what_is_committed(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c", "d")
    consumer = stage.reader(topic, enable_auto_offset_store=False)
    partition = kafka.TopicPartition(topic, 0)
    messages = stage.messages(consumer, 3)
    stage.attempt("nothing stored", lambda: consumer.commit(asynchronous=False))
    stage.attempt("store a message", lambda: consumer.store_offsets(message=messages[1]))
    stage.attempt("commit", lambda: consumer.commit(asynchronous=False))
    stage.attempt(
        "store offsets", lambda: consumer.store_offsets(offsets=[kafka.TopicPartition(topic, 0, 1, "m")])
    )
    stage.attempt("commit", lambda: consumer.commit(asynchronous=False))
    stage.attempt("committed", consumer.committed, [partition], timeout=WAIT)
    stage.attempt(
        "store for another", lambda: consumer.store_offsets(offsets=[kafka.TopicPartition(topic, 4, 1)])
    )
    stage.attempt(
        "one of two",
        lambda: consumer.store_offsets(
            offsets=[kafka.TopicPartition(topic, 0, 2), kafka.TopicPartition("unknown", 0, 1)]
        ),
    )
    stage.attempt("commit", lambda: consumer.commit(asynchronous=False))


@on_both()
def offsets_are_committed_by_themselves_on_closing(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    group = stage.group()
    consumer = stage.reader(
        topic,
        group_id=group,
        enable_auto_commit=True,
        auto_commit_interval_ms=600_000,
        on_commit=stage.callback("on_commit"),
    )
    stage.values(consumer, 2)
    stage.attempt("close", consumer.close)
    other = stage.consumer(group_id=group)
    stage.attempt("committed", other.committed, [kafka.TopicPartition(topic, 0)], timeout=WAIT)


@on_both()
def offsets_are_committed_by_themselves_now_and_then(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    commits: list[Any] = []
    consumer = stage.reader(
        topic,
        enable_auto_commit=True,
        auto_commit_interval_ms=100,
        on_commit=lambda error, partitions: commits.append([error, partitions]),
    )
    stage.values(consumer, 3)
    stage.poll_until(consumer, lambda: commits and commits[-1][1][0].offset == 3)
    stage.record("on_commit", commits[-1])
    stage.attempt("committed", consumer.committed, [kafka.TopicPartition(topic, 0)], timeout=WAIT)


@on_both()
def without_automatic_commits_closing_commits_nothing(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    group = stage.group()
    consumer = stage.reader(topic, group_id=group)
    stage.values(consumer, 2)
    stage.attempt("close", consumer.close)
    other = stage.consumer(group_id=group)
    stage.attempt("committed", other.committed, [kafka.TopicPartition(topic, 0)], timeout=WAIT)


@on_both()
def reading_goes_on_from_what_was_committed(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    group = stage.group()
    consumer = stage.reader(topic, group_id=group)
    message = stage.messages(consumer, 2)[1]
    consumer.commit(message=message, asynchronous=False)
    consumer.close()
    stage.values(stage.reader(topic, group_id=group, offset=kafka.OFFSET_STORED), 1)


@on_both()
def partitions_may_be_committed_without_being_assigned(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    consumer = stage.consumer()
    stage.attempt(
        "commit", lambda: consumer.commit(offsets=[kafka.TopicPartition(topic, 0, 2)], asynchronous=False)
    )
    partitions = [kafka.TopicPartition(topic, 0)]
    stage.attempt("committed", consumer.committed, partitions, timeout=WAIT)
    stage.record("the argument", partitions)
    stage.attempt("no partitions", consumer.committed, [], timeout=WAIT)


@on_both()
def leader_epochs_are_committed_along(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.consumer()
    offsets = [kafka.TopicPartition(topic, 0, 1, "m", 0)]
    stage.attempt("commit", lambda: consumer.commit(offsets=offsets, asynchronous=False))
    stage.attempt("committed", consumer.committed, [kafka.TopicPartition(topic, 0)], timeout=WAIT)


@on_both()
def metadata_longer_than_allowed_is_refused(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.consumer()
    offsets = [kafka.TopicPartition(topic, 0, 1, "m" * 5000)]
    try:
        consumer.commit(offsets=offsets, asynchronous=False)
    except kafka.KafkaException as error:
        stage.record("error", error.args[0])


@on_both()
def an_empty_note_is_not_none(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    partition = kafka.TopicPartition(topic, 0)
    consumer = stage.reader(topic, enable_auto_offset_store=False, on_commit=stage.callback("on_commit"))
    stage.values(consumer, 1)
    notes: list[tuple[str, ...]] = [("",), ("note",), (), ("ünï",)]
    for count, note in enumerate(notes):
        offsets = [kafka.TopicPartition(topic, 0, 1, *note)]
        stage.attempt(f"commit {note}", lambda o=offsets: consumer.commit(offsets=o, asynchronous=False))
        stage.attempt("committed", consumer.committed, [partition], timeout=WAIT)
        stage.within("commit", lambda o=offsets: consumer.commit(offsets=o))
        stage.poll_until(consumer, stage.recorded("on_commit", count + 1))
    for offset, note in enumerate(notes):
        consumer.store_offsets(offsets=[kafka.TopicPartition(topic, 0, offset + 1, *note)])
        stage.attempt(f"stored {note}", lambda: consumer.commit(asynchronous=False))
        stage.attempt("committed", consumer.committed, [partition], timeout=WAIT)
    stage.attempt("of the argument", consumer.committed, [kafka.TopicPartition(topic, 0, 9, "x", 4)])


@on_apache()
def notes_of_a_transaction_are_committed(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.reader(topic)
    producer = stage.producer(transactional_id=stage.name("transaction"))
    producer.init_transactions(WAIT)
    notes: list[tuple[str, ...]] = [("",), ("note",), ()]
    for note in notes:
        producer.begin_transaction()
        offsets = [kafka.TopicPartition(topic, 0, 1, *note)]
        metadata = consumer.consumer_group_metadata()
        stage.attempt("send", producer.send_offsets_to_transaction, offsets, metadata, WAIT)
        producer.commit_transaction(WAIT)
        stage.attempt(f"{note}", consumer.committed, [kafka.TopicPartition(topic, 0)], timeout=WAIT)


@on_both()
def an_admin_sees_and_alters_notes(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    group = stage.group()
    stage.consumer(group_id=group).commit(offsets=[kafka.TopicPartition(topic, 0, 1, "")], asynchronous=False)
    admin = stage.admin()

    def listed() -> Any:
        asked = [kafka.ConsumerGroupTopicPartitions(group)]
        return admin.list_consumer_group_offsets(asked)[group].result(WAIT).topic_partitions

    stage.attempt("listed", listed)
    notes: list[tuple[str, ...]] = [("note",), ("",), ()]
    for note in notes:
        wanted = kafka.ConsumerGroupTopicPartitions(group, [kafka.TopicPartition(topic, 0, 2, *note)])
        altered = admin.alter_consumer_group_offsets([wanted])[group].result(WAIT)
        stage.record(f"altered {note}", altered.topic_partitions)
        stage.attempt("listed", listed)
