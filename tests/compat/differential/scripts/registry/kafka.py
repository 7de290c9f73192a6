"""Serializers of schema registries at work: in producers and consumers, on Kafka."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

from tests.compat.differential.recording_client import recording_client
from tests.compat.differential.script import on_both
from tests.compat.differential.scripts.registry.avro import NEWER
from tests.compat.differential.scripts.registry.clients import AVRO
from tests.compat.differential.scripts.registry.protobuf import classes, values
from tests.compat.differential.stage import WAIT, Stage


def _settings(stage: Stage, **more: Any) -> dict[str, Any]:
    return {"bootstrap.servers": stage.bootstrap, "log_level": 0, **more}


@on_both()
def serializers_of_a_registry_work_in_clients(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    protobuf = stage.module("schema_registry.protobuf")
    client, topic, kinds = recording_client(registry, stage), stage.topic(), classes()
    seen: list[bool] = []
    strategy = stage.module("schema_registry.serde").AssociatedNameStrategy()
    writer = avro.AvroSerializerBuilder(schema_registry_client=client, schema=AVRO)
    writer.set_serializer_config({"subject.name.strategy": strategy})
    producer = kafka.SerializingProducer(
        _settings(
            stage,
            **{
                "key.serializer": protobuf.ProtobufSerializer(kinds["a.Leaf"], client),
                "value.serializer.builder": writer,
            },
        )
    )
    seen.append(strategy._cluster_id_resolver is not None)
    stage.record("knows who tells the cluster's id", seen)
    leaf = values(kinds)["a.Leaf"]
    for value in ({"f": "x"}, {"f": "y"}, None):
        stage.within("produced", producer.produce, topic, leaf, value)
    stage.attempt("no such value", lambda: _kind(producer.produce, topic, leaf, {"f": 5}))
    stage.attempt("no such key", lambda: _kind(producer.produce, topic, 5, {"f": "x"}))
    producer.flush(WAIT)
    stage.fill(topic, b"no Avro", b"\0\0\0\0\x63unknown")
    consumer = kafka.DeserializingConsumer(
        _settings(
            stage,
            **{
                "group.id": stage.group(),
                "auto.offset.reset": "earliest",
                "key.deserializer": protobuf.ProtobufDeserializer(kinds["a.Leaf"], None, client),
                "value.deserializer.builder": avro.AvroDeserializerBuilder(
                    schema_registry_client=client, schema=NEWER
                ),
            },
        )
    )
    stage.closing(consumer.close)
    consumer.subscribe([topic])
    read: list[Any] = []

    def step() -> None:
        try:
            message = consumer.poll(0.5)
        except Exception as error:
            read.append([type(error).__name__, str(getattr(error, "args", [""])[0].code())])
        else:
            if message is not None:
                read.append([str(message.key()), message.value()])

    stage.until(lambda: len(read) >= 5, step)
    for each in read:
        stage.record("read", each)


def _kind(call: Any, *arguments: Any) -> Any:
    """What went wrong, without the words of other packages."""
    try:
        return call(*arguments)
    except Exception as error:
        return [type(error).__name__, str(getattr(error, "code", lambda: "")())]


@on_both()
def serializers_of_a_registry_work_in_asynchronous_clients(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    aio = stage.module("aio")
    topic = stage.topic()

    async def story() -> None:
        client = recording_client(registry, stage, is_async=True)
        producer = await aio.AsyncSerializingProducer(
            _settings(
                stage,
                **{
                    "value.serializer.builder": avro.AsyncAvroSerializerBuilder(
                        schema_registry_client=client, schema=AVRO
                    )
                },
            )
        )
        for value in ({"f": "x"}, {"f": "y"}):
            delivered = await producer.produce(topic, value=value)
            await producer.flush()
            message = await delivered
            stage.record("delivered", message.value())
        await producer.close()
        consumer = await aio.AsyncDeserializingConsumer(
            _settings(
                stage,
                **{
                    "group.id": stage.group(),
                    "auto.offset.reset": "earliest",
                    "value.deserializer": await avro.AsyncAvroDeserializer(client),
                },
            )
        )
        await consumer.subscribe([topic])
        found = 0
        while found < 2:
            message = await consumer.poll(1.0)
            if message is not None:
                stage.record("read", message.value())
                found += 1
        await consumer.close()

    asyncio.run(asyncio.wait_for(story(), 120))
