"""KafkaProducer and, for programs for 1.2, the producers that were there before it."""

from __future__ import annotations

import importlib
from typing import Any

from barnabas.compat.kafka.producer.kafka import KafkaProducer
from barnabas.compat.kafka_engine.generations import generation

_OF_1 = {"SimpleProducer": "simple", "KeyedProducer": "keyed"}

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
    "KafkaProducer",
    *(name for name in _OF_1 if name in generation().kafka_names),
]


def __getattr__(name: str) -> Any:
    if name not in _OF_1:
        raise AttributeError(f"module 'kafka.producer' has no attribute {name!r}")
    return getattr(importlib.import_module(f"barnabas.compat.kafka.producer.{_OF_1[name]}"), name)
