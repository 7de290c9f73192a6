"""Producer: what produce() takes, what delivery reports tell, and when they come."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_both, script
from tests.compat.differential.stage import WAIT, Stage


@script()
def produce_refuses_arguments_of_other_types(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer()
    cases: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        ((None,), {}),
        ((3,), {}),
        ((b"t",), {}),
        (("t", 3), {}),
        (("t", ["v"]), {}),
        (("t", "v", 3), {}),
        (("t",), {"value": 1.5}),
        (("t",), {"key": {}}),
        (("t",), {"partition": "0"}),
        (("t",), {"partition": None}),
        (("t",), {"partition": 2**40}),
        (("t",), {"timestamp": "now"}),
        (("t",), {"timestamp": 1.5}),
        (("t",), {"callback": 3}),
        (("t",), {"on_delivery": "print"}),
        (("t",), {"headers": 3}),
        (("t",), {"headers": "text"}),
        (("t",), {"headers": [("a",)]}),
        (("t",), {"headers": [("a", "b", "c")]}),
        (("t",), {"headers": [(1, b"b")]}),
        (("t",), {"headers": [("a", 1)]}),
        (("t",), {"headers": {"a": 1}}),
        (("t",), {"headers": {1: b"a"}}),
        (("t",), {"headers": ["ab"]}),
        (("t",), {"nonsense": 1}),
        (("t", "v", "k", 0, None, None, 0, None, 1), {}),
    ]
    for arguments, keywords in cases:
        stage.attempt(f"{arguments} {keywords}", producer.produce, *arguments, **keywords)
    stage.record("len", len(producer))


@script()
def arguments_are_counted_first_and_names_are_looked_at_last(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer()
    nothing = [None] * 6
    cases: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("poll", (0,), {"nonsense": 1}),
        ("poll", (), {"nonsense": 1, "timeout": 0}),
        ("poll", (), {"nonsense": 1}),
        ("poll", (0, 0), {}),
        ("poll", (0,), {"timeout": 0}),
        ("produce", (), {"nonsense": 1}),
        ("produce", ("t",), {"topic": "t"}),
        ("produce", ("t", b"v"), {"value": b"v", "topic": "t", "nonsense": 1}),
        ("produce", ("t", 1), {"nonsense": 1}),
        ("produce", ("t", *nothing), {"nonsense": 1}),
        ("produce", ("t", *nothing), {"nonsense": 1, "more": 2}),
        ("produce", ("t",), {"first": 1, "second": 2}),
        ("produce", ("t",), {"headers": 3, "nonsense": 1}),
        ("produce_batch", ("t",), {"nonsense": 1}),
        ("produce_batch", ("t", []), {"nonsense": 1}),
        ("produce_batch", ("t", 3), {"nonsense": 1}),
        ("produce_batch", ("t", [], -1, None, False), {"nonsense": 1}),
        ("produce_batch", (), {"nonsense": 1}),
        ("produce_batch", (), {"messages": [], "topic": "t"}),
    ]
    for name, arguments, keywords in cases:
        stage.attempt(f"{name}: {arguments} {keywords}", getattr(producer, name), *arguments, **keywords)


@script()
def produce_takes_arguments_in_this_order(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer(message_timeout_ms=100)
    report = stage.callback("report", leaving_out=[kafka.KafkaError])
    other = stage.callback("other report", leaving_out=[kafka.KafkaError])
    stage.attempt("produce", producer.produce, "t", b"value", b"key", 3, report, other, 1234)
    stage.attempt("produce", producer.produce, "t", b"value", b"key", 3, report, None, 1234)
    stage.attempt("callback", producer.produce, "t", callback=report)
    stage.attempt("both", producer.produce, "t", callback=report, on_delivery=other)
    stage.attempt("flush", producer.flush, WAIT)


@script()
def produced_to_nobody_messages_time_out(kafka: ModuleType, stage: Stage) -> None:
    report = stage.callback("report")
    producer = stage.producer(message_timeout_ms=1500, on_delivery=report)
    stage.attempt("produce", producer.produce, "t", "value", "key", headers={"h": b"1"})
    stage.record("len", [len(producer), bool(producer)])
    stage.attempt("poll at once", producer.poll, 0)
    stage.attempt("flush at once", producer.flush, 0)
    stage.attempt("flush", producer.flush, WAIT)
    stage.record("len", [len(producer), bool(producer)])


@script()
def the_queue_has_a_limit_of_messages(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer(queue_buffering_max_messages=3)
    for index in range(5):
        stage.attempt(f"produce {index}", producer.produce, "t", f"{index}")
    stage.record("len", len(producer))
    producer.purge()
    stage.attempt("flush", producer.flush, 2)
    stage.attempt("again", producer.produce, "t", "again")


@script()
def the_queue_has_a_limit_of_bytes(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer(queue_buffering_max_kbytes=2)
    for index in range(4):
        stage.attempt(f"produce {index}", producer.produce, "t", b"x" * 1000)
    stage.record("len", len(producer))


@script()
def messages_larger_than_allowed_are_refused_at_once(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer(message_max_bytes=1000, on_delivery=stage.callback("report"))
    stage.attempt("too large", producer.produce, "t", b"x" * 1001)
    stage.attempt("too large with its key", producer.produce, "t", b"x" * 600, b"x" * 600)
    stage.attempt("just so", producer.produce, "t", b"x" * 1000)
    stage.record("len", len(producer))


@script()
def purged_messages_are_reported(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer(on_delivery=stage.callback("report"))
    producer.produce("t", "one", partition=0)
    producer.produce("t", "two", "key", 0)
    stage.attempt("purge", producer.purge)
    stage.record("len", len(producer))
    stage.attempt("flush", producer.flush, 2)
    for keywords in ({"in_queue": False}, {"in_flight": False}, {"blocking": False}, {"nonsense": 1}):
        stage.attempt(f"{keywords}", producer.purge, **keywords)
    stage.attempt("positional", producer.purge, True, True, True)


@script()
def an_exception_of_a_report_leaves_flush(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer()
    failing = stage.callback("failing report", raises=ValueError("mine"), leaving_out=[kafka.Message])
    for value in ("one", "two"):
        producer.produce("t", value, on_delivery=failing)
    producer.produce("t", "three", on_delivery=stage.callback("report", leaving_out=[kafka.Message]))
    producer.purge()
    stage.attempt("flush", producer.flush, 2)
    stage.record("len", len(producer))
    stage.attempt("flush again", producer.flush, 2)
    stage.attempt("flush once more", producer.flush, 2)
    stage.record("len", len(producer))


@script()
def an_exception_of_a_report_leaves_poll(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer()
    failing = stage.callback("failing report", raises=KeyError("mine"), leaving_out=[kafka.Message])
    for value in ("one", "two"):
        producer.produce("t", value, on_delivery=failing)
    producer.purge()
    stage.attempt("poll", producer.poll, 2)
    stage.attempt("poll again", producer.poll, 2)
    stage.attempt("poll once more", producer.poll, 0)


@script()
def poll_and_flush_take_a_time_in_seconds(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer()
    for label, arguments, keywords in (
        ("zero", (0,), {}),
        ("fraction", (0.01,), {}),
        ("keyword", (), {"timeout": 0}),
        ("text", ("1",), {}),
        ("none", (None,), {}),
        ("two", (0, 0), {}),
        ("nonsense", (), {"nonsense": 1}),
    ):
        stage.attempt(f"poll {label}", producer.poll, *arguments, **keywords)
        stage.attempt(f"flush {label}", producer.flush, *arguments, **keywords)
    stage.attempt("flush for ever with nothing to wait for", producer.flush)
    stage.attempt("flush below zero", producer.flush, -1)


@script()
def a_closed_producer_refuses_everything(kafka: ModuleType, stage: Stage) -> None:
    producer = kafka.Producer({"log_level": 0})
    stage.attempt("close", producer.close)
    stage.attempt("close again", producer.close)
    for label, call in (
        ("produce", lambda: producer.produce("t", "v")),
        ("produce_batch", lambda: producer.produce_batch("t", [{"value": b"v"}])),
        ("poll", lambda: producer.poll(0)),
        ("flush", lambda: producer.flush(0)),
        ("len", lambda: len(producer)),
        ("bool", lambda: bool(producer)),
        ("purge", lambda: producer.purge()),
        ("list_topics", lambda: producer.list_topics(timeout=0.1)),
        ("cluster_id", lambda: producer.cluster_id(timeout=0.1)),
        ("begin", lambda: producer.begin_transaction()),
        ("init", lambda: producer.init_transactions(0.1)),
        ("commit", lambda: producer.commit_transaction(0.1)),
        ("abort", lambda: producer.abort_transaction(0.1)),
        ("send offsets", lambda: producer.send_offsets_to_transaction([], None, 0.1)),
        ("credentials", lambda: producer.set_sasl_credentials("u", "p")),
        ("enter", lambda: producer.__enter__() is producer),
        ("exit", lambda: producer.__exit__(None, None, None)),
    ):
        stage.attempt(label, call)


@script()
def a_producer_is_a_context_manager(kafka: ModuleType, stage: Stage) -> None:
    settings = {"log_level": 0, "message.timeout.ms": 100}
    with kafka.Producer(settings) as producer:
        producer.produce("t", "v", on_delivery=stage.callback("report", leaving_out=[kafka.Message]))
    stage.attempt("afterwards", producer.poll, 0)

    def fail() -> None:
        with kafka.Producer(settings):
            raise ValueError("inside")

    stage.attempt("raised inside", fail)


@script()
def sasl_credentials_are_texts(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer()
    for arguments in (("u", "p"), ("u",), (), (1, 2), (None, None), ("u", None), ("", "")):
        stage.attempt(f"{arguments}", producer.set_sasl_credentials, *arguments)


@on_both()
def a_report_describes_the_message_that_was_written(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer(on_delivery=stage.callback("report"))
    stage.attempt("produce", producer.produce, topic, "value", "key", headers=[("h", b"1")])
    stage.attempt("flush", producer.flush, WAIT)
    producer.produce(topic, b"value", timestamp=1_600_000_000_000)
    stage.attempt("flush", producer.flush, WAIT)
    producer.produce(topic)
    stage.attempt("flush", producer.flush, WAIT)
    stage.values(stage.reader(topic), 3)


@on_both()
def values_and_keys_may_be_empty_or_none(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer()
    for value, key in (
        (None, None),
        (b"", b""),
        ("", None),
        (None, ""),
        ("ünï", "kéy"),
        (bytearray(b"a"), b"k"),
    ):
        stage.attempt(
            f"{value!r} {key!r}", producer.produce, topic, value, key, 0, timestamp=1_600_000_000_000
        )
    stage.attempt("a view", producer.produce, topic, memoryview(b"view"), timestamp=1_600_000_000_000)
    stage.attempt("flush", producer.flush, WAIT)
    for message in stage.messages(stage.reader(topic), 5):
        stage.record("message", message)


@on_both()
def headers_come_back_as_they_were_given(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer(on_delivery=stage.callback("report"))
    for headers in (
        None,
        [],
        {},
        [("a", b"1"), ("a", b"2"), ("b", None)],
        {"a": b"1", "b": "text", "c": None},
        [("ünï", "wért")],
        [("", b"")],
        (("a", b"1"),),
    ):
        stage.attempt(f"{headers!r}", producer.produce, topic, b"v", headers=headers)
        stage.attempt("flush", producer.flush, WAIT)
    for message in stage.messages(stage.reader(topic), 7):
        stage.record("headers", message.headers())


@on_both()
def timestamps_are_taken_in_milliseconds(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer(on_delivery=stage.callback("report"))
    for timestamp in (0, 1, 1_600_000_000_123):
        stage.attempt(f"{timestamp}", producer.produce, topic, b"v", timestamp=timestamp)
        stage.attempt("flush", producer.flush, WAIT)
    for message in stage.messages(stage.reader(topic), 3):
        stage.record("timestamp", message.timestamp())


@on_both()
def a_topic_that_stamps_records_itself_says_so(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(message_timestamp_type="LogAppendTime")
    producer = stage.producer(on_delivery=stage.callback("report"))
    producer.produce(topic, b"v", timestamp=1_600_000_000_123)
    stage.attempt("flush", producer.flush, WAIT)
    for message in stage.messages(stage.reader(topic), 1):
        stage.record("timestamp", message.timestamp())


@on_both()
def each_message_may_have_a_report_of_its_own(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer(on_delivery=stage.callback("common"))
    producer.produce(topic, "a", on_delivery=stage.callback("own"))
    producer.produce(topic, "b")
    producer.produce(topic, "c", callback=stage.callback("callback"))
    stage.attempt("flush", producer.flush, WAIT)


@on_both()
def poll_serves_reports_and_counts_them(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer(linger_ms=20)
    report = stage.callback("report")
    producer.produce(topic, "a", on_delivery=report)
    stage.record("len", len(producer))
    stage.attempt("poll", producer.poll, WAIT)
    for value in ("b", "c"):
        producer.produce(topic, value, on_delivery=report)
    stage.record("len", len(producer))
    stage.poll_until(producer, stage.recorded("report", 3))
    stage.record("len", len(producer))
    stage.attempt("nothing more", producer.poll, 0)


@on_both()
def messages_without_a_report_are_counted_too(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer()
    for value in ("a", "b", "c"):
        producer.produce(topic, value)
    stage.attempt("flush", producer.flush, WAIT)
    stage.record("len", len(producer))
    stage.attempt("poll", producer.poll, 0)


@on_both()
def only_errors_are_reported_if_told_so(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer(on_delivery=stage.callback("report"), delivery_report_only_error=True)
    producer.produce(topic, "a")
    producer.produce(topic, "b", partition=7)
    stage.attempt("flush", producer.flush, WAIT)


@on_both()
def a_partition_that_does_not_exist_is_reported_or_refused(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    producer = stage.producer(on_delivery=stage.callback("report"), message_timeout_ms=30_000)
    stage.attempt("before metadata is known", producer.produce, topic, "a", partition=7)
    stage.attempt("flush", producer.flush, WAIT)
    stage.attempt("after", producer.produce, topic, "b", partition=7)
    stage.attempt("below zero", producer.produce, topic, "b", partition=-2)
    stage.attempt("flush", producer.flush, WAIT)


@on_both()
def topic_names_that_cannot_exist_are_reported(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer(on_delivery=stage.callback("report"), message_timeout_ms=30_000)
    for name in ("bad name", "a" * 250):
        stage.attempt(f"{name[:10]}", producer.produce, name, "v")
        stage.attempt("flush", producer.flush, WAIT)


@on_both()
def each_partitioner_chooses_like_its_namesake(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=7)
    keys = [b"", b"a", b"key", b"21", b"\x00\xff", "ünï".encode(), b"x" * 100]
    for partitioner in (
        "consistent",
        "consistent_random",
        "murmur2",
        "murmur2_random",
        "fnv1a",
        "fnv1a_random",
    ):
        chosen: dict[bytes, int] = {}
        producer = stage.producer(
            partitioner=partitioner,
            on_delivery=lambda error, message, chosen=chosen: chosen.update(
                {message.key(): message.partition()}
            ),
        )
        for key in keys if not partitioner.endswith("random") else keys[1:]:
            producer.produce(topic, b"v", key)
        stage.attempt("flush", producer.flush, WAIT)
        stage.record(partitioner, chosen)


@on_both()
def a_fixed_partition_wins_over_the_key(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=5)
    producer = stage.producer(on_delivery=stage.callback("report"))
    for partition in (4, 0, 2):
        producer.produce(topic, f"{partition}", "key", partition)
        producer.flush(WAIT)


@on_both()
def without_a_key_partitions_stay_together_for_a_while(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=5)
    chosen: set[int] = set()
    producer = stage.producer(
        linger_ms=100,
        # Longer than any machine stands still between two calls.
        sticky_partitioning_linger_ms=10_000,
        on_delivery=lambda error, message: chosen.add(message.partition()),
    )
    producer.produce(topic, b"so that the topic is known")
    producer.flush(WAIT)
    chosen.clear()
    for _ in range(5):
        producer.produce(topic, b"v")
    producer.flush(WAIT)
    stage.record("partitions", len(chosen))


@on_both()
def messages_too_large_for_the_broker_are_reported(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(max_message_bytes="500")
    producer = stage.producer(on_delivery=stage.callback("report", then=None), message_max_bytes=10_000)
    producer.produce(topic, b"x" * 400)
    producer.flush(WAIT)
    producer.produce(topic, b"x" * 1000)
    stage.attempt("flush", producer.flush, WAIT)


@on_both()
def every_compression_is_read_back(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = stage.producer(compression_type=codec)
        producer.produce(topic, codec.encode() * 50)
        stage.attempt(f"flush {codec}", producer.flush, WAIT)
    stage.values(stage.reader(topic), 5)


@on_both()
def acknowledgements_decide_what_reports_know(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    for acks in ("all", 1, 0):
        producer = stage.producer(acks=acks, on_delivery=stage.callback(f"report acks={acks}"))
        producer.produce(topic, "v")
        stage.attempt("flush", producer.flush, WAIT)


@on_both()
def an_idempotent_producer_writes_in_order(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer(enable_idempotence=True)
    for index in range(50):
        producer.produce(topic, f"{index}")
    stage.attempt("flush", producer.flush, WAIT)
    stage.record("values", [message.value() for message in stage.messages(stage.reader(topic), 50)])


@on_both()
def reports_come_in_order_of_their_partition(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    offsets: list[int] = []
    producer = stage.producer(on_delivery=lambda error, message: offsets.append(message.offset()))
    for _ in range(100):
        producer.produce(topic, "v")
    producer.flush(WAIT)
    stage.record("offsets", offsets == sorted(offsets) and len(offsets))


@on_both()
def a_report_may_produce(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer()

    def again(error: object, message: Any) -> None:
        producer.produce(topic, "second", on_delivery=stage.callback("second report"))

    producer.produce(topic, "first", on_delivery=stage.callback("first report", then=again))
    stage.attempt("flush", producer.flush, WAIT)
    stage.attempt("flush", producer.flush, WAIT)


@on_both()
def batches_of_messages_are_produced_at_once(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    producer = stage.producer()
    report = stage.callback("report")
    stage.attempt(
        "batch", producer.produce_batch, topic, [{"value": b"a", "key": b"k"}, {"value": "b"}, {}], 0, report
    )
    stage.attempt("flush", producer.flush, WAIT)
    stage.attempt(
        "with partitions",
        producer.produce_batch,
        topic,
        [
            {"value": b"c", "partition": 1, "timestamp": 1_600_000_000_000},
            {"value": b"d", "callback": report},
        ],
    )
    stage.attempt("flush", producer.flush, WAIT)
    for label, arguments in (
        ("nothing", ()),
        ("no messages", (topic,)),
        ("none", (topic, None)),
        ("empty", (topic, [])),
        ("not a dictionary", (topic, ["a"])),
        ("a number", (topic, [{"value": 3}])),
        ("headers", (topic, [{"value": b"h", "headers": {"a": b"1"}}])),
        ("unknown", (topic, [{"value": b"u", "nonsense": 1}])),
        ("a tuple", (topic, ({"value": b"t"},))),
        ("partition text", (topic, [{"value": b"p", "partition": "1"}])),
    ):
        stage.attempt(label, producer.produce_batch, *arguments)
    stage.attempt("flush", producer.flush, WAIT)


@on_both()
def metadata_is_listed(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    producer = stage.producer()
    metadata = producer.list_topics(topic, timeout=WAIT)
    stage.call(metadata.cluster_id, "<cluster>")
    stage.record("type", type(metadata).__name__)
    stage.record("repr", repr(metadata))
    by_chance = {"orig_broker_id", "orig_broker_name"}
    stage.record("attributes", sorted(vars(metadata)))
    stage.record("values", {name: value for name, value in vars(metadata).items() if name not in by_chance})
    stage.record("shown", [str(metadata), *map(str, metadata.topics.values())])
    stage.record("reprs", [repr(found) for found in metadata.topics.values()])
    stage.record("brokers", [[str(broker), repr(broker)] for broker in metadata.brokers.values()])
    everything = producer.list_topics(timeout=WAIT)
    stage.record("all", topic in everything.topics)
    stage.attempt("cluster id", producer.cluster_id, WAIT)
    for arguments in ((3,), (topic, "1"), (None, None), (topic, 1, 2)):
        stage.attempt(f"{arguments[1:]}", producer.list_topics, *arguments)


@script()
def metadata_of_nobody_times_out(kafka: ModuleType, stage: Stage) -> None:
    producer = stage.producer()
    stage.attempt("list", producer.list_topics, timeout=0.1)
    stage.attempt("one", producer.list_topics, "t", 0.1)
    stage.attempt("cluster id", producer.cluster_id, timeout=0.1)
