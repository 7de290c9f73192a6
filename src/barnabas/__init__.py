"""A Kafka toolkit for Python.

    from barnabas import Producer, Consumer, Admin, TopicPartition, Record

`barnabas.aio` has the same clients for asyncio. Everything is imported on first use, so that
`import barnabas` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas._kernel import Delivery, Record
    from barnabas.client.admin_types import NewTopic
    from barnabas.errors import BarnabasError
    from barnabas.sync.admin import Admin
    from barnabas.sync.consumer import Consumer
    from barnabas.sync.producer import Producer
    from barnabas.types import (
        Node,
        OffsetAndMetadata,
        OffsetAndTimestamp,
        PartitionInfo,
        RecordMetadata,
        TimestampType,
        TopicPartition,
    )

__version__ = "0.1.0"

__all__ = [
    "Admin",
    "BarnabasError",
    "Consumer",
    "Delivery",
    "NewTopic",
    "Node",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "PartitionInfo",
    "Producer",
    "Record",
    "RecordMetadata",
    "TimestampType",
    "TopicPartition",
]

_HOMES = {
    "Admin": "barnabas.sync.admin",
    "BarnabasError": "barnabas.errors",
    "Consumer": "barnabas.sync.consumer",
    "Delivery": "barnabas._kernel",
    "NewTopic": "barnabas.client.admin_types",
    "Producer": "barnabas.sync.producer",
    "Record": "barnabas._kernel",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'barnabas' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "barnabas.types")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
