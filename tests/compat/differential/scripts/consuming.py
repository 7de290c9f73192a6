"""Consumer with assigned partitions: reading, places, watermarks, times, and what it refuses."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_both, script
from tests.compat.differential.stage import FIRST_TIMESTAMP_MS, WAIT, Stage


@script()
def consumer_methods_refuse_other_types(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer()
    for name in (
        "assign",
        "incremental_assign",
        "incremental_unassign",
        "pause",
        "resume",
        "position",
        "committed",
        "offsets_for_times",
    ):
        method = getattr(consumer, name)
        for arguments in ((), (3,), ("t",), (None,), (["t"],), ([("t", 0)],), ([None],)):
            stage.attempt(f"{name}{arguments}", method, *arguments)
        stage.attempt(f"{name} of a tuple", method, (kafka.TopicPartition("t", 0),), **_short(name))
    for arguments in ((), (3,), ("t",), (None,), ([],)):
        stage.attempt(f"seek{arguments}", consumer.seek, *arguments)
        stage.attempt(f"watermarks{arguments}", consumer.get_watermark_offsets, *arguments)


def _short(name: str) -> dict[str, float]:
    return {"timeout": 0.05} if name in ("committed", "offsets_for_times") else {}


@script()
def subscribe_refuses_other_types(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer()
    cases: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        ((3,), {}),
        (("t",), {}),
        ((None,), {}),
        (([3],), {}),
        (([None],), {}),
        (([b"t"],), {}),
        ((("t",),), {}),
        (({"t"},), {}),
        (([""],), {}),
        (([],), {}),
        ((["t"],), {"on_assign": 3}),
        ((["t"],), {"on_revoke": "print"}),
        ((["t"],), {"on_lost": 3}),
        ((["t"],), {"on_assign": None}),
        ((["t"],), {"listener": None}),
        ((["^["],), {}),
        ((["t", "t"],), {}),
    ]
    for arguments, keywords in cases:
        stage.attempt(f"{arguments} {keywords}", consumer.subscribe, *arguments, **keywords)


@script()
def poll_and_consume_take_numbers(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer()
    consumer.assign([])
    for arguments, keywords in (
        ((0,), {}),
        ((0.01,), {}),
        ((), {"timeout": 0}),
        (("1",), {}),
        ((None,), {}),
        ((0, 0), {}),
        ((), {"nonsense": 0}),
    ):
        stage.attempt(f"poll{arguments}{keywords}", consumer.poll, *arguments, **keywords)
    for arguments, keywords in (
        ((1, 0), {}),
        ((0, 0), {}),
        ((-1, 0), {}),
        ((1_000_001, 0), {}),
        ((1_000_000, 0), {}),
        ((), {"num_messages": 5, "timeout": 0.01}),
        (("1", 0), {}),
        ((1, "0"), {}),
        ((1.5, 0), {}),
        ((None, 0), {}),
        ((1, 0, 0), {}),
    ):
        stage.attempt(f"consume{arguments}{keywords}", consumer.consume, *arguments, **keywords)


@script()
def a_consumer_without_assignment_has_nothing(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer()
    partition = kafka.TopicPartition("t", 0)
    stage.attempt("assignment", consumer.assignment)
    stage.attempt("position", consumer.position, [partition])
    stage.attempt("seek", consumer.seek, kafka.TopicPartition("t", 0, 5))
    stage.attempt("pause", consumer.pause, [partition])
    stage.attempt("resume", consumer.resume, [partition])
    stage.attempt("store", lambda: consumer.store_offsets(offsets=[kafka.TopicPartition("t", 0, 5)]))
    stage.attempt("unassign", consumer.unassign)
    stage.attempt("unsubscribe", consumer.unsubscribe)
    stage.attempt("memberid", consumer.memberid)
    stage.attempt("cached", lambda: consumer.get_watermark_offsets(partition, cached=True))
    stage.attempt("poll", consumer.poll, 0)
    stage.attempt("consume", consumer.consume, 5, 0)
    stage.attempt("commit", lambda: consumer.commit(asynchronous=False))


@script()
def a_closed_consumer_refuses_everything(kafka: ModuleType, stage: Stage) -> None:
    consumer = kafka.Consumer({"group.id": "g", "log_level": 0})
    stage.attempt("close", consumer.close)
    stage.attempt("close again", consumer.close)
    partition = kafka.TopicPartition("t", 0, 0)
    for label, call in (
        ("poll", lambda: consumer.poll(0)),
        ("consume", lambda: consumer.consume(1, 0)),
        ("subscribe", lambda: consumer.subscribe(["t"])),
        ("unsubscribe", lambda: consumer.unsubscribe()),
        ("assign", lambda: consumer.assign([partition])),
        ("unassign", lambda: consumer.unassign()),
        ("incremental_assign", lambda: consumer.incremental_assign([partition])),
        ("incremental_unassign", lambda: consumer.incremental_unassign([partition])),
        ("assignment", lambda: consumer.assignment()),
        ("position", lambda: consumer.position([partition])),
        ("committed", lambda: consumer.committed([partition], timeout=0.1)),
        ("commit", lambda: consumer.commit()),
        ("store_offsets", lambda: consumer.store_offsets(offsets=[partition])),
        ("seek", lambda: consumer.seek(partition)),
        ("pause", lambda: consumer.pause([partition])),
        ("resume", lambda: consumer.resume([partition])),
        ("watermarks", lambda: consumer.get_watermark_offsets(partition, timeout=0.1)),
        ("times", lambda: consumer.offsets_for_times([partition], timeout=0.1)),
        ("list_topics", lambda: consumer.list_topics(timeout=0.1)),
        ("cluster_id", lambda: consumer.cluster_id(timeout=0.1)),
        ("memberid", lambda: consumer.memberid()),
        ("group metadata", lambda: consumer.consumer_group_metadata()),
        ("credentials", lambda: consumer.set_sasl_credentials("u", "p")),
        ("enter", lambda: consumer.__enter__() is consumer),
        ("exit", lambda: consumer.__exit__(None, None, None)),
    ):
        stage.attempt(label, call)


@script()
def a_consumer_is_a_context_manager(kafka: ModuleType, stage: Stage) -> None:
    with kafka.Consumer({"group.id": "g", "log_level": 0}) as consumer:
        stage.attempt("inside", consumer.poll, 0)
    stage.attempt("afterwards", consumer.poll, 0)

    def fail() -> None:
        with kafka.Consumer({"group.id": "g", "log_level": 0}):
            raise ValueError("inside")

    stage.attempt("raised inside", fail)


@script()
def requests_that_nobody_answers_time_out(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer()
    partition = kafka.TopicPartition("t", 0, 5)
    stage.attempt("committed", consumer.committed, [partition], timeout=0.1)
    stage.attempt("watermarks", consumer.get_watermark_offsets, partition, timeout=0.1)
    stage.attempt("times", consumer.offsets_for_times, [partition], timeout=0.1)
    stage.attempt("list_topics", consumer.list_topics, timeout=0.1)
    stage.attempt("none of them", consumer.committed, [], timeout=0.1)
    stage.attempt("times of none", consumer.offsets_for_times, [], timeout=0.1)


@on_both()
def assigned_partitions_are_read_from_where_they_say(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c", "d")
    for offset in (0, 2, kafka.OFFSET_BEGINNING, kafka.OFFSET_INVALID, kafka.OFFSET_STORED, -2002):
        consumer = stage.reader(topic, offset=offset)
        message = stage.messages(consumer, 1)[0]
        stage.record(f"from {offset}", message)


@on_both()
def assigned_to_the_end_only_what_comes_is_read(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.reader(topic, offset=kafka.OFFSET_END, enable_partition_eof=True)
    stage.values(consumer, 1)
    stage.fill(topic, "c")
    stage.values(consumer, 2)


@on_both()
def a_message_tells_everything_about_its_record(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    stage.fill_records(
        topic,
        (b"key", b"value", [("a", b"1"), ("b", None), ("a", b"")]),
        (None, None, None),
        (b"", b"", []),
    )
    for message in stage.messages(stage.reader(topic), 3):
        stage.record("message", message)
        stage.record("repr", repr(message))
        stage.attempt("set_value", message.set_value, "changed")
        stage.attempt("value", message.value)
        stage.attempt("set_key", message.set_key, ["changed"])
        stage.attempt("key", message.key)
        stage.attempt("set_headers", message.set_headers, [("n", b"")])
        stage.attempt("headers", message.headers)
        stage.attempt("raw", message.deserialized_value)


@on_both()
def the_end_of_a_partition_is_told_each_time_it_is_reached(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.reader(topic, enable_partition_eof=True)
    for message in stage.messages(consumer, 3):
        stage.record("message", message)
        stage.attempt("str", lambda m=message: m.error() and str(m.error()))
    stage.attempt("nothing more", consumer.poll, 0.3)
    stage.fill(topic, "c")
    for message in stage.messages(consumer, 2):
        stage.record("message", message)


@on_both()
def empty_partitions_end_at_once(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=3)
    consumer = stage.consumer(enable_partition_eof=True)
    consumer.assign([kafka.TopicPartition(topic, partition) for partition in range(3)])
    ends = stage.messages(consumer, 3)
    stage.record("ends", sorted((end.partition(), end.offset(), end.error().code()) for end in ends))


@on_both()
def consume_gives_lists(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic(*(f"{index}" for index in range(10)))
    consumer = stage.reader(topic, enable_partition_eof=True)
    first = consumer.consume(3, 40)
    stage.record("three", [message.value() for message in first])
    rest: list[Any] = []
    stage.until(lambda: len(rest) >= 8, lambda: rest.extend(consumer.consume(100, 0.3)))
    stage.record("rest", [message.value() for message in rest])
    stage.record("errors", [message.error() for message in rest])
    stage.attempt("nothing", consumer.consume, 5, 0.1)
    stage.attempt("default", lambda: consumer.consume(timeout=0.05))
    stage.record("type", type(first))


@on_both()
def seeking_moves_the_next_poll(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c", "d")
    consumer = stage.reader(topic)
    stage.values(consumer, 2)
    for offset in (3, 0, kafka.OFFSET_BEGINNING):
        stage.attempt(f"seek {offset}", consumer.seek, kafka.TopicPartition(topic, 0, offset))
        stage.values(consumer, 1)
    stage.attempt("unassigned", consumer.seek, kafka.TopicPartition(topic, 1, 0))
    stage.attempt("unknown", consumer.seek, kafka.TopicPartition("unknown", 0, 0))
    stage.attempt("no offset", consumer.seek, kafka.TopicPartition(topic, 0))
    stage.attempt("below zero", consumer.seek, kafka.TopicPartition(topic, 0, -5))
    stage.attempt("no partition", consumer.seek, kafka.TopicPartition(topic))


@on_both()
def positions_follow_what_was_polled(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c", partitions=2)
    consumer = stage.consumer()
    consumer.assign([kafka.TopicPartition(topic, 0, 0), kafka.TopicPartition(topic, 1, 0)])
    both = [kafka.TopicPartition(topic, 0), kafka.TopicPartition(topic, 1)]
    stage.attempt("before", consumer.position, both)
    stage.values(consumer, 2)
    stage.attempt("after two", consumer.position, both)
    consumer.seek(kafka.TopicPartition(topic, 0, 0))
    stage.attempt("after a seek", consumer.position, both)
    stage.values(consumer, 1)
    stage.attempt("after the next", consumer.position, both)
    stage.attempt(
        "unassigned", consumer.position, [kafka.TopicPartition(topic, 5), kafka.TopicPartition("u", 0)]
    )
    stage.record("the argument", both)
    stage.attempt("none", consumer.position, [])


@on_both()
def paused_partitions_give_nothing_until_resumed(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    stage.fill(topic, "a0", "a1", partition=0)
    stage.fill(topic, "b0", "b1", partition=1)
    first, second = kafka.TopicPartition(topic, 0, 0), kafka.TopicPartition(topic, 1, 0)
    consumer = stage.consumer()
    consumer.assign([first, second])
    stage.attempt("pause", consumer.pause, [first])
    stage.values(consumer, 2)
    stage.attempt("nothing", consumer.poll, 0.3)
    stage.attempt("position", consumer.position, [first])
    stage.attempt("resume", consumer.resume, [first])
    stage.values(consumer, 2)
    stage.attempt("pause twice", lambda: [consumer.pause([first]), consumer.pause([first])])
    stage.attempt("resume what is not paused", consumer.resume, [second])
    partitions = [kafka.TopicPartition("unknown", 3)]
    stage.attempt("pause unassigned", consumer.pause, partitions)
    stage.record("the argument", partitions)
    stage.attempt("assignment", lambda: sorted(consumer.assignment()))


@on_both()
def watermarks_are_asked_for_or_remembered(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    partition = kafka.TopicPartition(topic, 0)
    consumer = stage.reader(topic, enable_partition_eof=True)
    stage.attempt("asked", consumer.get_watermark_offsets, partition, timeout=WAIT)
    stage.values(consumer, 4)
    stage.attempt("remembered", lambda: consumer.get_watermark_offsets(partition, cached=True))
    other = stage.consumer()
    stage.attempt("nothing remembered", lambda: other.get_watermark_offsets(partition, cached=True))
    stage.attempt("asked by another", lambda: other.get_watermark_offsets(partition, 10))
    for wrong in (kafka.TopicPartition(topic, 9), kafka.TopicPartition(stage.name("unknown"), 0)):
        stage.attempt("unknown", lambda wrong=wrong: other.get_watermark_offsets(wrong, timeout=WAIT))
    stage.attempt(
        "no partition", lambda: other.get_watermark_offsets(kafka.TopicPartition(topic), timeout=WAIT)
    )
    stage.attempt("positional", lambda: other.get_watermark_offsets(partition, 5, False))


@on_both()
def offsets_are_found_by_time(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c", partitions=2)
    consumer = stage.consumer()
    for label, timestamp in (
        ("first", FIRST_TIMESTAMP_MS),
        ("between", FIRST_TIMESTAMP_MS + 1),
        ("before", 1),
        ("after", FIRST_TIMESTAMP_MS + 1000),
        ("end", kafka.OFFSET_END),
        ("beginning", kafka.OFFSET_BEGINNING),
    ):
        partitions = [kafka.TopicPartition(topic, 0, timestamp), kafka.TopicPartition(topic, 1, timestamp)]
        stage.attempt(label, consumer.offsets_for_times, partitions, timeout=WAIT)
        stage.record("the argument", partitions)
    unknown = [kafka.TopicPartition(topic, 9, 1), kafka.TopicPartition(stage.name("unknown"), 0, 1)]
    stage.attempt("unknown", consumer.offsets_for_times, unknown, timeout=WAIT)


@on_both()
def offsets_out_of_range_start_where_the_setting_says(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    for reset in ("earliest", "latest", "error"):
        consumer = stage.reader(topic, offset=77, auto_offset_reset=reset, enable_partition_eof=True)
        for message in stage.messages(consumer, 1):
            stage.record(reset, message)


@on_both()
def without_a_committed_offset_an_error_may_be_wanted(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    consumer = stage.reader(topic, offset=kafka.OFFSET_STORED, auto_offset_reset="error")
    for message in stage.messages(consumer, 1):
        stage.record("message", message)
    consumer = stage.reader(
        topic, offset=kafka.OFFSET_STORED, auto_offset_reset="latest", enable_partition_eof=True
    )
    for message in stage.messages(consumer, 1):
        stage.record("latest", message)


@on_both()
def partitions_that_do_not_exist_are_waited_for(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    consumer = stage.reader(topic, partition=7)
    stage.attempt("poll", consumer.poll, 0.5)
    stage.attempt("assignment", consumer.assignment)
    stage.attempt("position", consumer.position, [kafka.TopicPartition(topic, 7)])
    stage.attempt("commit", lambda: consumer.commit(asynchronous=False))


@on_both()
def assignments_replace_each_other(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=3)
    stage.fill(topic, "a", partition=0)
    stage.fill(topic, "b", partition=1)
    consumer = stage.consumer()
    for partitions in ([0], [1, 2], [], [0, 1, 2]):
        stage.attempt(
            f"assign {partitions}", consumer.assign, [kafka.TopicPartition(topic, p, 0) for p in partitions]
        )
        stage.attempt("assignment", lambda: sorted(consumer.assignment()))
    values = sorted(message.value() for message in stage.messages(consumer, 2))
    stage.record("values", values)
    stage.attempt("unassign", consumer.unassign)
    stage.attempt("assignment", consumer.assignment)
    stage.attempt("poll", consumer.poll, 0.1)
    twice = [kafka.TopicPartition(topic, 0, 0), kafka.TopicPartition(topic, 0, 0)]
    stage.attempt("twice the same", consumer.assign, twice)
    stage.attempt("assignment", consumer.assignment)


@on_both()
def assignments_grow_and_shrink(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=3)
    stage.fill(topic, "a", partition=0)
    stage.fill(topic, "b", partition=1)
    consumer = stage.consumer()
    one, two = kafka.TopicPartition(topic, 0, 0), kafka.TopicPartition(topic, 1, 0)
    stage.attempt("add", consumer.incremental_assign, [one])
    stage.values(consumer, 1)
    stage.attempt("add another", consumer.incremental_assign, [two])
    stage.values(consumer, 1)
    stage.attempt("assignment", lambda: sorted(consumer.assignment()))
    stage.attempt("add again", consumer.incremental_assign, [two])
    stage.attempt("remove", consumer.incremental_unassign, [one])
    stage.attempt("remove again", consumer.incremental_unassign, [one])
    stage.attempt("remove unknown", consumer.incremental_unassign, [kafka.TopicPartition("unknown", 0)])
    stage.attempt("assignment", lambda: sorted(consumer.assignment()))
    stage.attempt("nothing", consumer.incremental_assign, [])
    stage.attempt("remove nothing", consumer.incremental_unassign, [])


@on_both()
def messages_may_be_longer_than_a_fetch(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic(b"x" * 5000, b"y" * 5000)
    consumer = stage.reader(topic, fetch_message_max_bytes=1000)
    stage.record("lengths", [len(message) for message in stage.messages(consumer, 2)])


@on_both()
def records_are_checked_if_wanted(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    stage.values(stage.reader(topic, check_crcs=True), 2)


@on_both()
def reading_goes_on_where_records_were_deleted(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    admin = stage.admin()
    admin.delete_records([kafka.TopicPartition(topic, 0, 2)])[kafka.TopicPartition(topic, 0)].result(10)
    consumer = stage.reader(topic, offset=0)
    for message in stage.messages(consumer, 1):
        stage.record("message", message)
    stage.attempt("watermarks", consumer.get_watermark_offsets, kafka.TopicPartition(topic, 0), timeout=WAIT)


@on_both()
def a_consumer_lists_metadata(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    consumer = stage.consumer()
    metadata = consumer.list_topics(topic, timeout=WAIT)
    stage.record("topics", metadata.topics)
    stage.record("brokers", metadata.brokers)
    stage.call(metadata.cluster_id, "<cluster>")
    stage.attempt("cluster id", consumer.cluster_id, timeout=WAIT)
    unknown = consumer.list_topics(stage.name("unknown"), timeout=WAIT)
    stage.record("unknown", unknown.topics)
    stage.record("bad name", consumer.list_topics("bad name", timeout=WAIT).topics)


@script()
def seeking_waits_for_what_the_group_committed(kafka: ModuleType, stage: Stage) -> None:
    # Without a broker nobody ever says what that is.
    partition, there = kafka.TopicPartition("t", 0), kafka.TopicPartition("t", 0, 2)
    for offset in (kafka.OFFSET_INVALID, kafka.OFFSET_STORED):
        for method in ("assign", "incremental_assign"):
            consumer = stage.consumer()
            getattr(consumer, method)([kafka.TopicPartition("t", 0, offset)])
            for where in (2, kafka.OFFSET_END, kafka.OFFSET_STORED, kafka.OFFSET_INVALID):
                stage.attempt(
                    f"{offset} {method}, {where}", consumer.seek, kafka.TopicPartition("t", 0, where)
                )
            stage.attempt("poll", consumer.poll, 0)
            stage.attempt("polled", consumer.seek, there)
            consumer.pause([partition])
            stage.attempt("paused", consumer.seek, there)
            consumer.resume([partition])
            stage.attempt("resumed", consumer.seek, there)
            stage.attempt("position", consumer.position, [partition])
            consumer.assign([kafka.TopicPartition("t", 0, 1)])
            stage.attempt("assigned with an offset", consumer.seek, there)
            stage.attempt("stored", consumer.seek, kafka.TopicPartition("t", 0, kafka.OFFSET_STORED))
            consumer.unassign()
            stage.attempt("unassigned", consumer.seek, there)
            stage.attempt("stored", consumer.seek, kafka.TopicPartition("t", 0, kafka.OFFSET_STORED))


@on_both()
def what_is_assigned_with_an_offset_may_be_sought_at_once(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c", "d")
    partition, there = kafka.TopicPartition(topic, 0), kafka.TopicPartition(topic, 0, 2)
    for offset in (0, 1, kafka.OFFSET_BEGINNING, kafka.OFFSET_END):
        for method in ("assign", "incremental_assign"):
            consumer = stage.consumer()
            getattr(consumer, method)([kafka.TopicPartition(topic, 0, offset)])
            stage.attempt(f"{method} {offset}", consumer.seek, there)
            stage.values(consumer, 1)
    consumer = stage.reader(topic)
    consumer.pause([partition])
    stage.attempt("paused", consumer.seek, there)
    consumer.resume([partition])
    stage.values(consumer, 1)
    consumer.unassign()
    stage.attempt("unassigned", consumer.seek, there)


@on_both()
def partitions_that_a_group_gave_are_sought_once_they_are_assigned(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    where = kafka.TopicPartition(topic, 0, 1)
    for strategy, method in (("range", "assign"), ("cooperative-sticky", "incremental_assign")):

        def take(consumer: Any, partitions: list[Any], method: str = method) -> None:
            stage.attempt("seek before", consumer.seek, where)
            # With the group's own offset it is for chance to say whether that is there soon enough.
            for partition in partitions:
                partition.offset = 0
            stage.attempt(method, getattr(consumer, method), partitions)
            stage.attempt("seek after", consumer.seek, where)

        consumer = stage.consumer(partition_assignment_strategy=strategy)
        consumer.subscribe([topic], on_assign=take)
        stage.attempt("seek at first", consumer.seek, where)
        stage.values(consumer, 1)
        stage.attempt("seek", consumer.seek, kafka.TopicPartition(topic, 0, 2))
        stage.values(consumer, 1)


@on_both()
def assignments_and_positions_keep_what_was_noted(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    consumer = stage.consumer()
    for arguments in ((topic, 0, 2, "note", 0), (topic, 0, kafka.OFFSET_END, "", 3), (topic, 0, 1)):
        stage.attempt("assign", consumer.assign, [kafka.TopicPartition(*arguments)])
        stage.attempt("assignment", consumer.assignment)
    stage.values(consumer, 1)
    asked = [kafka.TopicPartition(topic, 0, 9, "asked", 5), kafka.TopicPartition("unknown", 0, 9, "", 5)]
    stage.attempt("position", consumer.position, asked)
    stage.record("the argument", asked)
    stage.attempt("unassign", consumer.unassign)
    stage.attempt("add", consumer.incremental_assign, [kafka.TopicPartition(topic, 0, 1, "added", 0)])
    stage.attempt("assignment", consumer.assignment)


@script()
def nothing_is_taken_from_an_empty_assignment(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer()
    one, two = kafka.TopicPartition("t", 0, 0), kafka.TopicPartition("t", 1, 0)
    stage.attempt("empty", consumer.incremental_unassign, [one])
    stage.attempt("nothing", consumer.incremental_unassign, [])
    consumer.assign([one])
    stage.attempt("one of two", consumer.incremental_unassign, [one, two])
    stage.attempt("assignment", consumer.assignment)
    stage.attempt("add twice", consumer.incremental_assign, [two, two])
    stage.attempt("add again", consumer.incremental_assign, [two, one])
    stage.attempt("assignment", consumer.assignment)
    stage.attempt("remove", consumer.incremental_unassign, [one])
    stage.attempt("empty again", consumer.incremental_unassign, [one])
