"""Calls of an Admin for several things, some of which may fail."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

from barnabas.errors import BarnabasError

K = TypeVar("K")
T = TypeVar("T")


async def succeeded(call: Awaitable[dict[K, T]]) -> dict[K, T]:
    """What a call of Admin for several items has found: those that failed are left out. Raises: BarnabasError
    where the whole call failed."""
    try:
        return await call
    except BarnabasError as error:
        if error.outcome is None:
            raise
        results: dict[Any, Any] = dict(error.outcome.results)
        return results
