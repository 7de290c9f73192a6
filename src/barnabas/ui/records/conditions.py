"""Conditions in CEL that somebody typed into a search. Knows no record of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.records.asked import UsageError
from barnabas.records.fields import fields_of

if TYPE_CHECKING:
    from barnabas.ui.records.decoding import ShownRecord

CALLED = "CEL"
MOST_LETTERS = 4_000


class CelCondition:
    """It sees of records what the page shows: fields that are masked hold what stands in their place."""

    def __init__(self, text: str) -> None:
        """Raises: UsageError, MissingExtraError."""
        # Here and not above: it needs an extra.
        from barnabas.records.conditions import condition

        if len(text) > MOST_LETTERS:
            raise UsageError(f"{CALLED}: {len(text):,} letters are too many; {MOST_LETTERS:,} are allowed")
        try:
            self._holds = condition(text, CALLED)
        except RecursionError:
            raise UsageError(f"{CALLED}: the expression has too many levels") from None

    def of(self, records: Sequence[ShownRecord]) -> list[bool]:
        """Raises: UsageError where it names what no record has, or is no condition."""
        return [self._of_one(record) for record in records]

    def _of_one(self, record: ShownRecord) -> bool:
        try:
            return self._holds(fields_of(record.as_read))
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
            # What cel-python raises where its own types do not expect a value.
            return False


async def cel_condition(text: str) -> CelCondition | None:
    """None for no text. Raises: UsageError, MissingExtraError."""
    text = text.strip()
    return await asyncio.to_thread(CelCondition, text) if text else None
