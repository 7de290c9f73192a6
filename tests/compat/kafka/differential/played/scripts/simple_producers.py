"""SimpleProducer and KeyedProducer of kafka-python 1.2, which wait for answers, and those with a thread."""

import time

from tests.compat.kafka.differential.played.script import on_kafka

ASYNC = {"async": True}


def values(stage, topic, partition=0):
    return [value for _, _, value, _, _ in stage.records_of(topic, partition)]


@on_kafka("1.2")
def a_simple_producer_waits_for_answers(kafka, stage):
    topic = stage.topic()
    producer = kafka.SimpleProducer(stage.simple_client())
    stage.record("text", repr(producer))
    stage.attempt("one", producer.send_messages, topic, b"a")
    stage.attempt("several", producer.send_messages, topic, b"b", b"c", b"")
    stage.record("values", values(stage, topic))
    stage.record("keys", [key for _, key, _, _, _ in stage.records_of(topic)])


@on_kafka("1.2")
def a_simple_producer_takes_one_partition_after_the_other(kafka, stage):
    topic = stage.topic(partitions=3)
    producer = kafka.SimpleProducer(stage.simple_client(), random_start=False)
    for number in range(7):
        (answer,) = producer.send_messages(topic, b"%d" % number)
        stage.record("went to", (answer.partition, answer.offset))
    random = kafka.SimpleProducer(stage.simple_client())
    taken = [random.send_messages(topic, b"a")[0].partition for _ in range(3)]
    stage.record("from any", sorted(taken))


@on_kafka("1.2")
def a_simple_producer_has_topics_created(kafka, stage):
    topic = stage.name("created")
    producer = kafka.SimpleProducer(stage.simple_client())
    stage.attempt("send", producer.send_messages, topic, b"a")
    stage.record("values", values(stage, topic))


@on_kafka("1.2")
def a_simple_producer_compresses(kafka, stage):
    protocol = stage.module("protocol")
    client = stage.simple_client()
    for codec in protocol.ALL_CODECS:
        topic = stage.topic()
        producer = kafka.SimpleProducer(client, codec=codec)
        stage.attempt("sent", producer.send_messages, topic, b"a" * 100, b"b" * 100)
        stage.record("values", values(stage, topic) == [b"a" * 100, b"b" * 100])
    producer = kafka.SimpleProducer(client, codec=protocol.CODEC_GZIP, codec_compresslevel=1)
    stage.attempt("with a level", producer.send_messages, stage.topic(), b"a")
    stage.attempt("no codec", kafka.SimpleProducer, client, codec=9)


@on_kafka("1.2")
def a_simple_producer_takes_bytes_only(kafka, stage):
    topic = stage.topic()
    producer = kafka.SimpleProducer(stage.simple_client())
    stage.attempt("text", producer.send_messages, topic, "text")
    stage.attempt("number", producer.send_messages, topic, 7)
    stage.attempt("none", producer.send_messages, topic, None)
    stage.attempt("one of them", producer.send_messages, topic, b"a", "text")
    stage.record("values", values(stage, topic))


@on_kafka("1.2")
def a_simple_producer_has_acks(kafka, stage):
    topic = stage.topic()
    client = stage.simple_client()
    names = ("ACK_NOT_REQUIRED", "ACK_AFTER_LOCAL_WRITE", "ACK_AFTER_CLUSTER_COMMIT", "DEFAULT_ACK_TIMEOUT")
    stage.record("constants", [getattr(kafka.SimpleProducer, name) for name in names])
    everywhere = kafka.SimpleProducer(client, req_acks=-1, ack_timeout=2000)
    stage.attempt("everywhere", everywhere.send_messages, topic, b"a")
    stage.attempt("none", kafka.SimpleProducer(client, req_acks=0).send_messages, topic, b"b")
    stage.until(lambda: stage.ask("end_offset", topic, 0) == 2)
    stage.record("values", values(stage, topic))
    stage.attempt("two", kafka.SimpleProducer(client, req_acks=2).send_messages, topic, b"b")


