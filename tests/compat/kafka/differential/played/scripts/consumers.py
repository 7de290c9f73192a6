"""KafkaConsumer: what is read, where it goes on, and how it ends."""

import collections
import pickle

from tests.compat.kafka.differential.played.script import on_kafka, script

VALUES = (b"a", b"b", b"c", b"d", b"e")


@on_kafka()
def records_are_named_tuples(kafka, stage):
    topic = stage.filled_topic((b"key", b"value", None))
    [record] = stage.poll(stage.reader(topic), 1)
    stage.record("itself", record)
    stage.record("fields", list(record._fields))
    stage.record("class", type(record))
    stage.record("is a tuple", isinstance(record, tuple))
    stage.record("equal", record == tuple(record))
    stage.record("indexed", (record[0], record[1]))
    stage.record("replaced", record._replace(value=b"other").value)
    stage.record("pickled", pickle.loads(pickle.dumps(record)) == record)
    stage.record("as a dict", sorted(record._asdict()))


@on_kafka("2", "3")
def records_have_headers_and_sizes(kafka, stage):
    topic = stage.filled_topic(
        (b"key", b"value", [("one", b"1"), ("none", None), ("one", b"2")]), (None, None, []), (b"", b"", None)
    )
    for record in stage.poll(stage.reader(topic), 3):
        stage.record("headers", record.headers)
        stage.record("key and value", (record.key, record.value))
        sizes = (record.serialized_key_size, record.serialized_value_size, record.serialized_header_size)
        stage.record("sizes", sizes)
        stage.record("checksum", record.checksum)
        stage.record("leader epoch", record.leader_epoch)


@on_kafka()
def iteration_ends_after_the_timeout_and_goes_on_later(kafka, stage):
    topic = stage.filled_topic(b"a", b"b")
    consumer = stage.reader(topic, consumer_timeout_ms=1500)
    stage.record("first", [record.value for record in consumer])
    stage.fill(topic, b"c")
    stage.record("second", [record.value for record in consumer])
    stage.record("position", consumer.position(stage.partition(topic)))
    stage.record("its own iterator", iter(consumer) is consumer)


