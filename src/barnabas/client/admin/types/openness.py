"""Enumerations that a newer broker may extend."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class OpenEnum(IntEnum):
    """Numbers that this release does not know become UNKNOWN, which subclasses define."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        return cls["UNKNOWN"] if isinstance(value, int) else None
