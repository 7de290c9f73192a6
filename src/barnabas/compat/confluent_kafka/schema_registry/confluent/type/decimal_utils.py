# pyright: basic
"""`decimal.Decimal` as `confluent.type.Decimal`, and back: an unscaled number of so many digits, and its
scale."""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any

from barnabas.compat.confluent_kafka.schema_registry.confluent.type import decimal_pb2

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def from_proto_decimal(msg: Any) -> Decimal:
    """The number of a message."""
    unscaled = int.from_bytes(msg.value, "big", signed=True)
    return Decimal(unscaled).scaleb(-int(msg.scale), context=_EXACT)


def to_proto_decimal(d: Decimal) -> Any:
    """The message of a number, whose scale is the number's own. Raises: ValueError, for what is no number."""
    sign, digits, exponent = d.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"cannot convert non-finite Decimal '{d}' to confluent.type.Decimal")
    unscaled = int(Decimal((sign, digits, 0)))
    return decimal_pb2.Decimal(
        value=unscaled_to_bytes(unscaled), precision=max(len(digits), 1), scale=-exponent
    )


def unscaled_to_bytes(unscaled: int) -> bytes:
    """As few bytes as Java's BigInteger takes."""
    bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length() + 1
    return unscaled.to_bytes(max(1, (bits + 7) // 8), "big", signed=True)
