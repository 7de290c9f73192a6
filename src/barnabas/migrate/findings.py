"""What a scan finds. Knows no rules."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Effect", "Finding"]


class Effect(StrEnum):
    """What becomes of a program."""

    BREAKS = "breaks"
    """It ends with an error where it did not."""
    CHANGES = "changes"
    """It goes on, and something of what it does or sees is different."""
    UNREAD = "unread"
    """The file is not Python to the Python that scans."""


@dataclass(frozen=True, order=True)
class Finding:
    """One place in a source."""

    file: str
    line: int
    column: int
    """From 1, as editors count."""
    effect: Effect
    with_: str
    """What it breaks or changes with, such as "kafka-python 2" or "Kafka 4"."""
    what: str
    """What stands there, by its full name."""
    reason: str
    instead: str
    """What to write instead; empty where nothing has to be written."""
