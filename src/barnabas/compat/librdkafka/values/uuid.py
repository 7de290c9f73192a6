"""`Uuid`, what programs for librdkafka know a topic's id as."""

from __future__ import annotations

import base64
from typing import NoReturn

from barnabas.compat.librdkafka.values.arguments import c_arguments


class Uuid:
    """128 bits that identify something, a topic for instance, as two signed numbers of 64 bits.

    As text it is in base64. Two of them are never equal unless they are one: compare the texts or the bits.
    """

    __slots__ = ("_least", "_most")
    __module__ = "cimpl"

    @c_arguments("LL")
    def __init__(self, most_significant_bits: int, least_significant_bits: int) -> None:
        self._most = most_significant_bits
        self._least = least_significant_bits

    def get_most_significant_bits(self) -> int:
        """The upper 64 bits, as a signed number."""
        return self._most

    def get_least_significant_bits(self) -> int:
        """The lower 64 bits, as a signed number."""
        return self._least

    def __repr__(self) -> str:
        bits = b"".join(half.to_bytes(8, "big", signed=True) for half in (self._most, self._least))
        return base64.b64encode(bits).decode("ascii").rstrip("=")

    def __hash__(self) -> int:
        return self._most ^ self._least

    def __eq__(self, other: object) -> bool:
        return self is other

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        # Those of the original can be neither copied nor pickled.
        raise TypeError("cannot pickle 'cimpl.Uuid' object")
