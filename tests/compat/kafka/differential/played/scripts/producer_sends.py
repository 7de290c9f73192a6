"""KafkaProducer: what is sent, what futures give, and who calls back."""

import json
import threading
import time

from tests.compat.kafka.differential.played.script import on_kafka
from tests.compat.kafka.differential.played.stage import WAIT_SECONDS


def truth(stage, topic, partition=0):
    """What the broker holds, without its times."""
    return [record[:4] for record in stage.records_of(topic, partition)]


@on_kafka()
def a_record_is_sent_and_its_metadata_told(kafka, stage):
    topic = stage.topic()
    producer = stage.producer()
    future = producer.send(topic, b"value", b"key")
    stage.attempt("metadata", future.get, timeout=WAIT_SECONDS)
    stage.record("done", (future.is_done, future.succeeded(), future.failed(), future.retriable()))
    stage.record("exception", future.exception)
    stage.record("the same object", future.get() is future.value)
    stage.record("as a tuple", tuple(future.value))
    stage.record("fields", future.value._fields)
    stage.record("class", type(future).__name__)
    stage.record("is a future", isinstance(future, stage.module("future").Future))
    second = producer.send(topic, b"second", timestamp_ms=1500000000123).get(timeout=WAIT_SECONDS)
    stage.record("second", second)
    stage.record("text", str(second))
    stage.record("stored", truth(stage, topic))


@on_kafka()
def records_keep_their_order_in_a_partition(kafka, stage):
    topic = stage.topic()
    producer = stage.producer()
    futures = [producer.send(topic, b"value %d" % number) for number in range(200)]
    stage.record("offsets", [future.get(timeout=WAIT_SECONDS).offset for future in futures])
    stage.record("stored", [record[2] for record in truth(stage, topic)])


@on_kafka()
def a_record_may_have_a_key_only(kafka, stage):
    topic = stage.topic()
    producer = stage.producer()
    stage.attempt("a key", lambda: producer.send(topic, key=b"key").get(timeout=WAIT_SECONDS))
    stage.attempt("an empty value", lambda: producer.send(topic, b"", b"").get(timeout=WAIT_SECONDS))
    stage.record("stored", truth(stage, topic))


@on_kafka()
def a_record_of_nothing_is_refused(kafka, stage):
    producer = stage.producer()
    stage.attempt("nothing", producer.send, stage.topic())
    stage.attempt("None twice", producer.send, stage.topic(), None, None)


@on_kafka("2", "3")
def a_record_without_a_topic_is_refused(kafka, stage):
    stage.attempt("no topic", stage.producer().send)


@on_kafka()
def bytes_like_objects_are_sent(kafka, stage):
    topic = stage.topic()
    producer = stage.producer()
    for kind in (bytearray(b"an array"), memoryview(b"a view")):
        stage.attempt(
            type(kind).__name__, lambda kind=kind: producer.send(topic, kind).get(timeout=WAIT_SECONDS)
        )
    stage.record("stored", truth(stage, topic))


@on_kafka()
def values_that_are_no_bytes_are_refused(kafka, stage):
    topic = stage.topic()
    producer = stage.producer()
    stage.attempt("a text", producer.send, topic, "text")
    stage.attempt("a list", producer.send, topic, [b"value"])
    stage.attempt("a text as key", producer.send, topic, b"value", "key")
    stage.record("stored", truth(stage, topic))


@on_kafka()
def a_named_partition_gets_the_record(kafka, stage):
    topic = stage.topic(3)
    producer = stage.producer()
    for partition in (2, 0, 1):
        stage.attempt(
            f"to {partition}",
            lambda partition=partition: producer.send(topic, b"value", partition=partition).get(
                timeout=WAIT_SECONDS
            ),
        )
    stage.record("stored", [len(truth(stage, topic, partition)) for partition in range(3)])


@on_kafka()
def a_partition_that_there_is_not_is_refused(kafka, stage):
    topic = stage.topic(2)
    producer = stage.producer()
    stage.attempt("beyond", producer.send, topic, b"value", partition=2)
    stage.attempt("far beyond", producer.send, topic, b"value", partition=1000)
    stage.attempt("negative", producer.send, topic, b"value", partition=-1)
    stage.record("stored", truth(stage, topic))


@on_kafka()
def keys_choose_partitions(kafka, stage):
    topic = stage.topic(5)
    producer = stage.producer()
    keys = [b"key %d" % number for number in range(40)] + [b"", b"a", b"ab", b"abc", b"\xff\xfe"]
    futures = [producer.send(topic, b"value", key) for key in keys]
    stage.record("partitions", [future.get(timeout=WAIT_SECONDS).partition for future in futures])


