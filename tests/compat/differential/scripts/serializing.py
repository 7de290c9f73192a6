"""Serializers, and the clients that use them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_both, script
from tests.compat.differential.stage import WAIT, Stage


@script()
def numbers_and_texts_are_serialized(kafka: ModuleType, stage: Stage) -> None:
    serialization: Any = stage.module("serialization")
    for name, values in (
        ("StringSerializer", ["a", "ünï", "", None, 3, b"a"]),
        ("IntegerSerializer", [0, 1, -1, 2**31 - 1, 2**31, None, "a", 1.5, True]),
        ("DoubleSerializer", [0.0, 1.5, -1, None, "a", float("inf")]),
    ):
        serializer = getattr(serialization, name)()
        for value in values:
            stage.attempt(f"{name} {value!r}", serializer, value)
            stage.attempt(f"{name} {value!r} with a context", serializer, value, None)
        stage.attempt("nothing", serializer)
    stage.attempt("latin", lambda: serialization.StringSerializer("latin-1")("ü"))
    stage.attempt("unknown codec", lambda: serialization.StringSerializer("nonsense")("ü"))
    stage.attempt("not in the codec", lambda: serialization.StringSerializer("ascii")("ü"))


@script()
def numbers_and_texts_are_deserialized(kafka: ModuleType, stage: Stage) -> None:
    serialization: Any = stage.module("serialization")
    for name, values in (
        ("StringDeserializer", [b"a", "ünï".encode(), b"\xff", b"", None, 3, "a"]),
        ("IntegerDeserializer", [b"\0\0\0\1", b"\xff" * 4, b"\0", b"", None, "a", b"\0" * 5]),
        ("DoubleDeserializer", [b"\0" * 8, b"\x3f\xf8" + b"\0" * 6, b"\0", None, "a"]),
    ):
        deserializer = getattr(serialization, name)()
        for value in values:
            stage.attempt(f"{name} {value!r}", deserializer, value)
    stage.attempt("utf-16", lambda: serialization.StringDeserializer("utf_16")(b"a\0b\0"))


@script()
def serialization_contexts_say_where_a_value_is_from(kafka: ModuleType, stage: Stage) -> None:
    serialization: Any = stage.module("serialization")
    context = serialization.SerializationContext("t", serialization.MessageField.KEY)
    stage.record("attributes", vars(context))
    stage.record("headers", vars(serialization.SerializationContext("t", "value", [("a", b"1")])))
    fields = vars(serialization.MessageField)
    stage.record("fields", {name: value for name, value in fields.items() if not name.startswith("_")})
    stage.attempt("nothing", serialization.SerializationContext)
    error = serialization.SerializationError("why")
    stage.record("error", [type(error), str(error), repr(error), error])
    for name in ("Serializer", "Deserializer"):
        stage.attempt(f"{name} itself", lambda n=name: getattr(serialization, n)()(b"a", None))
    stage.record("names", sorted(name for name in serialization.__all__))


@script()
def serializing_producers_check_their_settings(kafka: ModuleType, stage: Stage) -> None:
    stage.attempt("nothing", lambda: kafka.SerializingProducer())
    stage.attempt("a number", kafka.SerializingProducer, 3)
    stage.attempt("unknown", kafka.SerializingProducer, {"foo": 1})
    stage.attempt("keywords", lambda: kafka.SerializingProducer(**{"key.serializer": None}))
    stage.attempt("no group", kafka.DeserializingConsumer, {})
    stage.attempt("unknown of a consumer", kafka.DeserializingConsumer, {"group.id": "g", "foo": 1})
    stage.attempt("value.serializer of a consumer", kafka.DeserializingConsumer, {"value.serializer": str})
    settings = {"log_level": 0, "key.serializer": lambda value, context: value}
    kafka.SerializingProducer(settings).close()
    stage.record("left as it was", settings)


@script()
def what_cannot_be_serialized_is_refused(kafka: ModuleType, stage: Stage) -> None:
    serialization: Any = stage.module("serialization")
    producer = kafka.SerializingProducer(
        {
            "log_level": 0,
            "key.serializer": serialization.IntegerSerializer(),
            "value.serializer": serialization.StringSerializer(),
        }
    )
    stage.attempt("key", producer.produce, "t", "text", "v")
    stage.attempt("value", producer.produce, "t", 1, 3)
    stage.attempt("topic", producer.produce, 3, 1, "v")
    stage.attempt("no topic", producer.produce)
    stage.attempt("good", producer.produce, "t", 1, "v")
    stage.record("len", len(producer))
    producer.purge()
    stage.attempt("close", producer.close)
    stage.attempt("closed", producer.produce, "t", 1, "v")


@script()
def a_serializer_is_given_a_context(kafka: ModuleType, stage: Stage) -> None:
    def serialize(value: Any, context: Any) -> bytes:
        stage.record("value", value)
        stage.record("context", vars(context))
        return b"serialized"

    producer = kafka.SerializingProducer(
        {"log_level": 0, "key.serializer": serialize, "value.serializer": serialize}
    )
    report = stage.callback("report")
    stage.attempt("produce", producer.produce, "t", key=1, value=2, headers={"h": b"1"}, on_delivery=report)
    stage.attempt("none", producer.produce, "t", on_delivery=report)
    producer.purge()
    stage.attempt("flush", producer.flush, 1)
    producer.close()


@script()
def exceptions_of_serializers_are_wrapped(kafka: ModuleType, stage: Stage) -> None:
    def fail(value: Any, context: Any) -> bytes:
        raise ValueError("mine")

    for name in ("key.serializer", "value.serializer"):
        producer = kafka.SerializingProducer({"log_level": 0, name: fail})
        try:
            producer.produce("t", key="k", value="v")
        except Exception as error:
            stage.record(name, error)
            stage.record("attributes", vars(error))
            stage.record("shown", [str(error), repr(error)])
            stage.record("cause", error.__cause__ or error.__context__)
        producer.close()


@on_both()
def objects_are_produced_and_consumed(kafka: ModuleType, stage: Stage) -> None:
    serialization: Any = stage.module("serialization")
    topic = stage.topic()
    producer = kafka.SerializingProducer(
        {
            "bootstrap.servers": stage.bootstrap,
            "key.serializer": serialization.IntegerSerializer(),
            "value.serializer": serialization.StringSerializer(),
        }
    )
    report = stage.callback("report")
    producer.produce(topic, 7, "sevén", headers=[("h", b"1")], on_delivery=report)
    producer.produce(topic, None, None, timestamp=1_600_000_000_000, on_delivery=report)
    stage.attempt("flush", producer.flush, WAIT)
    producer.close()
    consumer = kafka.DeserializingConsumer(
        {
            "bootstrap.servers": stage.bootstrap,
            "group.id": stage.group(),
            "key.deserializer": serialization.IntegerDeserializer(),
            "value.deserializer": serialization.StringDeserializer(),
        }
    )
    stage.closing(consumer.close)
    consumer.assign([kafka.TopicPartition(topic, 0, 0)])
    for message in stage.messages(consumer, 2):
        stage.record("key and value", [message.key(), message.value(), message.headers()])
        stage.record("deserialized", [message.deserialized_key(), message.deserialized_value()])
    stage.attempt("nothing", consumer.poll, 0.1)
    stage.attempt("consume", consumer.consume, 1, 0.1)


@on_both()
def what_cannot_be_deserialized_is_told(kafka: ModuleType, stage: Stage) -> None:
    serialization: Any = stage.module("serialization")
    topic = stage.topic()
    stage.fill_records(topic, (b"k", b"v", None), (b"\0\0\0\1", b"\xff", None))
    consumer = kafka.DeserializingConsumer(
        {
            "bootstrap.servers": stage.bootstrap,
            "group.id": stage.group(),
            "enable.partition.eof": True,
            "key.deserializer": serialization.IntegerDeserializer(),
            "value.deserializer": serialization.StringDeserializer(),
        }
    )
    stage.closing(consumer.close)
    consumer.assign([kafka.TopicPartition(topic, 0, 0)])
    found: list[Exception] = []

    def poll() -> None:
        try:
            consumer.poll(0.2)
        except Exception as error:
            found.append(error)

    stage.until(lambda: len(found) >= 3, poll)
    for error in found:
        stage.record("error", error)
        stage.record("attributes", vars(error))
        stage.record("shown", [str(error), repr(error)])