@on_kafka()
def one_record_at_a_time_is_next(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(topic, consumer_timeout_ms=5000)
    stage.record("first", next(consumer).value)
    stage.record("position after one", consumer.position(stage.partition(topic)))
    stage.record("second", next(consumer).value)
    consumer.seek(stage.partition(topic), 4)
    stage.record("after a seek", next(consumer).value)


@on_kafka("2", "3")
def poll_gives_no_more_than_asked_for(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(topic)
    stage.until(lambda: consumer.poll(timeout_ms=200, max_records=1))
    stage.record("position", consumer.position(stage.partition(topic)))
    found = consumer.poll(timeout_ms=5000, max_records=2)
    stage.record("two", {partition: [r.value for r in records] for partition, records in found.items()})
    stage.record("the rest", [r.value for r in stage.poll(consumer, 2)])


@on_kafka("2", "3")
def poll_refuses_what_cannot_be(kafka, stage):
    consumer = stage.reader(stage.topic())
    stage.attempt("negative", consumer.poll, timeout_ms=-1)
    stage.attempt("no number", consumer.poll, max_records="many")
    stage.attempt("none at all", consumer.poll, max_records=0)
    stage.attempt("nothing there", consumer.poll, timeout_ms=10)


@on_kafka("1.2")
def poll_and_iteration_do_not_mix(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(topic, consumer_timeout_ms=5000)
    stage.attempt("negative", consumer.poll, timeout_ms=-1)
    stage.record("first", next(consumer).value)
    stage.attempt("poll", consumer.poll)


@on_kafka("1.2")
def iteration_wants_a_subscription(kafka, stage):
    consumer = stage.consumer(consumer_timeout_ms=100)
    stage.attempt("next", next, consumer)


@on_kafka("2", "3")
def poll_may_leave_the_position_where_it_is(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(topic)
    stage.until(lambda: consumer.poll(timeout_ms=200, max_records=1))
    found = []
    stage.until(
        lambda: found, lambda: found.extend(consumer.poll(timeout_ms=500, update_offsets=False).values())
    )
    stage.record("given", [record.value for record in found[0]])
    stage.record("position", consumer.position(stage.partition(topic)))


@on_kafka()
def positions_begin_where_the_reset_says(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    partition = stage.partition(topic)
    for reset in ("earliest", "latest", "smallest", "largest"):
        consumer = stage.reader(topic, auto_offset_reset=reset)
        stage.record(reset, consumer.position(partition))
        stage.record("set to", consumer.config["auto_offset_reset"])
        consumer.close()


@on_kafka()
def positions_of_what_is_not_assigned_are_refused(kafka, stage):
    topic = stage.topic(2)
    consumer = stage.reader(topic, 0)
    stage.attempt("unassigned", consumer.position, stage.partition(topic, 1))
    stage.attempt("a tuple", consumer.position, (topic, 0))
    stage.attempt("highwater unassigned", consumer.highwater, stage.partition(topic, 1))
    stage.attempt("highwater of a tuple", consumer.highwater, (topic, 0))


@on_kafka()
def seeks_go_where_they_say(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    partition = stage.partition(topic)
    consumer = stage.reader(topic)
    stage.attempt("seek", consumer.seek, partition, 3)
    stage.record("position", consumer.position(partition))
    stage.values(consumer, 2)
    stage.attempt("to the beginning", consumer.seek_to_beginning, partition)
    stage.record("position at the beginning", consumer.position(partition))
    stage.values(consumer, 5)
    stage.attempt("to the beginning of all", consumer.seek_to_beginning)
    stage.attempt("to the end", consumer.seek_to_end)
    stage.record("position at the end", consumer.position(partition))


@on_kafka()
def seeks_that_cannot_be_are_refused(kafka, stage):
    topic = stage.topic(2)
    consumer = stage.reader(topic, 0)
    stage.attempt("negative", consumer.seek, stage.partition(topic), -1)
    stage.attempt("no number", consumer.seek, stage.partition(topic), "1")
    stage.attempt("unassigned", consumer.seek, stage.partition(topic, 1), 0)
    stage.attempt("a tuple", consumer.seek, (topic, 0), 0)
    stage.attempt(
        "to the beginning of what is unassigned", consumer.seek_to_beginning, stage.partition(topic, 1)
    )
    stage.attempt("to the beginning of a tuple", consumer.seek_to_beginning, (topic, 0))
    stage.attempt("to the end of what is unassigned", consumer.seek_to_end, stage.partition(topic, 1))
    free = stage.consumer()
    stage.attempt("to the beginning of nothing", free.seek_to_beginning)
    stage.attempt("to the end of nothing", free.seek_to_end)


@on_kafka()
def paused_partitions_give_nothing(kafka, stage):
    topic = stage.topic(2)
    stage.fill(topic, b"of 0")
    stage.fill(topic, b"of 1", partition=1)
    consumer = stage.reader(topic, 0, 1)
    stage.attempt("pause", consumer.pause, stage.partition(topic, 0))
    stage.record("paused", consumer.paused())
    stage.values(consumer, 1)
    stage.attempt("resume", consumer.resume, stage.partition(topic, 0))
    stage.record("paused after", consumer.paused())
    stage.values(consumer, 1)
    stage.attempt("pause a tuple", consumer.pause, (topic, 0))
    stage.attempt("resume a tuple", consumer.resume, (topic, 0))
    stage.attempt("pause what is unassigned", consumer.pause, stage.partition(topic, 7))


@on_kafka()
def assignments_are_as_they_were_given(kafka, stage):
    topic = stage.topic(3)
    consumer = stage.consumer()
    stage.record("before", consumer.assignment())
    stage.attempt("assign", consumer.assign, [stage.partition(topic, 0), stage.partition(topic, 2)])
    stage.record("assigned", consumer.assignment())
    stage.record("subscription", consumer.subscription())
    stage.attempt("assign another", consumer.assign, [stage.partition(topic, 1)])
    stage.record("assigned then", consumer.assignment())
    stage.attempt("subscribe", consumer.subscribe, [topic])
    stage.attempt("unsubscribe", consumer.unsubscribe)
    stage.record("after", consumer.assignment())
    stage.attempt("subscribe now", consumer.subscribe, [topic])
    stage.record("subscribed to", consumer.subscription())
    stage.attempt("assign now", consumer.assign, [stage.partition(topic, 1)])


@on_kafka()
def subscriptions_that_cannot_be_are_refused(kafka, stage):
    consumer = stage.consumer()
    stage.attempt("nothing", consumer.subscribe)
    stage.attempt("both", consumer.subscribe, ["t"], "t.*")
    stage.attempt("no listener", consumer.subscribe, ["t"], listener=object())
    stage.record("subscription", consumer.subscription())


@on_kafka("2", "3")
def subscriptions_check_names_of_topics(kafka, stage):
    consumer = stage.consumer()
    stage.attempt("a str", consumer.subscribe, "topic")
    for name in ("", ".", "..", "with space", "x" * 250, None, 5):
        stage.attempt(f"name {name!r:.20}", consumer.subscribe, [name])


@on_kafka()
def committed_offsets_are_found_again(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    partition, group = stage.partition(topic), stage.group()
    structs = stage.module("structs")
    consumer = stage.reader(topic, group_id=group)
    stage.record("before", consumer.committed(partition))
    stage.poll(consumer, 5)
    stage.attempt("commit", consumer.commit)
    stage.record("committed", consumer.committed(partition))
    args = (2, "note") if stage.generation == "1.2" else (2, "note", -1)
    stage.attempt("commit named", consumer.commit, {partition: structs.OffsetAndMetadata(*args)})
    stage.record("committed then", consumer.committed(partition))
    again = stage.reader(topic, group_id=group)
    stage.values(again, 3)
    stage.record("position", again.position(partition))


@on_kafka("2", "3")
def committed_offsets_have_metadata(kafka, stage):
    topic = stage.topic()
    partition = stage.partition(topic)
    consumer = stage.reader(topic, group_id=stage.group())
    offset = stage.module("structs").OffsetAndMetadata(2, "note", 0)
    consumer.commit({partition: offset})
    stage.record("committed", consumer.committed(partition, metadata=True))
    stage.record("another", consumer.committed(stage.partition(topic, 5), metadata=True))


@on_kafka()
def commits_that_cannot_be_are_refused(kafka, stage):
    topic = stage.topic()
    partition = stage.partition(topic)
    consumer = stage.reader(topic, group_id=stage.group())
    stage.attempt("keys", consumer.commit, {(topic, 0): 1})
    stage.attempt("values", consumer.commit, {partition: 1})
    stage.attempt("committed of a tuple", consumer.committed, (topic, 0))
    stage.attempt("nothing", consumer.commit, {})
    consumer.seek(partition, 0)
    consumer.commit()
    stage.attempt("values, asynchronously", consumer.commit_async, {partition: 1})
    free = stage.reader(topic, group_id=None)
    stage.attempt("without a group", free.commit)
    stage.attempt("asynchronously without a group", free.commit_async)
    stage.attempt("committed without a group", free.committed, partition)


@on_kafka()
def asynchronous_commits_call_back(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(topic, group_id=stage.group())
    stage.poll(consumer, 5)
    # A commit finds the coordinator first.
    consumer.commit()
    future = consumer.commit_async(callback=stage.callback("committed"))
    stage.until(
        lambda: future.is_done and stage.recorded("committed")(), lambda: consumer.poll(timeout_ms=50)
    )
    stage.record("future", future)
    stage.record("stored", consumer.committed(stage.partition(topic)))


@on_kafka()
def the_default_callback_hears_of_commits_without_one(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(
        topic, group_id=stage.group(), default_offset_commit_callback=stage.callback("default")
    )
    stage.poll(consumer, 5)
    consumer.commit()
    consumer.commit_async()
    stage.until(stage.recorded("default"), lambda: consumer.poll(timeout_ms=50))


@on_kafka()
def offsets_are_committed_when_a_consumer_closes(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    group = stage.group()
    consumer = stage.consumer(topic, group_id=group, enable_auto_commit=True)
    stage.poll(consumer, 5)
    stage.attempt("close", consumer.close)
    again = stage.reader(topic, group_id=group)
    stage.record("committed", again.committed(stage.partition(topic)))


@on_kafka("2", "3")
def closing_need_not_commit(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    group = stage.group()
    consumer = stage.consumer(topic, group_id=group, enable_auto_commit=True)
    stage.poll(consumer, 5)
    stage.attempt("close", consumer.close, autocommit=False)
    again = stage.reader(topic, group_id=group)
    stage.record("committed", again.committed(stage.partition(topic)))


@on_kafka("3")
def a_context_closes_and_does_not_commit_after_an_error(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    group = stage.group()

    def work(fails):
        with stage.consumer(topic, group_id=group, enable_auto_commit=True) as consumer:
            stage.poll(consumer, 5)
            if fails:
                raise ValueError("of the program")

    stage.attempt("with an error", work, True)
    reader = stage.reader(topic, group_id=group)
    stage.record("committed", reader.committed(stage.partition(topic)))
    stage.attempt("without", work, False)
    stage.record("committed then", reader.committed(stage.partition(topic)))


@on_kafka()
def closed_consumers_end_and_refuse(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(topic, consumer_timeout_ms=1000)
    stage.poll(consumer, 5)
    stage.attempt("close", consumer.close)
    stage.attempt("close again", consumer.close)
    if stage.generation != "1.2":
        stage.attempt("poll", consumer.poll)
        stage.attempt("next", next, consumer)


@on_kafka()
def groups_divide_topics_and_tell_listeners(kafka, stage):
    topic = stage.filled_topic(b"a", partitions=2)
    base = stage.module("consumer.subscription_state").ConsumerRebalanceListener

    told = []

    class Listener(base):
        def on_partitions_revoked(self, revoked):
            told.append(("revoked", set(revoked)))

        def on_partitions_assigned(self, assigned):
            told.append(("assigned", set(assigned)))

    consumer = stage.consumer(group_id=stage.group())
    consumer.subscribe([topic], listener=Listener())
    stage.join(consumer, 2)
    # What the group gave before the topic was known is a matter of time.
    stage.record("told first", told[0])
    stage.record("told last", told[-1])
    del told[:]
    stage.attempt("unsubscribe", consumer.unsubscribe)
    stage.record("assigned then", consumer.assignment())
    stage.record("told then", told)


@on_kafka()
def listeners_hear_of_what_closing_gives_up(kafka, stage):
    topic = stage.filled_topic(b"a", partitions=2)
    base = stage.module("consumer.subscription_state").ConsumerRebalanceListener
    told = []

    class Listener(base):
        def on_partitions_revoked(self, revoked):
            told.append(set(revoked))

        def on_partitions_assigned(self, assigned):
            pass

    consumer = stage.consumer(group_id=stage.group())
    consumer.subscribe([topic], listener=Listener())
    stage.join(consumer, 2)
    del told[:]
    consumer.close()
    stage.record("told", told)


@on_kafka()
def what_listeners_raise_is_logged(kafka, stage):
    topic = stage.filled_topic(b"a")
    base = stage.module("consumer.subscription_state").ConsumerRebalanceListener

    class Listener(base):
        def on_partitions_revoked(self, revoked):
            pass

        def on_partitions_assigned(self, assigned):
            raise ValueError("of the program")

    consumer = stage.consumer(group_id=stage.group())
    consumer.subscribe([topic], listener=Listener())
    stage.keep_log()
    raised = []

    def step():
        try:
            consumer.poll(timeout_ms=10000)
        except Exception as error:
            raised.append(error)

    stage.until(lambda: raised or consumer.assignment(), step)
    stage.record("raised", raised[:1])
    stage.record_log("told", "User provided")


@on_kafka()
def patterns_match_the_beginning_of_names(kafka, stage):
    prefix = stage.name("pattern")
    names = [prefix + "-one", prefix + "-two"]
    for name in names:
        stage.ask("create_topic", name, 1, {})
        stage.fill(name, b"a")
    consumer = stage.consumer(group_id=stage.group(), metadata_max_age_ms=500)
    stage.attempt("subscribe", consumer.subscribe, pattern=prefix)
    if stage.generation == "1.2":
        # It is assigned none of them.
        stage.until(lambda: len(consumer.subscription()) == 2, lambda: consumer.poll(timeout_ms=100))
    else:
        stage.join(consumer, 2)
        stage.record("assignment", consumer.assignment())
    stage.record("subscription", consumer.subscription())


@on_kafka("3")
def members_of_groups_know_who_they_are(kafka, stage):
    topic = stage.filled_topic(b"a")
    consumer = stage.consumer(topic, group_id=stage.group(), group_instance_id="one")
    stage.record("before", consumer.group_metadata())
    stage.join(consumer, 1)
    found = consumer.group_metadata()
    stage.record("then", (found.group_id, found.generation_id > 0, found.group_instance_id, found.state))
    stage.record("without a group", stage.consumer().group_metadata())


@on_kafka()
def topics_and_partitions_are_told(kafka, stage):
    topic = stage.topic(3)
    consumer = stage.consumer()
    stage.record("is there", topic in consumer.topics())
    stage.record("type", type(consumer.topics()))
    stage.record("partitions", consumer.partitions_for_topic(topic))
    stage.record("of no topic", consumer.partitions_for_topic(stage.name("absent")))


@on_kafka("2", "3")
def offsets_of_ends_and_times_are_told(kafka, stage):
    topic = stage.topic(2)
    stage.fill(topic, *VALUES)
    one, two = stage.partition(topic), stage.partition(topic, 1)
    consumer = stage.consumer()
    stage.record("first", consumer.beginning_offsets([one, two]))
    stage.record("last", consumer.end_offsets([one, two]))
    third = stage.records_of(topic)[2][4]
    stage.record("by time", consumer.offsets_for_times({one: third, two: third}))
    stage.record("later than all", consumer.offsets_for_times({one: third + 3600000}))
    stage.attempt("a negative time", consumer.offsets_for_times, {one: -1})
    stage.record("none", (consumer.beginning_offsets([]), consumer.end_offsets([])))


@on_kafka("2", "3")
def times_of_partitions_that_there_are_not_have_no_offset_beside_others(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    there, absent, other = (
        *(stage.partition(topic), stage.partition(topic, 7)),
        stage.partition(stage.name("absent")),
    )
    consumer = stage.consumer()
    stage.record("of the topic", consumer.offsets_for_times({there: 0, absent: 0})[absent])
    stage.record("of another", consumer.offsets_for_times({there: 0, other: 0})[other])


@on_kafka("2", "3")
def offsets_of_no_partition_are_waited_for(kafka, stage):
    topic = stage.topic()
    consumer = stage.consumer(request_timeout_ms=2000, session_timeout_ms=1500, heartbeat_interval_ms=500)
    for called in ("no-such-topic-at-all", topic):
        absent = stage.partition(called, 7)
        stage.raised("first", consumer.beginning_offsets, [absent])
        stage.raised("last", consumer.end_offsets, [absent])
        stage.raised("by time", consumer.offsets_for_times, {absent: 0})


@on_kafka()
def highwaters_are_those_of_the_last_fetch(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(topic)
    stage.record("before", consumer.highwater(stage.partition(topic)))
    stage.poll(consumer, 5)
    stage.record("after", consumer.highwater(stage.partition(topic)))


@on_kafka()
def deserializers_make_keys_and_values(kafka, stage):
    topic = stage.filled_topic((b"k", b"1", None), (None, b"2", None), (b"k", None, None))

    def value_of(data):
        return None if data is None else int(data)

    consumer = stage.reader(
        topic, key_deserializer=lambda key: key and key.decode(), value_deserializer=value_of
    )
    stage.record("read", [(record.key, record.value) for record in stage.poll(consumer, 3)])


@on_kafka("2")
def deserializers_may_be_objects_of_2(kafka, stage):
    base = stage.module("serializer").Deserializer
    topic = stage.filled_topic((b"k", b"1", None))

    class Named(base):
        def deserialize(self, topic, bytes_):
            return (topic, bytes_)

        def close(self):
            stage.record("closed", True)

    consumer = stage.reader(topic, value_deserializer=Named())
    stage.record("read", [record.value for record in stage.poll(consumer, 1)])
    consumer.close()


@on_kafka("3")
def deserializers_may_be_objects_of_3(kafka, stage):
    topic = stage.filled_topic((b"k", b"1", [("h", b"x")]))

    class Named(kafka.Deserializer):
        def deserialize(self, topic, headers, data):
            return (topic, headers, data)

        def close(self):
            stage.record("closed", True)

    consumer = stage.reader(topic, value_deserializer=Named(), key_deserializer=kafka.DefaultSerializer())
    stage.record("read", [(record.key, record.value) for record in stage.poll(consumer, 1)])
    consumer.close()


@on_kafka()
def a_record_that_a_deserializer_refuses_is_told(kafka, stage):
    topic = stage.filled_topic(b"1", b"2", b"x", b"4")
    consumer = stage.reader(topic, value_deserializer=int, consumer_timeout_ms=5000)
    seen = []
    failed = []

    def read():
        try:
            seen.append(next(consumer).value)
        except ValueError as error:
            failed.append(str(error))

    stage.until(lambda: failed, read)
    stage.record("before it", seen)
    stage.record("raised", failed)
    stage.record("position", consumer.position(stage.partition(topic)))


@on_kafka("2", "3")
def poll_gives_what_comes_before_a_record_that_is_refused(kafka, stage):
    topic = stage.filled_topic(b"1", b"2", b"x", b"4")
    consumer = stage.reader(topic, value_deserializer=int)
    seen = []
    failed = []

    def read():
        try:
            for records in consumer.poll(timeout_ms=200).values():
                seen.extend(record.value for record in records)
        except ValueError as error:
            failed.append(str(error))

    stage.until(lambda: failed, read)
    stage.record("before it", seen)
    stage.record("raised", failed)
    stage.record("position", consumer.position(stage.partition(topic)))


@on_kafka("2", "3")
def without_a_reset_an_offset_out_of_range_is_told(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(topic, auto_offset_reset="none", consumer_timeout_ms=3000)
    consumer.seek(stage.partition(topic), 77)
    failed = []

    def read():
        try:
            consumer.poll(timeout_ms=200)
        except Exception as error:
            failed.append(error)

    stage.until(lambda: failed, read)
    stage.record("raised", failed[0])
    consumer.seek(stage.partition(topic), 1)
    stage.values(consumer, 4)


@on_kafka()
def without_a_reset_a_missing_offset_is_told(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(topic, auto_offset_reset="none", group_id=stage.group())
    failed = []

    def read():
        try:
            consumer.poll(timeout_ms=200)
        except Exception as error:
            failed.append(error)

    stage.until(lambda: failed, read)
    stage.record("raised", failed[0])


@script()
def consumers_refuse_settings_that_they_do_not_know(kafka, stage):
    # Some originals show values too, which may be secrets.
    stage.raised("unknown", kafka.KafkaConsumer, foo=1)
    stage.record("defaults", sorted(kafka.KafkaConsumer.DEFAULT_CONFIG))


@script("2", "3")
def consumers_refuse_settings_that_do_not_go_together(kafka, stage):
    def attempt(label, **settings):
        stage.attempt(label, kafka.KafkaConsumer, bootstrap_servers=stage.bootstrap, **settings)

    attempt("idle", connections_max_idle_ms=1000)
    attempt("wait", fetch_max_wait_ms=400000, request_timeout_ms=305000)


@on_kafka("2", "3")
def consumers_refuse_settings_of_groups(kafka, stage):
    def attempt(label, **settings):
        stage.attempt(label, stage.consumer, **settings)

    attempt("instance without group", group_instance_id="one")
    for name in ("", ".", "x" * 250, "with space"):
        stage.within(f"instance {name!r:.20}", stage.consumer, group_id="g", group_instance_id=name)
    attempt("isolation", isolation_level="read_all")
    attempt("assignors", group_id="g", partition_assignment_strategy=[])
    if stage.generation == "2":
        attempt("request below session", group_id="g", request_timeout_ms=5000)


@script()
def consumers_say_that_there_are_no_brokers(kafka, stage):
    settings = {"1.2": {}, "2": {"api_version_auto_timeout_ms": 300}, "3": {"bootstrap_timeout_ms": 300}}[
        stage.generation
    ]
    stage.attempt("nobody there", kafka.KafkaConsumer, bootstrap_servers=stage.bootstrap, **settings)


@on_kafka()
def consumers_tell_their_configuration(kafka, stage):
    consumer = stage.consumer(client_id="me", fetch_min_bytes=5)
    for name in ("client_id", "fetch_min_bytes", "group_id", "max_partition_fetch_bytes", "retry_backoff_ms"):
        stage.record(name, consumer.config[name])
    stage.record("version", type(consumer.config["api_version"]))


# A poll of 3 that ends in a join may leave it there for ever.
@on_kafka("1.2", "2")
def two_members_share_the_partitions(kafka, stage):
    topic = stage.topic(4)
    group = stage.group()
    settings = {"group_id": group, "session_timeout_ms": 6000, "heartbeat_interval_ms": 300}
    one = stage.consumer(topic, **settings)
    stage.until(lambda: len(one.assignment()) == 4, lambda: one.poll(timeout_ms=100))
    done = []
    import threading

    def second():
        two = stage.consumer(topic, **settings)
        stage.until(lambda: len(two.assignment()) == 2, lambda: two.poll(timeout_ms=100))
        done.append(sorted(two.assignment()))
        two.close()

    thread = threading.Thread(target=second)
    thread.start()
    shares = []

    def step():
        one.poll(timeout_ms=100)
        if len(one.assignment()) == 2:
            shares.append(sorted(one.assignment()))

    stage.until(lambda: done and shares, step)
    stage.until(lambda: not thread.is_alive(), lambda: one.poll(timeout_ms=100))
    both = collections.Counter(shares[0] + done[0])
    stage.record("together", sorted(both))
    stage.record("each once", set(both.values()))


@on_kafka("2", "3")
def records_of_open_transactions_may_be_left_out(kafka, stage):
    topic = stage.filled_topic(b"a")
    consumer = stage.reader(topic, isolation_level="read_committed")
    stage.values(consumer, 1)
    stage.record("level", consumer.config["isolation_level"])


@on_kafka("2")
def iteration_and_poll_take_turns(kafka, stage):
    topic = stage.filled_topic(*VALUES)
    consumer = stage.reader(topic, consumer_timeout_ms=3000)
    stage.record("first", next(consumer).value)
    stage.record("position", consumer.position(stage.partition(topic)))


@on_kafka("1.2")
def what_consumers_could_before_is_refused_with_advice(kafka, stage):
    consumer = stage.reader(stage.topic())
    stage.attempt("configure", consumer.configure, group_id="g")
    stage.attempt("set_topic_partitions", consumer.set_topic_partitions, "t")
    stage.attempt("fetch_messages", consumer.fetch_messages)
    stage.attempt("get_partition_offsets", consumer.get_partition_offsets, "t", 0, -1, 1)
    stage.attempt("offsets", consumer.offsets)
    stage.attempt("task_done", consumer.task_done, None)
