"""KafkaConsumer and, for programs for 1.2, the consumers that were there before it."""

from __future__ import annotations

import importlib
from typing import Any

from barnabas.compat.kafka.consumer.group import KafkaConsumer
from barnabas.compat.kafka_engine.generations import generation

_OF_1 = {"SimpleConsumer": "simple", "MultiProcessConsumer": "multiprocess"}

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
    "KafkaConsumer",
    *(name for name in _OF_1 if name in generation().kafka_names),
]


def __getattr__(name: str) -> Any:
    if name not in _OF_1:
        raise AttributeError(f"module 'kafka.consumer' has no attribute {name!r}")
    return getattr(importlib.import_module(f"barnabas.compat.kafka.consumer.{_OF_1[name]}"), name)
