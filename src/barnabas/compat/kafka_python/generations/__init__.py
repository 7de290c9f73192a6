"""The generations of kafka-python, and which of them this process is to see.

Owns the choice, and what a generation is: all that differs between them stands in this folder, as tables
that the documentation is made from. Code asks `generation()` for a value and never for its name. Knows no
client.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from barnabas.compat.kafka_python.generations.names import (
    KAFKA_NAMES_OF_1,
    KAFKA_NAMES_OF_2,
    KAFKA_NAMES_OF_3,
)
from barnabas.errors import InvalidSettingError, MisuseError

__all__ = ["ENVIRONMENT_VARIABLE", "GENERATIONS", "Generation", "choose", "differences", "generation"]

ENVIRONMENT_VARIABLE = "BARNABAS_KAFKA_PYTHON"
_FACADE = "barnabas.compat.kafka"


def difference(meaning: str) -> Any:
    """A field of Generation, with the sentence that the documentation has for it."""
    return field(metadata={"meaning": meaning})


@dataclass(frozen=True)
class Generation:
    """How one generation of kafka-python behaves, where they contradict each other."""

    name: str
    """As it is chosen: "1.2", "2" or "3"."""
    version: str
    """Of the release that it is held to, by tests that run both."""
    kafka_names: tuple[str, ...] = difference("What `from kafka import *` gives")
    kafka_client: str = difference("The module that `kafka.KafkaClient` is of")
    consumer_record_fields: tuple[str, ...] = difference("The fields of a ConsumerRecord, in order")


_CONSUMER_RECORD_OF_1 = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value")
_CONSUMER_RECORD_OF_2 = (
    *(
        "topic",
        "partition",
        "leader_epoch",
        "offset",
        "timestamp",
        "timestamp_type",
        "key",
        "value",
        "headers",
    ),
    *("checksum", "serialized_key_size", "serialized_value_size", "serialized_header_size"),
)

GENERATIONS = {
    each.name: each
    for each in (
        Generation(
            name="1.2",
            version="1.2.1",
            kafka_names=KAFKA_NAMES_OF_1,
            kafka_client="kafka._legacy_client",
            consumer_record_fields=_CONSUMER_RECORD_OF_1,
        ),
        Generation(
            name="2",
            version="2.3.1",
            kafka_names=KAFKA_NAMES_OF_2,
            kafka_client="kafka.client_async",
            consumer_record_fields=_CONSUMER_RECORD_OF_2,
        ),
        Generation(
            name="3",
            version="3.0.12",
            kafka_names=KAFKA_NAMES_OF_3,
            kafka_client="kafka.client_async",
            consumer_record_fields=_CONSUMER_RECORD_OF_2,
        ),
    )
}
"""By the names that they are chosen by."""

_NEWEST = "3"
_chosen: list[str] = []


def choose(version: str) -> None:
    """Has this process see the generation of a version of kafka-python, such as "1.2", "2" or "3.0.12".

    Raises: InvalidSettingError for one that there is not, MisuseError once the facade is imported as another.
    """
    name = _generation_of(version)
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
    return GENERATIONS[_generation_of(os.environ.get(ENVIRONMENT_VARIABLE) or _NEWEST)]


def _generation_of(version: str) -> str:
    for name in GENERATIONS:
        if f"{version}.".startswith(f"{name}."):
            return name
    if version == "1":
        return "1.2"
    raise InvalidSettingError(
        f"there is no facade for kafka-python {version}: {ENVIRONMENT_VARIABLE}, install(version=...) and "
        f"--kafka-python take {', '.join(GENERATIONS)}"
    )


def differences() -> dict[str, str]:
    """What may differ between generations, by the name of its field: the sentence for it."""
    return {each.name: each.metadata["meaning"] for each in fields(Generation) if "meaning" in each.metadata}