@on_kafka("1.2")
def a_simple_producer_raises_or_gives_errors(kafka, stage):
    topic = stage.topic(max_message_bytes="500")
    client = stage.simple_client()
    stage.keep_log()
    stage.attempt("raised", kafka.SimpleProducer(client).send_messages, topic, b"a" * 1000)
    patient = kafka.SimpleProducer(client, sync_fail_on_error=False)
    stage.attempt("given", patient.send_messages, topic, b"a" * 1000)
    stage.record_log("logged", "Unable to send messages")


@on_kafka("1.2")
def a_producer_sends_to_a_partition(kafka, stage):
    topic = stage.topic(partitions=2)
    base = stage.module("producer.base")
    producer = base.Producer(stage.simple_client())
    stage.attempt("to 1", producer.send_messages, topic, 1, b"a", b"b")
    stage.attempt("to none", producer.send_messages, topic, 5, b"a")


@on_kafka("1.2")
def a_keyed_producer_sends_keys(kafka, stage):
    topic = stage.topic()
    producer = kafka.KeyedProducer(stage.simple_client())
    stage.record("text", repr(producer))
    stage.attempt("several", producer.send_messages, topic, b"key", b"a", b"b")
    stage.attempt("gone", producer.send_messages, topic, b"key", None)
    stage.attempt("one", producer.send, topic, b"other", b"c")
    stage.attempt("no key", producer.send_messages, topic, "text", b"a")
    stage.record("records", [record[:3] for record in stage.records_of(topic)])


@on_kafka("1.2")
def a_keyed_producer_has_a_partitioner(kafka, stage):
    topic = stage.topic(partitions=4)
    client = stage.simple_client()
    murmur = kafka.KeyedProducer(client, partitioner=stage.module("partitioner").Murmur2Partitioner)
    for key in (b"a", b"b", b"c", b"d", b"e"):
        stage.record("murmur2", murmur.send_messages(topic, key, b"value")[0].partition)
    turns = kafka.KeyedProducer(client, partitioner=kafka.RoundRobinPartitioner)
    found = [turns.send_messages(topic, b"key", b"value")[0].partition for _ in range(5)]
    stage.record("in turn", found)
    hashed = kafka.KeyedProducer(client)
    same = {hashed.send_messages(topic, b"key", b"value")[0].partition for _ in range(3)}
    stage.record("hashed", len(same))


@on_kafka("1.2")
def an_async_producer_sends_in_a_thread(kafka, stage):
    topic = stage.topic()
    producer = kafka.SimpleProducer(stage.simple_client(), batch_send_every_t=0.1, **ASYNC)
    stage.closing(producer.stop)
    stage.record("text", repr(producer))
    stage.record("is async", getattr(producer, "async"))
    stage.attempt("nothing yet", producer.send_messages, topic, b"a", b"b")
    stage.until(lambda: stage.ask("end_offset", topic, 0) == 2)
    stage.record("values", values(stage, topic))
    stage.record("thread", (producer.thread.daemon, producer.thread.is_alive()))
    producer.stop()
    stage.record("stopped", (producer.stopped, producer.thread.is_alive()))


@on_kafka("1.2")
def an_async_producer_sends_what_is_queued_when_it_stops(kafka, stage):
    topic = stage.topic()
    producer = kafka.SimpleProducer(stage.simple_client(), **ASYNC)
    for number in range(50):
        producer.send_messages(topic, b"%02d" % number)
    stage.attempt("stop", producer.stop)
    stage.record("all are there", values(stage, topic) == [b"%02d" % number for number in range(50)])
    stage.keep_log()
    stage.attempt("again", producer.stop)
    stage.attempt("with a timeout", producer.stop, 1)
    stage.record_log("logged", "already stopped", "timeout argument to stop() is deprecated")


