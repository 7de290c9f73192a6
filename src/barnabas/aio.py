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
    from barnabas.client.admin import Admin
    from barnabas.client.consumer import Consumer
    from barnabas.client.parallel import ParallelConsumer
    from barnabas.client.producer import Producer
    from barnabas.client.share_consumer import ShareConsumer

__all__ = ["Admin", "Consumer", "ParallelConsumer", "Producer", "ShareConsumer"]

_HOMES = {
    "Admin": "barnabas.client.admin",
    "Consumer": "barnabas.client.consumer",
    "ParallelConsumer": "barnabas.client.parallel",
    "Producer": "barnabas.client.producer",
    "ShareConsumer": "barnabas.client.share_consumer",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'barnabas.aio' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
