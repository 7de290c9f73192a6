"""kafka-python on Barnabas, in one of its generations: 1.2, 2 or 3.

BARNABAS_KAFKA_PYTHON, `barnabas.compat.install("kafka", version=...)` or `--kafka-python` chooses; 3 where
nothing is said. Names that no other generation contradicts are there in each. What they stand on is in
`barnabas.compat.kafka_engine`.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
from typing import Any

from barnabas.compat.kafka.version import __version__ as __version__
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.generations.names import HOME_OF_NAMES, MODULES

__title__ = "kafka"

__all__ = generation().kafka_names  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own

logging.getLogger("kafka").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    """Modules are imported when they or one of their names are asked for: a program pays only for what it
    uses."""
    if name in MODULES and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    home = generation().kafka_client if name == "KafkaClient" else HOME_OF_NAMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kafka' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"barnabas.compat.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
