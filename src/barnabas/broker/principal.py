"""Who a client is, in Kafka's form: `User:alice`. Knows nothing of how anybody proves it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Principal:
    """`by_token`: proved by a delegation token, which somebody else may have got (KIP-48)."""

    name: str
    type: str = "User"
    by_token: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("ANONYMOUS")
"""Whoever comes without proving anything."""
