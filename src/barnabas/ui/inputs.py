"""What pages read out of forms beyond numbers, and what brokers say to it. Knows no page."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from enum import IntEnum
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from barnabas.errors import BarnabasError, BrokerError, NoCommonVersionError
from barnabas.records.asked import UsageError
from barnabas.records.times import timestamp_ms

E = TypeVar("E", bound=IntEnum)
T = TypeVar("T")


def word_of(member: IntEnum) -> str:
    """`transactional id` for TRANSACTIONAL_ID."""
    return member.name.lower().replace("_", " ")


def member_of(kind: type[E], values: Mapping[str, str], name: str) -> E:
    """The member that was chosen by its word. Raises: HTTPException (400)."""
    said = values.get(name, "")
    found = {word_of(each): each for each in kind if each.name != "UNKNOWN"}
    if said not in found:
        raise HTTPException(400, f"{name}: {said!r} is none of {', '.join(found)}")
    return found[said]


def pairs_in(values: Mapping[str, str], name: str) -> dict[str, str]:
    """Of lines `name=value`; empty ones count for nothing. Raises: HTTPException (400)."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, values.get(name, "").splitlines())):
        key, equals, value = (part.strip() for part in line.partition("="))
        if not key or not equals:
            raise HTTPException(400, f"{name}: {line!r} is not NAME=VALUE")
        found[key] = value
    return found


def time_in(values: Mapping[str, str], name: str) -> int:
    """Milliseconds since 1970 of what somebody typed: `2h` ago, or 2026-01-31T12:00.
    Raises: HTTPException (400)."""
    try:
        return timestamp_ms(values.get(name, ""), name)
    except UsageError as error:
        raise HTTPException(400, str(error)) from None


async def told(call: Awaitable[T]) -> tuple[T | None, str | None]:
    """What the brokers answer, or why they do not: they are too old, it is not switched on, or not
    for this user. Raises: BarnabasError where they cannot be reached."""
    try:
        return await call, None
    except NoCommonVersionError:
        return None, "These brokers are too old to tell."
    except BrokerError as error:
        return None, str(error)


async def objection(call: Awaitable[Any]) -> str | None:
    """What is said against a change that was only to be checked; None: nothing."""
    try:
        await call
    except BarnabasError as error:
        return str(error)
    return None
