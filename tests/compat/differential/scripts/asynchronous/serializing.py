"""AsyncSerializingProducer and AsyncDeserializingConsumer: serializers of every kind, and what they raise."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_both, script
from tests.compat.differential.scripts.asynchronous.calls import attempt, read, run
from tests.compat.differential.stage import WAIT, Stage


def plain(value: Any, context: Any) -> Any:
    return None if value is None else str(value).encode()


async def awaited(value: Any, context: Any) -> Any:
    await asyncio.sleep(0)
    return None if value is None else str(value).encode()


def failing(value: Any, context: Any) -> Any:
    raise ValueError(f"not {value!r}")


async def failing_later(value: Any, context: Any) -> Any:
    await asyncio.sleep(0)
    raise KeyError(value)


class Callable:
    async def __call__(self, value: Any, context: Any) -> Any:
        return b"called"


KINDS = {"plain": plain, "awaited": awaited, "an object": Callable(), "none": None}
FAILING = {"failing": failing, "failing later": failing_later, "not callable": 3}


def _conf(stage: Stage, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": stage.bootstrap,
        "log_level": 0,
        "fetch.wait.max.ms": 50,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


@on_both()
def serializers_of_every_kind_make_messages(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()

    async def main() -> None:
        for label, serializer in KINDS.items():
            conf = _conf(stage, key_serializer=serializer, value_serializer=serializer)
            producer = await aio.AsyncSerializingProducer(conf, batch_size=1)
            for key, value in ((b"1", b"2"), (None, b"2"), (b"1", None), (None, None)):
                future = await producer.produce(topic, key, value)
                await producer.flush(WAIT)
                message = await future
                stage.record(f"{label} {key!r} {value!r}", [message.key(), message.value()])
            future = await producer.produce(topic=topic, value=b"v", key=b"k", partition=0, timestamp=0)
            await producer.flush(WAIT)
            stage.record(f"{label} by name", (await future).value())
            await producer.close()

    run(main())


@script()
def what_serializers_raise(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        for label, serializer in FAILING.items():
            for field in ("key", "value"):
                conf = {"log_level": 0, f"{field}.serializer": serializer}
                producer = await aio.AsyncSerializingProducer(conf, batch_size=1, buffer_timeout=0)
                for given in (None, "x"):
                    error = await attempt(
                        stage, f"{label} {field} {given}", producer.produce, "t", given, given
                    )
                    stage.record("no future", error)
                try:
                    await producer.produce("t", "k", "v")
                except kafka.error.KafkaException as raised:
                    stage.record("what it has", [raised.code, raised.name, raised.kafka_message])
                    stage.record("its cause", [raised.exception, raised.__cause__, raised.__context__])
                await attempt(stage, "close", producer.close)

    run(main())


@script()
def serializers_know_the_context(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    contexts: list[Any] = []

    async def watching(value: Any, context: Any) -> Any:
        contexts.append([context.topic, str(context.field), context.headers, type(context)])
        return b"x"

    async def main() -> None:
        conf = {"log_level": 0, "key.serializer": watching, "value.serializer": watching}
        producer = await aio.AsyncSerializingProducer(conf, batch_size=1, buffer_timeout=0)
        for headers in (None, {}, {"a": b"b"}, [("a", b"b")]):
            await attempt(stage, f"{headers}", lambda h=headers: _produced(producer, headers=h))
        for wrong in (None, 3, b"t", ""):
            await attempt(stage, f"to {wrong!r}", lambda topic=wrong: _produced(producer, topic=topic))
        stage.record("contexts", contexts)
        await attempt(stage, "purge", producer.purge)
        await attempt(stage, "close", producer.close)

    async def _produced(producer: Any, topic: Any = "t", headers: Any = None) -> Any:
        return isinstance(await producer.produce(topic, "k", "v", headers=headers), asyncio.Future)

    run(main())


@on_both()
def deserializers_of_every_kind_read_messages(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()
    stage.fill_records(topic, (b"k", b"v", [("h", b"x")]), (None, b"v", None), (b"k", None, None))

    async def main() -> None:
        for label, deserializer in KINDS.items():
            more = {"key_deserializer": deserializer, "value_deserializer": deserializer}
            consumer = await aio.AsyncDeserializingConsumer(_conf(stage, group_id=stage.group(), **more))
            await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
            for message in await read(consumer, 3):
                stage.record(label, [message.key(), message.value(), message.headers()])
                stage.record("deserialized", [message.deserialized_key(), message.deserialized_value()])
            await attempt(stage, "nothing more", consumer.poll, 0.01)
            await consumer.seek(kafka.TopicPartition(topic, 0, 1))
            batch = await consumer.consume(2, WAIT)
            stage.record("batch", [(message.key(), message.value()) for message in batch])
            await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def what_deserializers_raise(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.topic()
    stage.fill_records(topic, (b"k", b"v", None), (b"l", b"w", None))

    async def main() -> None:
        for label, deserializer in FAILING.items():
            for field in ("key", "value"):
                conf = _conf(stage, group_id=stage.group()) | {f"{field}.deserializer": deserializer}
                consumer = await aio.AsyncDeserializingConsumer(conf)
                await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
                await attempt(stage, f"{label} {field}: poll", consumer.poll, WAIT)
                try:
                    await consumer.poll(WAIT)
                except kafka.error.ConsumeError as raised:
                    stage.record("what it has", [raised.code, raised.name, raised.kafka_message])
                    stage.record("its cause", [raised.exception, raised.__cause__, raised.__context__])
                await consumer.seek(kafka.TopicPartition(topic, 0, 0))
                await attempt(stage, f"{label} {field}: consume", consumer.consume, 2, WAIT)
                await attempt(stage, "close", consumer.close)

    run(main())


@on_both()
def ends_of_partitions_of_deserializing_consumers(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    topic = stage.filled_topic("a")

    async def main() -> None:
        conf = _conf(stage, group_id=stage.group(), enable_partition_eof=True)
        consumer = await aio.AsyncDeserializingConsumer(conf)
        await consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        await attempt(stage, "message", consumer.poll, WAIT)
        await attempt(stage, "end", consumer.poll, WAIT)
        await consumer.seek(kafka.TopicPartition(topic, 0, 0))
        stage.record("batch", [m.error() or m.value() for m in await consumer.consume(2, WAIT)])
        for wrong in ("x", None):
            await attempt(stage, f"poll {wrong!r}", consumer.poll, wrong)
            await attempt(stage, f"consume {wrong!r}", consumer.consume, wrong)
        await attempt(stage, "poll of two", consumer.poll, 0, 0)
        await attempt(stage, "poll by a wrong name", consumer.poll, nonsense=0)
        await attempt(stage, "close", consumer.close)

    run(main())


@script()
def builders_of_serializers_are_awaited(kafka: ModuleType, stage: Stage) -> None:
    aio: Any = stage.module("aio")
    closed: list[str] = []

    class Built:
        def __call__(self, value: Any, context: Any) -> Any:
            return b"built"

        async def close(self) -> None:
            closed.append("closed")

    class Builder:
        def __init__(self, fails: bool) -> None:
            self.fails = fails

        async def build(self, conf: Any, is_key: Any) -> Any:
            if self.fails:
                raise ValueError("from the builder")
            return Built(), conf

    async def main() -> None:
        for kind, more, word in (
            (aio.AsyncSerializingProducer, {}, "serializer"),
            (aio.AsyncDeserializingConsumer, {"group.id": "g"}, "deserializer"),
        ):
            for fails in (False, True):
                conf = {"log_level": 0, **more, f"key.{word}.builder": Builder(False)}
                conf[f"value.{word}.builder"] = Builder(fails)
                client = await attempt(stage, f"{word} {fails}", _made, kind, conf)
                if client is not None:
                    await attempt(stage, "close", MADE.pop().close)
                stage.record("closed", closed)
                closed.clear()
            both = {"log_level": 0, **more, f"key.{word}": plain, f"key.{word}.builder": Builder(False)}
            await attempt(stage, "both", _made, kind, both)
            bad = {"log_level": 0, **more, f"key.{word}.builder": Builder(False), "nonsense": 1}
            await attempt(stage, "refused", _made, kind, bad)
            stage.record("closed", closed)
            closed.clear()
            await attempt(
                stage, "no builder", _made, kind, {"log_level": 0, **more, f"key.{word}.builder": 3}
            )

    run(main())


MADE: list[Any] = []


async def _made(kind: Any, conf: dict[str, Any]) -> bool:
    MADE.append(await kind(conf))
    return True
