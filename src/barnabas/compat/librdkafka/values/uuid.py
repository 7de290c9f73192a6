"""`Uuid`, what programs for librdkafka know a topic's id as."""

from __future__ import annotations

import base64
from typing import Any, NoReturn, Self

from barnabas.compat.librdkafka.values.arguments import c_arguments, no_state


class Uuid:
    """128 bits that identify something, a topic for instance, as two signed numbers of 64 bits.

    As text it is in base64. Two of them are never equal unless they are one: compare the texts or the bits.
    """

    __slots__ = ("_least", "_most")
    __module__ = "cimpl"

    _most: int | None
    """None where __init__ did not run."""
    _least: int | None

    def __new__(cls, *_: Any, **__: Any) -> Self:
        made = super().__new__(cls)
        made._most = made._least = None
        return made

    @c_arguments("LL")
    def __init__(self, most_significant_bits: int, least_significant_bits: int) -> None:
        self._most = most_significant_bits
        self._least = least_significant_bits

    def get_most_significant_bits(self) -> int | None:
        """The upper 64 bits, as a signed number."""
        return self._most

    def get_least_significant_bits(self) -> int | None:
        """The lower 64 bits, as a signed number."""
        return self._least

    def __repr__(self) -> str:
        if self._most is None or self._least is None:
            return None  # type: ignore[return-value]
        bits = b"".join(half.to_bytes(8, "big", signed=True) for half in (self._most, self._least))
        return base64.b64encode(bits).decode("ascii").rstrip("=")

    def __hash__(self) -> int:
        return (self._most or 0) ^ (self._least or 0)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __getstate__(self) -> NoReturn:
        raise no_state(self)
