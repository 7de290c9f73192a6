"""Partitioners: by themselves, and a program's own in a KafkaProducer."""

from tests.compat.kafka.differential.played.script import on_kafka, script
from tests.compat.kafka.differential.played.stage import WAIT_SECONDS

KEYS = [
    b"",
    b"a",
    b"ab",
    b"abc",
    b"abcd",
    b"abcde",
    b"\xff\xfe\xfd",
    b"foobar",
    b"a-little-bit-longer-string",
]


@script()
def murmur2_hashes_as_java_does(kafka, stage):
    module = stage.module("partitioner.hashed" if stage.generation == "1.2" else "partitioner.default")
    for key in [*KEYS, bytearray(b"an array")]:
        stage.record(f"hash of {key!r}", module.murmur2(key))


@script("1.2")
def murmur2_hashes_the_text_of_what_is_no_bytes(kafka, stage):
    module = stage.module("partitioner.hashed")
    stage.record("a text", module.murmur2("abc"))
    stage.record("a number", module.murmur2(123))
    stage.record("None", module.murmur2(None))


@script("2", "3")
def murmur2_refuses_texts(kafka, stage):
    module = stage.module("partitioner")
    stage.raised("a text", module.murmur2, "abcdef")
    stage.raised("None", module.murmur2, None)


@script("1.2", "2")
def the_default_partitioner_is_called_with_partitions(kafka, stage):
    partitioner = stage.module("partitioner.default").DefaultPartitioner()
    every = list(range(7))
    stage.record("by key", [partitioner(key, every, every) for key in KEYS])
    stage.record("not available", [partitioner(key, every, [1]) for key in KEYS])
    stage.record("other numbers", partitioner(b"abc", [10, 20, 30], []))
    stage.record("one is available", partitioner(None, every, [4]))
    stage.record("one there is", partitioner(None, [5], []))


class Cluster:
    def __init__(self, partitions, available):
        self._partitions = partitions
        self._available = available

    def topics(self):
        return {"orders"}

    def partitions_for_topic(self, topic):
        return set(self._partitions)

    def available_partitions_for_topic(self, topic):
        return set(self._available)


@script("3")
def the_default_partitioner_of_3_asks_the_cluster(kafka, stage):
    partitioner = stage.module("partitioner").DefaultPartitioner()
    cluster = Cluster(range(7), range(7))
    stage.record("by key", [partitioner.partition("orders", key, key, b"", b"", cluster) for key in KEYS])
    alone = Cluster(range(7), [4])
    stage.record("one is available", partitioner.partition("orders", None, None, b"", b"", alone))
    stage.attempt("unknown topic", partitioner.partition, "others", None, None, b"", b"", cluster)
    stage.attempt("the base", stage.module("partitioner").Partitioner)


@script("3")
def the_sticky_partitioner_stays_until_a_new_batch(kafka, stage):
    partitioner = stage.module("partitioner").StickyPartitioner()
    cluster = Cluster(range(5), range(5))

    def chosen():
        return partitioner.partition("orders", None, None, b"", b"", cluster)

    first = chosen()
    stage.record("stays", [chosen() == first for _ in range(10)])
    partitioner.on_new_batch("orders", cluster, (first + 1) % 5)
    stage.record("of another partition", chosen() == first)
    partitioner.on_new_batch("orders", cluster, first)
    stage.record("goes on", chosen() != first)
    stage.record("by key", [partitioner.partition("orders", key, key, b"", b"", cluster) for key in KEYS])
    alone = Cluster(range(5), [3])
    stage.record("one is available", partitioner.partition("orders", None, None, b"", b"", alone))
    stage.attempt("unknown topic", partitioner.partition, "others", None, None, b"", b"", cluster)


@script("1.2")
def the_partitioners_of_the_old_producers_know_partitions(kafka, stage):
    module = stage.module("partitioner")
    murmur2 = module.Murmur2Partitioner([0, 1, 2, 3, 4])
    stage.record("murmur2", [murmur2.partition(key) for key in KEYS])
    stage.record("other partitions", murmur2.partition(b"abc", [7, 8]))
    stage.record("texts", [murmur2.partition(key) for key in ("a", "b", 5)])
    stage.record("partitions", murmur2.partitions)
    hashed = module.HashedPartitioner([0, 1, 2])
    stage.record("numbers", [hashed.partition(key) for key in range(6)])
    stage.record("the same class", module.HashedPartitioner is module.LegacyPartitioner)
    base = stage.module("partitioner.base").Partitioner([0])
    stage.attempt("the base", base.partition, b"key")
    stage.record("names", sorted(module.__all__))


@script("1.2")
def the_round_robin_partitioner_goes_round(kafka, stage):
    partitioner = stage.module("partitioner").RoundRobinPartitioner([0, 1, 2])
    stage.record("round", [partitioner.partition("key") for _ in range(5)])
    stage.record("given the same", [partitioner.partition("key", [0, 1, 2]) for _ in range(2)])
    stage.record("given others", [partitioner.partition("key", [5, 6]) for _ in range(3)])
    stage.record("partitions", partitioner.partitions)
    stage.record("of kafka", kafka.RoundRobinPartitioner is type(partitioner))


@script("2", "3")
def names_of_partitioners(kafka, stage):
    stage.record("names", sorted(stage.module("partitioner").__all__))


