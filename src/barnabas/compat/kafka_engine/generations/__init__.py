"""The generations of kafka-python, and which of them this process is to see.

Owns the choice. All that differs between them stands in this folder, as tables that the documentation is made
from. Code asks `generation()` for a value and never for its name. Knows no client.
"""

from __future__ import annotations

import os
import sys
from functools import cache

from barnabas.compat.kafka_engine.generations.generation import Generation, differences
from barnabas.compat.kafka_engine.generations.table import GENERATIONS
from barnabas.errors import InvalidSettingError, MisuseError

__all__ = [
    "ENVIRONMENT_VARIABLE",
    "GENERATIONS",
    "Generation",
    "choose",
    "differences",
    "generation",
    "generation_of",
]

ENVIRONMENT_VARIABLE = "BARNABAS_KAFKA_PYTHON"
_FACADE = "barnabas.compat.kafka"

_NEWEST = "3"
_chosen: list[str] = []


def choose(version: str) -> None:
    """Has this process see the generation of a version of kafka-python, such as "1.2", "2" or "3.0.12".

    Raises: InvalidSettingError for one that there is not, MisuseError once the facade is imported as another.
    """
    name = generation_of(version)
    if _FACADE in sys.modules and generation().name != name:
        raise MisuseError(
            f"kafka is imported already as kafka-python {generation().name}: choose {name} before anything "
            "imports it"
        )
    _chosen[:] = [name]
    generation.cache_clear()


@cache
def generation() -> Generation:
    """The one that was chosen, else that of the environment variable BARNABAS_KAFKA_PYTHON, else the newest.
    Raises: InvalidSettingError."""
    if _chosen:
        return GENERATIONS[_chosen[0]]
    return GENERATIONS[generation_of(os.environ.get(ENVIRONMENT_VARIABLE) or _NEWEST)]


def generation_of(version: str) -> str:
    """The name of the generation that a version of kafka-python is of. Raises: InvalidSettingError."""
    for name in GENERATIONS:
        if f"{version}.".startswith(f"{name}."):
            return name
    if version == "1":
        return "1.2"
    raise InvalidSettingError(
        f"there is no facade for kafka-python {version}: {ENVIRONMENT_VARIABLE}, install(version=...) and "
        f"--kafka-python take {', '.join(GENERATIONS)}"
    )
