"""The shape of one known change. Knows none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from barnabas.migrate.findings import Effect

__all__ = ["BREAKS", "CHANGES", "KAFKA_4", "Change", "Use"]

BREAKS, CHANGES = Effect.BREAKS, Effect.CHANGES
KAFKA_4 = "Kafka 4"


class Use(Enum):
    """What a source has to do with something for a change to matter."""

    NAMED = auto()
    """It imports or mentions it."""
    CALLED = auto()
    ANSWER_USED = auto()
    """It calls it and does something with the answer."""
    UNPACKED = auto()
    """It unpacks it into several names, or indexes it by number."""


@dataclass(frozen=True)
class Change:
    """One thing that is not any more what it was."""

    of: str
    """As `bindings` names values; a method is `package:Class().method`."""
    with_: str
    """The generation of kafka-python in which it is so first, or `KAFKA_4`."""
    effect: Effect
    reason: str
    instead: str = ""
    use: Use = Use.CALLED
    argument: str | None = None
    """Matters to calls alone that give this argument; keys of a dictionary count for clients made of one."""
    position: int | None = None
    """Where that argument may stand without its name, from 0."""
    values: tuple[object, ...] = ()
    """Matters to calls alone that give the argument one of these, where the source says what it gives."""
    besides: tuple[str, tuple[object, ...]] | None = None
    """Matters to calls alone that give this other argument one of these values as well."""
    lacking: bool = False
    """Matters to calls alone that do not give the argument."""
    generations: tuple[str, ...] = ()
    """Matters to programs alone that are to run with one of these generations of kafka-python."""