@on_kafka("1.2")
def an_async_producer_sends_when_it_has_enough(kafka, stage):
    topic = stage.topic()
    settings = dict(ASYNC, batch_send_every_n=3, batch_send_every_t=30)
    producer = kafka.SimpleProducer(stage.simple_client(), **settings)
    stage.closing(producer.stop)
    producer.send_messages(topic, b"a", b"b")
    time.sleep(0.5)
    stage.record("not yet", stage.ask("end_offset", topic, 0))
    producer.send_messages(topic, b"c")
    stage.until(lambda: stage.ask("end_offset", topic, 0) == 3, timeout=10)
    stage.record("values", values(stage, topic))


@on_kafka("1.2")
def an_async_producer_keeps_keys_and_compresses(kafka, stage):
    topic = stage.topic()
    producer = kafka.KeyedProducer(stage.simple_client(), codec=stage.module("protocol").CODEC_GZIP, **ASYNC)
    producer.send_messages(topic, b"key", b"a", b"b")
    producer.send_messages(topic, b"other", b"c")
    producer.stop()
    stage.record("records", [record[:3] for record in stage.records_of(topic)])


@on_kafka("1.2")
def an_async_producer_has_a_queue_that_may_be_full(kafka, stage):
    topic = stage.topic()
    producer = kafka.SimpleProducer(stage.simple_client(), async_queue_maxsize=2, **ASYNC)
    # Nobody takes anything out from here on.
    producer.stop()
    stage.attempt("fits", producer.send_messages, topic, b"a")
    try:
        producer.send_messages(topic, b"b", b"c", b"d")
    except stage.module("errors").AsyncProducerQueueFull as error:
        stage.record("does not", error)
        stage.record("what is left", error.failed_msgs)
    producer.async_queue_put_timeout = 0.1
    stage.raised("after a time", producer.send_messages, topic, b"e")


@on_kafka("1.2")
def an_async_producer_gives_up_what_is_refused(kafka, stage):
    topic = stage.topic(max_message_bytes="500")
    stage.keep_log()
    settings = dict(ASYNC, batch_send_every_n=1)
    producer = kafka.SimpleProducer(stage.simple_client(), **settings)
    producer.send_messages(topic, b"a" * 1000)
    producer.send_messages(topic, b"b")
    producer.stop()
    stage.record("values", values(stage, topic))
    stage.record_log("logged", "MessageSizeTooLargeError sending ProduceRequestPayload (#1 of 1) to")


@on_kafka("1.2")
def an_async_producer_tries_again_so_often(kafka, stage):
    topic = stage.topic()
    stage.keep_log()
    settings = dict(ASYNC, batch_send_every_n=1, async_retry_limit=1, async_retry_backoff_ms=10)
    base = stage.module("producer.base")
    producer = base.Producer(stage.simple_client(), **settings)
    producer.send_messages(topic, 9, b"to no partition")
    producer.stop()
    stage.record("values", values(stage, topic))
    stage.record_log("logged", "FailedPayloadsError sending ProduceRequestPayload (#1 of 1) to")
    stage.record_log("and then", "Async producer backoff for 10(ms) before retrying")


@on_kafka("1.2")
def an_async_producer_stops_after_a_time(kafka, stage):
    topic = stage.topic()
    stage.keep_log()
    settings = dict(ASYNC, batch_send_every_n=1, async_retry_backoff_ms=50, async_stop_timeout=1)
    producer = stage.module("producer.base").Producer(stage.simple_client(), **settings)
    producer.send_messages(topic, 9, b"to no partition")
    stage.attempt("stop", producer.stop)
    stage.record_log("logged", "Stopped producer with 1 unsent messages")


@on_kafka("1.2")
def a_producer_refuses_settings(kafka, stage):
    client = stage.simple_client()
    stage.raised("count", kafka.SimpleProducer, client, batch_send_every_n=0, **ASYNC)
    stage.raised("time", kafka.SimpleProducer, client, batch_send_every_t=0, **ASYNC)
    stage.raised("queue", kafka.SimpleProducer, client, async_queue_maxsize=-1, **ASYNC)
    stage.attempt("unknown", kafka.SimpleProducer, client, unknown=1)
    stage.keep_log()
    stage.attempt("stop", kafka.SimpleProducer(client).stop)
    stage.record_log("logged", "producer.stop() called, but producer is not async")
