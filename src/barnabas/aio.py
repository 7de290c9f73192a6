"""The clients for asyncio: the same names as in `barnabas`, with `await` in place of waiting.

from barnabas import aio

async with aio.Producer("localhost:9092") as producer:
    delivery = await producer.send("flights", b"...")
    print(await delivery)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.client.admin.admin import Admin
    from barnabas.client.consume.consumer import Consumer
    from barnabas.client.consume.parallel import ParallelConsumer
    from barnabas.client.produce.producer import Producer
    from barnabas.client.share.consumer import ShareConsumer
    from barnabas.registry.registry import Registry
    from barnabas.registry.serializers.awaited import (
        AvroDeserializer,
        AvroSerializer,
        JSONDeserializer,
        JSONSerializer,
        ProtobufDeserializer,
        ProtobufSerializer,
    )

__all__ = [
    "Admin",
    "AvroDeserializer",
    "AvroSerializer",
    "Consumer",
    "JSONDeserializer",
    "JSONSerializer",
    "ParallelConsumer",
    "Producer",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "Registry",
    "ShareConsumer",
]

_HOMES = {
    "Admin": "barnabas.client.admin.admin",
    "AvroDeserializer": "barnabas.registry.serializers.awaited",
    "AvroSerializer": "barnabas.registry.serializers.awaited",
    "Consumer": "barnabas.client.consume.consumer",
    "JSONDeserializer": "barnabas.registry.serializers.awaited",
    "JSONSerializer": "barnabas.registry.serializers.awaited",
    "ParallelConsumer": "barnabas.client.consume.parallel",
    "Producer": "barnabas.client.produce.producer",
    "ProtobufDeserializer": "barnabas.registry.serializers.awaited",
    "ProtobufSerializer": "barnabas.registry.serializers.awaited",
    "Registry": "barnabas.registry.registry",
    "ShareConsumer": "barnabas.client.share.consumer",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'barnabas.aio' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