@on_kafka()
def a_record_has_the_timestamp_that_it_is_given(kafka, stage):
    topic = stage.topic()
    producer = stage.producer()
    given = producer.send(topic, b"value", timestamp_ms=1500000000123).get(timeout=WAIT_SECONDS)
    stage.record("given", given.timestamp)
    now = producer.send(topic, b"value").get(timeout=WAIT_SECONDS)
    stage.record("now", now.timestamp)
    stage.record("zero", producer.send(topic, b"value", timestamp_ms=0).get(timeout=WAIT_SECONDS).timestamp)
    if stage.generation != "1.2":
        stage.record("stored", [record[4] for record in stage.records_of(topic)])


@on_kafka()
def a_topic_may_stamp_records_itself(kafka, stage):
    topic = stage.topic(message_timestamp_type="LogAppendTime")
    producer = stage.producer()
    told = producer.send(topic, b"value", timestamp_ms=1500000000123).get(timeout=WAIT_SECONDS)
    stage.record("told", told.timestamp)


@on_kafka("2", "3")
def headers_are_sent(kafka, stage):
    topic = stage.topic()
    producer = stage.producer()
    headers = [("one", b"1"), ("two", b""), ("one", b"again")]
    stage.attempt(
        "headers", lambda: producer.send(topic, b"value", headers=headers).get(timeout=WAIT_SECONDS)
    )
    stage.attempt("no headers", lambda: producer.send(topic, b"value", headers=[]).get(timeout=WAIT_SECONDS))
    stage.attempt(
        "beyond ascii",
        lambda: producer.send(topic, b"value", headers=[("\u00e4", b"1")]).get(timeout=WAIT_SECONDS),
    )
    stage.record("stored", truth(stage, topic))


@on_kafka("2", "3")
def headers_that_are_none_are_refused(kafka, stage):
    topic = stage.topic()
    producer = stage.producer()
    producer.send(topic, b"first").get(timeout=WAIT_SECONDS)
    stage.attempt("a dictionary", producer.send, topic, b"value", headers={"one": b"1"})
    stage.attempt("a tuple", producer.send, topic, b"value", headers=(("one", b"1"),))
    stage.attempt("a text", producer.send, topic, b"value", headers=[("one", "1")])
    stage.attempt("None", producer.send, topic, b"value", headers=[("one", None)])
    stage.attempt("a name in bytes", producer.send, topic, b"value", headers=[(b"one", b"1")])
    stage.attempt("three", producer.send, topic, b"value", headers=[("one", b"1", 2)])
    stage.attempt("a list", producer.send, topic, b"value", headers=[["one", b"1"]])
    stage.record("stored", truth(stage, topic))