@on_kafka("1.2", "2")
def a_function_may_be_the_partitioner(kafka, stage):
    topic = stage.topic(4)

    def choose(key, every, available):
        stage.record("called", (key, sorted(every), sorted(available)))
        return 3

    producer = stage.producer(partitioner=choose)
    stage.attempt(
        "chosen", lambda: producer.send(topic, b"value", b"key").get(timeout=WAIT_SECONDS).partition
    )
    stage.attempt("without a key", lambda: producer.send(topic, b"value").get(timeout=WAIT_SECONDS).partition)
    named = producer.send(topic, b"value", partition=1)
    stage.attempt("named", lambda: named.get(timeout=WAIT_SECONDS).partition)


@on_kafka("3")
def an_object_is_the_partitioner_of_3(kafka, stage):
    topic = stage.topic(4)

    class Own(stage.module("partitioner").Partitioner):
        def partition(self, topic, key, serialized_key, value, serialized_value, cluster):
            stage.record("called", (topic, key, serialized_key, value, serialized_value))
            stage.record("partitions", cluster.partitions_for_topic(topic))
            stage.record("available", cluster.available_partitions_for_topic(topic))
            stage.record("knows the topic", topic in cluster.topics())
            return 3

    producer = stage.producer(
        partitioner=Own(), key_serializer=stage.module("serializer").DefaultSerializer("utf-8")
    )
    stage.attempt("chosen", lambda: producer.send(topic, b"value", "key").get(timeout=WAIT_SECONDS).partition)
    named = producer.send(topic, b"value", partition=1)
    stage.attempt("named", lambda: named.get(timeout=WAIT_SECONDS).partition)


@on_kafka("2", "3")
def a_partitioner_that_raises_is_heard(kafka, stage):
    topic = stage.topic(4)

    def choose(*arguments):
        raise ValueError("cannot choose")

    partitioner = choose
    if stage.generation == "3":
        partitioner = type("Own", (stage.module("partitioner").Partitioner,), {"partition": choose})()
    producer = stage.producer(partitioner=partitioner)
    stage.attempt("first", producer.send, topic, b"value")
    stage.attempt("second", producer.send, topic, b"value", b"key")


@on_kafka("1.2")
def a_partitioner_of_1_that_raises_fails_the_future(kafka, stage):
    topic = stage.topic(4)

    def choose(*arguments):
        raise ValueError("cannot choose")

    producer = stage.producer(partitioner=choose)
    stage.record("exception", producer.send(topic, b"value").exception)


@script("2")
def serializers_of_2_get_a_topic(kafka, stage):
    module = stage.module("serializer")
    serializer = module.Serializer(any=1)
    stage.attempt("serialize", serializer.serialize, "topic", b"value")
    stage.attempt("close", serializer.close)
    stage.attempt("deserialize", module.Deserializer().deserialize, "topic", b"value")


@script("3")
def serializers_of_3_get_headers(kafka, stage):
    module = stage.module("serializer")
    text = module.DefaultSerializer()
    stage.record("text", text.serialize("topic", [], "h\u00e4llo"))
    stage.record("bytes", text.serialize("topic", [], b"bytes"))
    stage.record("None", text.serialize("topic", [], None))
    stage.record("back", text.deserialize("topic", [], "h\u00e4llo".encode()))
    stage.record("back None", text.deserialize("topic", [], None))
    stage.record("latin", module.DefaultSerializer("latin-1").serialize("topic", [], "\u00e4"))
    stage.attempt("a number", text.serialize, "topic", [], 5)
    value = module.JsonSerializer()
    stage.record("JSON", value.serialize("topic", [], {"a": [1, None]}))
    stage.record("JSON None", value.serialize("topic", [], None))
    stage.record("JSON back", value.deserialize("topic", [], b'{"a": [1]}'))
    stage.attempt("no JSON", value.deserialize, "topic", [], b"{")
    wrapper = module.SerializeWrapper(lambda data: data * 2)
    stage.record("function", wrapper.serialize("topic", [], b"ab"))
    stage.record("no function", module.SerializeWrapper(None).serialize("topic", [], b"ab"))
    stage.raised("the base", module.Serializer)


@on_kafka("3")
def a_serializer_of_3_may_add_headers(kafka, stage):
    topic = stage.topic()

    class Own(stage.module("serializer").Serializer):
        def serialize(self, topic, headers, data):
            stage.record("called", (topic, list(headers), data))
            headers.append(("added", b"1"))
            return data.encode()

        def close(self):
            stage.record("closed", True)

    producer = stage.producer(value_serializer=Own())
    stage.attempt("first", lambda: producer.send(topic, "value").get(timeout=WAIT_SECONDS))
    given = producer.send(topic, "value", headers=[("given", b"0")])
    stage.attempt("given", given.get, timeout=WAIT_SECONDS)
    stage.record("stored", [record[:4] for record in stage.records_of(topic)])
    producer.close()


@on_kafka("2")
def a_serializer_of_2_is_an_object_or_a_function(kafka, stage):
    topic = stage.topic()

    class Own(stage.module("serializer").Serializer):
        def serialize(self, topic, value):
            stage.record("called", (topic, value))
            return value.encode()

        def close(self):
            stage.record("closed", True)

    producer = stage.producer(value_serializer=Own(), key_serializer=str.encode)
    stage.attempt("sent", lambda: producer.send(topic, "value", "key").get(timeout=WAIT_SECONDS))
    stage.record("stored", [record[:4] for record in stage.records_of(topic)])
    producer.close()
