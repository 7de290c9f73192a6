"""Statements of the documentation that no other script comes to: each script does what one of them says."""

from __future__ import annotations

import gc
import json
import time
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, on_both, script
from tests.compat.differential.stage import FIRST_TIMESTAMP_MS, WAIT, Stage

QUICK = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 200}


@script()
def consume_takes_up_to_a_million_messages(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer()
    for count in (1_000_001, 1_000_000, 0, -1, 2**31, 2**32, -(2**31) - 1, 2**64 + 1, "1", 1.5, None):
        stage.attempt(f"consume {count!r}", consumer.consume, count, 0)


@script()
def a_message_and_offsets_exclude_each_other(kafka: ModuleType, stage: Stage) -> None:
    consumer = stage.consumer(enable_auto_offset_store=False)
    message = kafka.Message(topic="t", partition=0, offset=1)
    both: dict[str, Any] = {"message": message, "offsets": [kafka.TopicPartition("t", 0, 1)]}
    stage.attempt("commit", consumer.commit, **both)
    stage.attempt("commit by position", consumer.commit, *both.values())
    stage.attempt("store", consumer.store_offsets, **both)
    stage.attempt("store neither", consumer.store_offsets)


@on_both()
def watermarks_are_remembered_while_statistics_are_made(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    partition = kafka.TopicPartition(topic, 0)
    consumer = stage.reader(topic, statistics_interval_ms=100)
    stage.values(consumer, 3)
    admin = stage.admin()
    admin.delete_records([kafka.TopicPartition(topic, 0, 2)])[partition].result(WAIT)
    stage.fill(topic, "d")
    stage.values(consumer, 1)

    def remembered() -> Any:
        return consumer.get_watermark_offsets(partition, cached=True)

    stage.poll_until(consumer, lambda: remembered() == (2, 4))
    stage.record("remembered", remembered())
    stage.attempt("asked", consumer.get_watermark_offsets, partition, WAIT)


@on_both()
def windows_of_statistics_cover_the_time_since_the_last_ones(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    texts: list[str] = []
    producer = stage.producer(statistics_interval_ms=100, stats_cb=texts.append)
    for number in range(3):
        producer.produce(topic, str(number), partition=0)
    stage.attempt("flush", producer.flush, WAIT)

    def windows(name: str) -> list[Any]:
        topics = [json.loads(text)["topics"] for text in texts]
        return [found[topic][name] for found in topics if topic in found]

    def round_trips() -> list[int]:
        brokers = [json.loads(text)["brokers"].values() for text in texts]
        return [sum(broker["rtt"]["cnt"] for broker in found) for found in brokers]

    stage.until(
        lambda: any(window["cnt"] for window in windows("batchcnt")) and round_trips()[-1] == 0,
        lambda: producer.poll(0.1),
    )
    batches = windows("batchcnt")
    stage.record("messages", sum(window["sum"] for window in batches))
    stage.record("of nothing", [batches[-1][name] for name in ("cnt", "sum", "avg", "max")])
    stage.record(
        "as many", sum(each["cnt"] for each in windows("batchsize")) == sum(each["cnt"] for each in batches)
    )
    stage.record("round trips", max(round_trips()) > 0)


@on_both()
def statistics_tell_how_large_batches_were(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=3)
    for partition in range(3):
        # From now on they have leaders: a batch that is sent twice counts twice in the original.
        stage.fill(topic, "first", partition=partition)
    texts: list[str] = []
    # Statistics come once, as windows of a shorter interval would divide the batches by chance.
    producer = stage.producer(statistics_interval_ms=3000, stats_cb=texts.append, linger_ms=500)
    for partition, count in enumerate((1, 2, 10)):
        for _ in range(count):
            producer.produce(topic, "v" * 10, partition=partition)
    stage.attempt("flush", producer.flush, WAIT)
    stage.poll_until(producer, lambda: texts)
    figures = json.loads(texts[0])["topics"][topic]
    for name in ("batchcnt", "batchsize"):
        # What the histogram itself takes is librdkafka's own matter.
        stage.record(name, {key: value for key, value in figures[name].items() if key != "hdrsize"})


@on_both()
def names_and_patterns_are_subscribed_to_together(kafka: ModuleType, stage: Stage) -> None:
    first, second, third = stage.topic(), stage.topic(), stage.topic()
    consumer = stage.consumer(**QUICK)
    consumer.subscribe([f"^{first}.*", f"^{second[:-1]}[0-9a-f]-?$", third])
    stage.poll_until(consumer, lambda: len(consumer.assignment()) == 3)
    order = [first, second, third].index
    stage.attempt("assignment", lambda: sorted(consumer.assignment(), key=lambda each: order(each.topic)))
    stage.attempt("no pattern", consumer.subscribe, ["^("])


@on_both()
def lost_partitions_are_told_to_on_revoke_otherwise(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    consumer = stage.consumer(max_poll_interval_ms=2500, session_timeout_ms=2500, heartbeat_interval_ms=200)
    is_lost = stage.recorded("on_revoke")
    # Within the callback, as the same poll may already bring partitions again.
    look = {"on_revoke": lambda *_: stage.record("assignment", consumer.assignment())}
    told = {
        name: stage.callback(name, leaving_out=[type(consumer)], until=is_lost, then=look.get(name))
        for name in ("on_assign", "on_revoke")
    }
    consumer.subscribe([topic], **told)
    stage.poll_until(consumer, stage.recorded("on_assign"))
    time.sleep(3.2)
    for message in stage.messages(consumer, 1):
        stage.record("message", message.error().name())
    stage.poll_until(consumer, is_lost)


@on_apache()
def a_forgotten_consumer_stays_in_its_group(kafka: ModuleType, stage: Stage) -> None:
    topic, group = stage.filled_topic("a"), stage.group()
    consumer = kafka.Consumer(
        {
            "bootstrap.servers": stage.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    stage.values(consumer, 1)
    admin = stage.admin()

    def members() -> Any:
        return len(admin.describe_consumer_groups([group])[group].result(WAIT).members)

    stage.record("members", members())
    del consumer
    gc.collect()
    # Long enough for what it could still send.
    deadline = time.monotonic() + 2
    stage.until(lambda: members() == 0 or time.monotonic() > deadline)
    stage.record("members", members())
    stage.record(
        "committed",
        admin.list_consumer_group_offsets([kafka.ConsumerGroupTopicPartitions(group)])[group]
        .result(WAIT)
        .topic_partitions,
    )


@on_apache()
def initialization_aborts_what_an_earlier_producer_left_open(kafka: ModuleType, stage: Stage) -> None:
    topic, identity = stage.topic(), stage.name("transactional-id")
    earlier = stage.producer(transactional_id=identity)
    earlier.init_transactions(WAIT)
    earlier.begin_transaction()
    earlier.produce(topic, "left open")
    stage.attempt("flush", earlier.flush, WAIT)
    later = stage.producer(transactional_id=identity)
    stage.attempt("init", later.init_transactions, WAIT)
    later.begin_transaction()
    later.produce(topic, "committed")
    stage.attempt("commit", later.commit_transaction, WAIT)
    stage.values(stage.reader(topic), 1)
    stage.values(stage.reader(topic, isolation_level="read_uncommitted"), 2)


@on_apache()
def the_documentations_loop_aborts_what_must_be_aborted(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(max_message_bytes="2000")
    producer = stage.producer(transactional_id=stage.name("transactional-id"))
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.produce(topic, "v" * 5000, callback=stage.callback("report"))
    while True:
        try:
            producer.commit_transaction(10.0)
            break
        except kafka.KafkaException as error:
            stage.record("commit", error)
            if error.args[0].retriable():
                continue
            if not error.args[0].txn_requires_abort():
                raise
            stage.attempt("abort", producer.abort_transaction)
            stage.attempt("begin", producer.begin_transaction)
            stage.attempt("begin again", producer.begin_transaction)
            stage.attempt("abort", producer.abort_transaction)
            break


@on_both()
def a_report_knows_how_long_it_took(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer()
    found: list[Any] = []
    producer.produce(topic, "v", headers={"h": "1"}, callback=lambda _, message: found.append(message))
    producer.flush(WAIT)
    (message,) = found
    stage.record("latency", [type(message.latency()).__name__, 0 < message.latency() < WAIT])
    stage.record("headers", message.headers())
    (read,) = stage.messages(stage.reader(topic), 1)
    stage.record("read", [read.latency(), read.headers(), read.leader_epoch()])


@on_both()
def listing_an_unknown_topic_creates_it(kafka: ModuleType, stage: Stage) -> None:
    admin = stage.admin()
    clients = {"producer": stage.producer(), "consumer": stage.consumer(allow_auto_create_topics=True)}
    for label, client in {**clients, "admin": admin}.items():
        unknown = stage.name("unknown")
        client.list_topics(unknown, timeout=WAIT)
        stage.record(label, _appears(stage, admin, unknown))


def _appears(stage: Stage, admin: Any, topic: str) -> bool:
    """Whether a topic is there, which may take a moment after it was asked for."""
    return stage.until(lambda: topic in admin.list_topics(timeout=WAIT).topics, lambda: None)


@on_both()
def a_producer_counts_messages_until_they_are_reported(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer(on_delivery=stage.callback("report"))
    stage.record("before", [len(producer), bool(producer)])
    for number in range(3):
        producer.produce(topic, str(number), partition=0)
    stage.record("produced", len(producer) >= 3)
    stage.attempt("flush", producer.flush, WAIT)
    stage.record("flushed", len(producer))
    stage.attempt("flush at once", producer.flush, 0)
    stage.attempt("flush again", producer.flush)


@on_both()
def a_paused_partition_stays_paused_over_a_seek(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    partition = kafka.TopicPartition(topic, 0)
    consumer = stage.reader(topic)
    stage.values(consumer, 1)
    stage.attempt("pause", consumer.pause, [partition])
    stage.attempt("seek", consumer.seek, kafka.TopicPartition(topic, 0, kafka.OFFSET_BEGINNING))
    stage.attempt("nothing", consumer.poll, 0.3)
    stage.attempt("pause unknown", consumer.pause, [kafka.TopicPartition("unknown", 7)])
    stage.attempt("resume", consumer.resume, [partition])
    stage.values(consumer, 3)


@on_both()
def a_partition_that_cannot_be_committed_says_so_itself(kafka: ModuleType, stage: Stage) -> None:
    topic, group = stage.filled_topic("a"), stage.group()
    consumer = stage.consumer(group_id=group)
    consumer.assign([kafka.TopicPartition(topic, 0, 0)])
    stage.values(consumer, 1)
    named = [kafka.TopicPartition(topic, 0, 1), kafka.TopicPartition(topic, 7, 1)]
    stage.attempt("commit", lambda: consumer.commit(offsets=named, asynchronous=False))
    stage.attempt("committed", consumer.committed, named, WAIT)
    stage.attempt("position", consumer.position, named)
    stage.attempt("committed by nobody", stage.consumer().committed, named[:1], WAIT)


@on_both()
def times_after_the_last_message_have_no_offset(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    consumer = stage.consumer()
    some = [FIRST_TIMESTAMP_MS + 1, FIRST_TIMESTAMP_MS + 2, FIRST_TIMESTAMP_MS + 3]
    for at in (0, *some, -1, -2, -3, -4, -5, -6, -7, -100, -1001, -(2**63)):
        asked = [kafka.TopicPartition(topic, 0, at)]
        stage.attempt(
            f"at {at - FIRST_TIMESTAMP_MS if at > 0 else at}", consumer.offsets_for_times, asked, WAIT
        )
    unknown = [kafka.TopicPartition(topic, 0, 1), kafka.TopicPartition(topic, 7, 1)]
    stage.attempt("unknown partition", consumer.offsets_for_times, unknown, WAIT)
    unknown = [kafka.TopicPartition(topic, 0, 1), kafka.TopicPartition(topic, 7, -4)]
    stage.attempt("unknown partition at -4", consumer.offsets_for_times, unknown, WAIT)
    another = stage.filled_topic("a", partitions=2)
    several = [kafka.TopicPartition(topic, 0, 0), kafka.TopicPartition(another, 0, -4)]
    stage.attempt("one of several", consumer.offsets_for_times, several, WAIT)
    stage.attempt("nothing", consumer.offsets_for_times, [], WAIT)


@on_both()
def the_callback_of_a_message_comes_before_that_of_the_configuration(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer(on_delivery=stage.callback("configured"))
    producer.produce(topic, "0", callback=stage.callback("callback"))
    producer.produce(topic, "1", on_delivery=stage.callback("on_delivery"))
    both = {"callback": stage.callback("first"), "on_delivery": stage.callback("second")}
    producer.produce(topic, "2", **both)
    producer.produce(topic, "3", callback=None)
    stage.attempt("flush", producer.flush, WAIT)


@on_apache()
def logical_offsets_are_left_out_of_a_transaction(kafka: ModuleType, stage: Stage) -> None:
    identity = stage.consumer().consumer_group_metadata()
    nothing = [kafka.TopicPartition("t", 0, offset) for offset in (kafka.OFFSET_END, kafka.OFFSET_INVALID)]
    something = [*nothing, kafka.TopicPartition(stage.topic(), 0, 1)]

    def ask(label: str, producer: Any) -> None:
        for offsets in (nothing, [], something):
            stage.attempt(label, producer.send_offsets_to_transaction, offsets, identity, WAIT)

    ask("no transactions", stage.producer())
    name = stage.name("transactional-id")
    producer = stage.producer(transactional_id=name)
    ask("before init", producer)
    producer.init_transactions(WAIT)
    ask("before begin", producer)
    producer.begin_transaction()
    ask("begun", producer)
    stage.attempt("abort", producer.abort_transaction, WAIT)
    producer.begin_transaction()
    stage.producer(transactional_id=name).init_transactions(WAIT)
    ask("fenced", producer)


@on_both()
def the_low_watermark_is_asked_for_every_time(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    partition = kafka.TopicPartition(topic, 0)
    consumer = stage.consumer()
    stage.attempt("asked", consumer.get_watermark_offsets, partition, WAIT)
    stage.attempt("by name", lambda: consumer.get_watermark_offsets(partition, timeout=WAIT, cached=False))
    stage.attempt("remembered", lambda: consumer.get_watermark_offsets(partition, cached=True))
    for unknown in (kafka.TopicPartition(topic, 7), kafka.TopicPartition(stage.name("unknown"), 0)):
        stage.attempt("unknown", consumer.get_watermark_offsets, unknown, WAIT)


@on_both()
def several_brokers_may_not_be_asked_for_their_configs_at_once(kafka: ModuleType, stage: Stage) -> None:
    admin, module = stage.admin(), stage.module("admin")
    resources = [module.ConfigResource(module.ResourceType.BROKER, name) for name in ("1", "2")]
    stage.attempt("two", admin.describe_configs, resources)
    topic = stage.topic(retention_ms="60000")
    both = [module.ConfigResource("topic", topic), module.ConfigResource("topic", topic)]
    stage.attempt("twice", lambda: len(admin.describe_configs(both)))


@on_both()
def what_is_not_said_is_reverted_by_alter_configs(kafka: ModuleType, stage: Stage) -> None:
    admin, module = stage.admin(), stage.module("admin")
    topic = stage.topic(retention_ms="60000", max_message_bytes="5000")
    resource = module.ConfigResource(module.ResourceType.TOPIC, topic, {"retention.ms": "70000"})

    def configs() -> Any:
        found = admin.describe_configs([resource])[resource].result(WAIT)
        return {
            name: [found[name].value, found[name].is_default]
            for name in ("retention.ms", "max.message.bytes")
        }

    stage.record("before", configs())
    only_checked = admin.alter_configs([resource], validate_only=True)
    stage.attempt("checked", only_checked[resource].result, WAIT)
    stage.record("still", configs())
    stage.attempt("altered", lambda: admin.alter_configs([resource])[resource].result(WAIT))
    stage.until(lambda: configs()["retention.ms"][0] == "70000", lambda: None)
    stage.record("after", configs())