@on_kafka()
def callbacks_of_a_record_are_called_in_order_in_another_thread(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(linger_ms=100)
    future = producer.send(topic, b"value")
    stage.record(
        "gives the future", future.add_callback(stage.callback("first"), "argument", named=1) is future
    )
    future.add_errback(stage.callback("errback"))
    future.add_both(stage.callback("both"))
    future.add_callback(stage.callback("last"))
    future.get(timeout=WAIT_SECONDS)


@on_kafka()
def a_callback_that_is_added_late_is_called_at_once(kafka, stage):
    producer = stage.producer()
    future = producer.send(stage.topic(), b"value")
    future.get(timeout=WAIT_SECONDS)
    future.add_callback(stage.callback("callback"), 1)
    future.add_errback(stage.callback("errback"))
    future.add_both(stage.callback("both"))


@on_kafka()
def callbacks_are_called_in_the_order_of_records(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(linger_ms=200)
    called = []
    futures = [producer.send(topic, b"value %d" % number) for number in range(50)]
    for future in reversed(futures):
        future.add_callback(lambda metadata: called.append(metadata.offset))
    producer.flush()
    stage.record("offsets", called)


@on_kafka()
def callbacks_have_returned_when_flush_does(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(linger_ms=100)
    done = []

    def slowly(metadata):
        time.sleep(0.05)
        done.append(metadata.offset)

    for _ in range(5):
        producer.send(topic, b"value").add_callback(slowly)
    stage.record("flush gives", producer.flush())
    stage.record("called", done)


@on_kafka()
def callbacks_have_returned_when_get_does(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(linger_ms=100)
    done = []

    def slowly(metadata):
        time.sleep(0.2)
        done.append(metadata.offset)

    first = producer.send(topic, b"value").add_callback(slowly)
    second = producer.send(topic, b"value").add_callback(slowly)
    second.get(timeout=WAIT_SECONDS)
    stage.record("called", done)
    stage.record("done", (first.is_done, second.is_done))


@on_kafka()
def callbacks_see_records_done_one_after_the_other(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(linger_ms=300)
    futures = [producer.send(topic, b"value") for number in range(3)]
    for future in futures:
        future.add_callback(lambda metadata: stage.record("done", [each.is_done for each in futures]))
    producer.flush()


@on_kafka()
def one_thread_calls_all_callbacks(kafka, stage):
    topic = stage.topic(3)
    producer = stage.producer(linger_ms=100, client_id="the client")
    threads = []
    for partition in range(3):
        future = producer.send(topic, b"value", partition=partition)
        future.add_callback(lambda metadata: threads.append(threading.current_thread()))
    producer.flush()
    stage.record("threads", sorted({thread.name for thread in threads}))
    stage.record("daemon", [thread.daemon for thread in threads[:1]])
    stage.record("the script's", threading.current_thread() in threads)


@on_kafka()
def a_callback_that_raises_is_logged_and_others_are_called(kafka, stage):
    stage.keep_log()
    topic = stage.topic()
    producer = stage.producer(linger_ms=100)
    future = producer.send(topic, b"value")
    future.add_callback(stage.callback("first", raises=ValueError("no")))
    future.add_callback(stage.callback("second"))
    stage.attempt("get", future.get, timeout=WAIT_SECONDS)
    stage.attempt("still works", lambda: producer.send(topic, b"value").get(timeout=WAIT_SECONDS))
    stage.record_log("logged", "Error processing callback")


@on_kafka()
def a_callback_may_send(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(linger_ms=100)
    sent = []
    first = producer.send(topic, b"first")
    first.add_callback(lambda metadata: sent.append(producer.send(topic, b"second")))
    first.get(timeout=WAIT_SECONDS)
    stage.record("second", sent[0].get(timeout=WAIT_SECONDS))
    stage.record("stored", truth(stage, topic))


@on_kafka()
def futures_of_records_are_chained(kafka, stage):
    producer = stage.producer(linger_ms=100)
    other = stage.module("future").Future()
    other.add_both(stage.callback("the other"))
    future = producer.send(stage.topic(), b"value")
    stage.record("gives the first", future.chain(other) is future)
    future.get(timeout=WAIT_SECONDS)
    stage.record("done", (other.is_done, other.value == future.value))


@on_kafka()
def a_wait_for_a_record_has_an_end(kafka, stage):
    producer = stage.producer(linger_ms=2000)
    future = producer.send(stage.topic(), b"value")
    stage.attempt("too early", future.get, timeout=0.05)
    stage.attempt("at once", future.get, timeout=0)
    stage.record("done", future.is_done)
    stage.record("value", (future.value, future.exception, future.retriable()))
    stage.attempt("in time", future.get, timeout=WAIT_SECONDS)


@on_kafka()
def flush_has_an_end(kafka, stage):
    producer = stage.producer()
    stage.record("nothing to flush", producer.flush())
    stage.record("with a timeout", producer.flush(timeout=1))
    producer.send(stage.topic(), b"value")
    stage.record("in time", producer.flush(timeout=WAIT_SECONDS))


@on_kafka()
def flush_does_not_wait_for_linger(kafka, stage):
    producer = stage.producer(linger_ms=20000)
    future = producer.send(stage.topic(), b"value")
    producer.flush(timeout=10)
    stage.record("done", future.succeeded())


@on_kafka()
def serializers_make_bytes(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(
        key_serializer=lambda key: None if key is None else key.encode(),
        value_serializer=lambda value: json.dumps(value, sort_keys=True).encode(),
    )
    stage.attempt("both", lambda: producer.send(topic, {"b": 1, "a": [2]}, "key").get(timeout=WAIT_SECONDS))
    stage.attempt("no key", lambda: producer.send(topic, [1, 2]).get(timeout=WAIT_SECONDS))
    stage.attempt("a key only", lambda: producer.send(topic, key="alone").get(timeout=WAIT_SECONDS))
    stage.record("stored", truth(stage, topic))


@on_kafka()
def serializers_are_called_once_for_each_record(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(
        key_serializer=stage.callback("key", then=lambda key: key),
        value_serializer=stage.callback("value", then=lambda value: value),
    )
    producer.send(topic, b"first", b"a").get(timeout=WAIT_SECONDS)
    producer.send(topic, b"second", b"b").get(timeout=WAIT_SECONDS)
    producer.send(topic, b"third").get(timeout=WAIT_SECONDS)


@on_kafka("2", "3")
def a_serializer_that_raises_is_heard(kafka, stage):
    topic = stage.topic()

    def refuse(value):
        raise ValueError(f"cannot serialize {value!r}")

    producer = stage.producer(value_serializer=refuse)
    stage.attempt("first", producer.send, topic, b"value")
    stage.attempt("second", producer.send, topic, b"value")
    stage.record("stored", truth(stage, topic))


@on_kafka("1.2")
def a_serializer_that_raises_fails_the_future(kafka, stage):
    topic = stage.topic()

    def refuse(value):
        raise ValueError(f"cannot serialize {value!r}")

    producer = stage.producer(value_serializer=refuse)
    for label in ("first", "second"):
        future = stage.within(label, producer.send, topic, b"value")
        stage.record(label, future.exception)
        stage.attempt(label + " get", future.get)
    stage.record("stored", truth(stage, topic))


@on_kafka("2", "3")
def what_a_serializer_makes_has_to_be_bytes(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(value_serializer=lambda value: value * 2)
    stage.attempt("a text", producer.send, topic, "text")
    stage.attempt("bytes", lambda: producer.send(topic, b"value").get(timeout=WAIT_SECONDS))
    stage.attempt("a text again", producer.send, topic, "text")
    stage.record("stored", truth(stage, topic))


@on_kafka()
def a_message_that_is_too_large_is_refused(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(max_request_size=1000)
    for label, value in (("too large", b"x" * 1000), ("large", b"x" * 800)):
        try:
            future = producer.send(topic, value, b"key")
        except Exception as error:
            stage.record(label, error)
            continue
        if label == "large":
            future.get(timeout=WAIT_SECONDS)
        stage.record(label, (future.is_done, future.exception))
    stage.record("stored", len(truth(stage, topic)))


@on_kafka()
def a_message_that_the_topic_refuses_fails_its_future(kafka, stage):
    topic = stage.topic(max_message_bytes="500")
    producer = stage.producer(linger_ms=100, **({} if stage.generation == "3" else {"retries": 0}))
    future = producer.send(topic, b"x" * 1000)
    future.add_errback(stage.callback("errback"))
    future.add_callback(stage.callback("callback"))
    stage.attempt("get", future.get, timeout=WAIT_SECONDS)
    stage.record("done", (future.is_done, future.failed(), future.succeeded(), future.retriable()))
    stage.record("the same", future.exception is future.exception)
    stage.record("value", future.value)
    future.add_errback(stage.callback("late errback"))
    future.add_callback(stage.callback("late callback"))


@on_kafka("1.2", "2")
def small_messages_are_sent_after_one_that_is_refused(kafka, stage):
    topic = stage.topic(max_message_bytes="500")
    producer = stage.producer(retries=0)
    stage.raised("a large one", lambda: producer.send(topic, b"x" * 1000).get(timeout=WAIT_SECONDS))
    stage.attempt("a small one", lambda: producer.send(topic, b"x").get(timeout=WAIT_SECONDS))


@on_kafka("1.2", "2")
def records_without_acknowledgement_have_no_offset(kafka, stage):
    producer = stage.producer(acks=0)
    metadata = producer.send(stage.topic(), b"value").get(timeout=WAIT_SECONDS)
    stage.record("place", (metadata.topic, metadata.partition, metadata.offset))


@on_kafka()
def each_acks_delivers(kafka, stage):
    topic = stage.topic()
    for acks in (1, -1, "all"):
        producer = stage.producer(acks=acks)
        stage.record(f"acks {acks}", producer.send(topic, b"value").get(timeout=WAIT_SECONDS))
        stage.record("configured", producer.config["acks"])


@on_kafka()
def batches_are_compressed(kafka, stage):
    topic = stage.topic()
    codecs = ("gzip",) if stage.generation == "1.2" else ("gzip", None)
    for codec in codecs:
        producer = stage.producer(compression_type=codec, linger_ms=50)
        futures = [producer.send(topic, b"value %d" % number) for number in range(20)]
        stage.record(f"{codec} offsets", [future.get(timeout=WAIT_SECONDS).offset for future in futures])
    stage.record("stored", [record[2] for record in truth(stage, topic)])


@on_kafka()
def a_batch_may_hold_one_record(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(batch_size=0)
    futures = [producer.send(topic, b"value %d" % number) for number in range(10)]
    stage.record("offsets", [future.get(timeout=WAIT_SECONDS).offset for future in futures])


@on_kafka()
def partitions_of_a_topic_are_told(kafka, stage):
    topic = stage.topic(3)
    producer = stage.producer()
    stage.attempt("three", producer.partitions_for, topic)
    stage.attempt("again", producer.partitions_for, topic)


@on_kafka()
def a_topic_is_created_by_sending_to_it(kafka, stage):
    topic = stage.name("topic")
    producer = stage.producer()
    stage.attempt("metadata", lambda: producer.send(topic, b"value").get(timeout=WAIT_SECONDS))
    stage.record("stored", truth(stage, topic))


@on_kafka("2", "3")
def names_that_no_topic_can_have_are_refused(kafka, stage):
    producer = stage.producer(max_block_ms=500)
    for label, name in (
        ("empty", ""),
        ("a space", "a topic"),
        ("dots", ".."),
        ("long", "t" * 250),
        ("none", None),
    ):
        stage.attempt(label, producer.send, name, b"value")
    stage.attempt("bytes", producer.send, b"topic", b"value")


@on_kafka("2")
def a_topic_that_there_is_not_is_waited_for(kafka, stage):
    producer = stage.producer(max_block_ms=300, allow_auto_create_topics=False)
    topic = stage.name("topic")
    stage.attempt("send", producer.send, topic, b"value")
    stage.attempt("partitions", producer.partitions_for, topic)


@on_kafka()
def a_producer_may_be_closed_twice(kafka, stage):
    producer = stage.producer()
    producer.send(stage.topic(), b"value")
    stage.record("close gives", producer.close())
    stage.attempt("close again", producer.close)
    stage.attempt("close again in time", producer.close, timeout=1)


@on_kafka("2", "3")
def a_closed_producer_refuses_records(kafka, stage):
    topic = stage.topic()
    producer = stage.producer()
    producer.send(topic, b"value").get(timeout=WAIT_SECONDS)
    stage.record("close gives", producer.close())
    stage.attempt("send", producer.send, topic, b"value")
    stage.attempt("close again", producer.close)
    stage.attempt("flush", producer.flush)


@on_kafka()
def closing_delivers_what_was_sent(kafka, stage):
    topic = stage.topic()
    producer = stage.producer(linger_ms=500)
    futures = [producer.send(topic, b"value %d" % number) for number in range(10)]
    for future in futures:
        future.add_callback(lambda metadata: stage.record("called", metadata.offset))
    producer.close(timeout=WAIT_SECONDS)
    stage.record("done", [future.succeeded() for future in futures])
    stage.record("stored", len(truth(stage, topic)))


@on_kafka()
def timeouts_of_closing_are_checked(kafka, stage):
    producer = stage.producer()
    stage.attempt("negative", producer.close, timeout=-1)
    stage.attempt("zero", producer.close, timeout=0)


@on_kafka("3")
def a_producer_closes_at_the_end_of_a_block(kafka, stage):
    topic = stage.topic()
    with stage.producer() as producer:
        future = producer.send(topic, b"value")
    stage.record("done", future.succeeded())
    stage.attempt("send", producer.send, topic, b"value")


@on_kafka("2")
def a_producer_tells_whether_it_reached_a_broker(kafka, stage):
    stage.record("connected", stage.producer().bootstrap_connected())


@on_kafka("2", "3")
def a_producer_tells_who_it_is(kafka, stage):
    stage.record("text", str(stage.producer(client_id="mine")))


@on_kafka("1.2", "2")
def futures_may_have_attributes_of_the_program(kafka, stage):
    future = stage.producer().send(stage.topic(), b"value")
    future.own = ["mine"]
    stage.record("kept", future.own)
    stage.record("there", (hasattr(future, "own"), hasattr(future, "other")))
    future.get(timeout=WAIT_SECONDS)
    stage.record("still kept", future.own)


@on_kafka("3")
def a_record_that_is_done_can_be_awaited(kafka, stage):
    topic = stage.topic()
    producer = stage.producer()
    future = producer.send(topic, b"value")
    future.get(timeout=WAIT_SECONDS)
    try:
        next(future.__await__())
    except StopIteration as end:
        stage.record("value", end.value)
    slow = stage.producer(linger_ms=1000).send(topic, b"value")
    stage.record("yields itself", next(slow.__await__()) is slow)
    slow.get(timeout=WAIT_SECONDS)
