"""What the values of some settings look like beyond their type, in the words of Kafka's refusals."""

from __future__ import annotations

import re
from decimal import Decimal

_REPLICA = re.compile(r"\d+:\d+")


def gzip_level(value: str) -> None:
    """1 to 9, or -1. Raises: ValueError."""
    if not (1 <= int(value) <= 9 or int(value) == -1):
        raise ValueError("Value must be between 1 and 9 or equal to -1")


def replicas(name: str, value: str) -> None:
    """Of the setting `name`: partition:broker, any number of them, or * for all. Raises: ValueError."""
    words = words_of(value)
    if words != ["*"] and not all(_REPLICA.fullmatch(word) for word in words):
        raise ValueError(
            f"{name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        )


def words_of(value: str) -> list[str]:
    """A list's words."""
    return [word.strip() for word in value.split(",")] if value.strip() else []


def as_java_shows(number: float) -> str:
    """A double as text, as Java's Double.toString has it."""
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    power = len(digits) - 1 + int(exponent)
    return f"{'-' * sign}{text[0]}.{text[1:] or '0'}E{power}"
