"""confluent_kafka.aio: the same code on the real package and on ours, and what only ours promises."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.compat.confluent_kafka.packages import REAL, Log, same

from barnabas.testing import ApacheKafka


def fill(bootstrap: str, topic: str, count: int) -> None:
    producer = REAL.Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        producer.produce(topic, str(number), "key", headers=[("a", b"b")])
    assert producer.flush(30) == 0


def group_settings(bootstrap: str, **others: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": uuid.uuid4().hex,
        "auto.offset.reset": "earliest",
        **others,
    }


@pytest.fixture
def run() -> Callable[[Awaitable[Any]], Any]:
    """Runs a coroutine, which has to end within half a minute."""

    def run(work: Awaitable[Any]) -> Any:
        return asyncio.run(asyncio.wait_for(work, 30))

    return run


class TestSerializing:
    def test_messages_are_serialized_and_deserialized(self, apache_kafka: ApacheKafka, topic: Any) -> None:
        async def scenario(package: Any, log: Log) -> None:
            name = topic()

            async def encode(value: Any, context: Any) -> bytes:
                log.say("encode", value, context.field.value, context.headers)
                return str(value).encode()

            def decode(value: bytes, context: Any) -> str:
                log.say("decode", value, context.field.value)
                return value.decode("ascii")

            async def decode_later(value: bytes, context: Any) -> Any:
                return decode(value, context)

            conf = {"bootstrap.servers": apache_kafka.bootstrap}
            serializers = {"key.serializer": package.StringSerializer(), "value.serializer": encode}
            making = package.AsyncSerializingProducer({**conf, **serializers}, max_workers=2, batch_size=1)
            async with await making as producer:
                future = await producer.produce(name, "key", 5)
                await log.await_("number", lambda: producer.produce(name, 5, 5))
                await log.await_("topic", lambda: producer.produce(5, "key", 5))
                await log.await_("headers", lambda: producer.produce(name, "key", 5, headers={"a": b"b"}))
                await log.await_("callback", lambda: producer.produce(name, on_delivery=print))
                await producer.flush()
                log.say((await future).key(), (await future).value())
                await (await producer.produce(topic=name, key="é", value="v", partition=0, headers=None))
            await log.await_("close", producer.close)
            await log.await_("closed", lambda: producer.produce(name, 5, 5))
            await log.await_("closed", lambda: producer.produce(5, 5, 5))
            deserializers = {"key.deserializer": decode, "value.deserializer": decode_later}
            settings = group_settings(apache_kafka.bootstrap, **{"enable.partition.eof": True})
            async with await package.AsyncDeserializingConsumer({**settings, **deserializers}) as consumer:
                await consumer.subscribe([name])
                for _ in range(3):
                    await log.await_("poll", lambda: consumer.poll(20))
                await consumer.seek(package.TopicPartition(name, 0, 0))
                await log.await_("consume", lambda: consumer.consume(1, 20))
                await log.await_("consume", lambda: consumer.consume(num_messages=1, timeout=60))
                await log.await_("end", lambda: consumer.consume(1, 20))
            await log.await_("close", consumer.close)

        same(scenario)

    def test_builders_may_be_coroutine_functions(self, apache_kafka: ApacheKafka) -> None:
        async def scenario(package: Any, log: Log) -> None:
            class Serializer:
                def set_async_cluster_id_resolver(self, resolver: Any) -> None:
                    log.say("resolver")
                    self.resolver = resolver

                async def aclose(self) -> None:
                    log.say("aclose")

            class Builder:
                async def build(self, conf: dict[str, Any], is_key: bool) -> Any:
                    log.say("build", is_key)
                    self.built = Serializer()
                    return self.built, conf

            builder = Builder()
            conf = {"bootstrap.servers": apache_kafka.bootstrap, "key.serializer.builder": builder}
            async with await package.AsyncSerializingProducer(conf) as producer:
                resolve = builder.built.resolver
                ids = await asyncio.gather(resolve(), resolve())
                log.say(ids == [await producer.cluster_id(10)] * 2)
            settings = group_settings(apache_kafka.bootstrap)
            builders = {"value.deserializer.builder": builder}
            async with await package.AsyncDeserializingConsumer({**settings, **builders}):
                log.say("made")
            both = {**conf, "key.serializer": 5}
            await log.await_("both", lambda: package.AsyncSerializingProducer(both))
            wrong = {**conf, "no.such.property": 5}
            await log.await_("unknown", lambda: package.AsyncSerializingProducer(wrong))

        same(scenario)
