"""Functions of CEL for exact decimals, as Java's BigDecimal has them, and CEL's own that take decimals too.

Sums, differences and products are exact; quotients and roots have 38 digits. What would need more digits than
`WIDEST` to write down is refused before it is computed.
"""

# cel-python's types are its own.
# pyright: basic

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from celpy import celtypes
from celpy.evaluation import CELEvalError, bool_eq, bool_ne, operator_in

from barnabas.registry.rules.cel.timestamps import is_int, timestamp_text

MESSAGE_NAME = "confluent.type.Decimal"
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
ROUNDED = Context(prec=38, rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)
WIDEST = 10_000_000
# What Python turns into a whole number.
WIDEST_COEFFICIENT = 4300
DIGITS_A_BYTE = 2.408
LARGEST_SCALE = 2**31 - 1

_own_eq: Any = bool_eq
_own_ne: Any = bool_ne
_own_in: Any = operator_in


def of_value(value: Any) -> Decimal | None:
    """What is a decimal, or a message of one; None of all else."""
    if isinstance(value, Decimal):
        return value
    message: Any
    for message in (value, getattr(value, "msg", None)):
        if getattr(getattr(message, "DESCRIPTOR", None), "full_name", None) == MESSAGE_NAME:
            return _shifted(int.from_bytes(message.value, signed=True), int(message.scale))
    return None


def make(*values: Any) -> Decimal:
    """`decimal(x)`, `decimal(bytes, scale)`."""
    if len(values) == 2:
        data, scale = values
        if not isinstance(data, bytes | bytearray | memoryview):
            raise CELEvalError(
                f"decimal: expected bytes for the (bytes, scale) overload, got {type(data).__name__}"
            )
        number_scale = _scale(scale, "decimal(bytes, scale)")
        digits = int(len(data) * DIGITS_A_BYTE) + 1 if len(data) else 0
        _check_width(digits, "decimal(bytes, scale)", "the coefficient", WIDEST_COEFFICIENT)
        return _shifted(int.from_bytes(data, signed=True), number_scale)
    if len(values) != 1:
        raise CELEvalError(f"decimal: expected 1 or 2 args, got {len(values)}")
    value = values[0]
    known = of_value(value)
    if known is not None:
        return known
    if value is None:
        raise CELEvalError("decimal: cannot convert null to Decimal")
    if isinstance(value, bool | celtypes.BoolType):
        raise CELEvalError("decimal: cannot convert bool to Decimal")
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float | str):
        return _of_text(repr(float(value)) if isinstance(value, float) else str(value), value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise CELEvalError(
            "decimal: raw bytes need a scale; use decimal(bytes, scale) or set "
            "useLogicalTypeConverters=true on the Avro client so decimal fields arrive as Decimal"
        )
    raise CELEvalError(f"decimal: cannot convert {type(value).__name__} to Decimal")


def _of_text(text: str, given: Any) -> Decimal:
    # Python takes more for a number than BigDecimal does.
    try:
        number = None if "_" in text or text != text.strip() else Decimal(text)
    except decimal.InvalidOperation:
        number = None
    if number is None or not number.is_finite() or abs(_exponent(number)) > LARGEST_SCALE:
        raise CELEvalError(f"decimal: invalid number '{given}'")
    return _unsigned_zero(number)


def _d(value: Any) -> Decimal:
    """An argument, which may be what a decimal can be made of."""
    number = value if isinstance(value, Decimal) else make(value)
    if not number.is_finite():
        raise CELEvalError(f"decimal: not a finite number '{number}'")
    return number


def _shifted(unscaled: int, scale: int) -> Decimal:
    return Decimal(unscaled).scaleb(-scale, context=EXACT)


def _unsigned_zero(number: Decimal) -> Decimal:
    """BigDecimal has no zero with a sign."""
    return number if number else abs(number)


def _exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int):
        raise CELEvalError(f"decimal: not a finite number '{number}'")
    return exponent


def _digits(number: Decimal) -> int:
    return number.adjusted() - _exponent(number) + 1


def _scale(value: Any, function: str) -> int:
    if not is_int(value):
        raise CELEvalError(f"{function}: scale must be int, got {type(value).__name__}")
    if not -LARGEST_SCALE - 1 <= value <= LARGEST_SCALE:
        raise CELEvalError(f"{function}: scale out of int range: {int(value)}")
    return int(value)


def _check_width(needed: int, function: str, what: str, limit: int = WIDEST) -> None:
    if needed > limit:
        raise CELEvalError(
            f"{function}: {what} needs {needed} digits, past this client's {limit}-digit limit"
        )


# Arithmetic


def _aligned(function: str, compute: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Any, Any], Decimal]:
    def both(a: Any, b: Any) -> Decimal:
        x, y = _d(a), _d(b)
        finer = min(_exponent(x), _exponent(y))
        # A zero is one digit wherever it is written.
        needed = max(_digits(each) + _exponent(each) - finer if each else 1 for each in (x, y)) + 1
        _check_width(needed, function, "aligning the operands")
        return compute(x, y)

    return both


def _mul(a: Any, b: Any) -> Decimal:
    x, y = _d(a), _d(b)
    _check_width(_digits(x) + _digits(y), "decimals.mul", "the product")
    return EXACT.multiply(x, y)


def _div(a: Any, b: Any) -> Decimal:
    try:
        return ROUNDED.divide(_d(a), _d(b))
    except decimal.DivisionByZero as error:
        raise CELEvalError("decimals.div: division by zero") from error
    except decimal.DecimalException as error:
        raise CELEvalError(f"decimals.div: {error}") from error


def _mod(a: Any, b: Any) -> Decimal:
    x, y = _d(a), _d(b)
    if not y:
        raise CELEvalError("decimals.mod: division by zero")
    quotient_digits = max(0, x.adjusted() - y.adjusted()) + 1 if x else 1
    _check_width(quotient_digits, "decimals.mod", "the integral quotient")
    return EXACT.remainder(x, y)


def _sqrt(a: Any) -> Decimal:
    number = _d(a)
    if number < 0:
        raise CELEvalError("decimals.sqrt: square root of negative number")
    root = ROUNDED.sqrt(number)
    if EXACT.multiply(root, root) != number:
        return root
    # An exact one has half the scale, towards zero, as far as 38 digits allow.
    scale = -_exponent(number)
    wanted = scale // 2 if scale >= 0 else -(-scale // 2)
    if not root:
        return _rescaled(root, wanted, ROUND_HALF_UP, "decimals.sqrt")
    shortest = root.normalize(context=EXACT)
    least = -_exponent(shortest)
    room = ROUNDED.prec - _digits(shortest)
    return _rescaled(shortest, max(least, min(wanted, least + room)), ROUND_HALF_UP, "decimals.sqrt")


def _sign(a: Any) -> Any:
    number = _d(a)
    return celtypes.IntType((number > 0) - (number < 0))


def _rescaled(number: Decimal, scale: int, rounding: str, function: str) -> Decimal:
    if number:
        needed = max(1, _digits(number) + scale + _exponent(number))
        _check_width(needed, function, f"a scale of {scale}")
    try:
        return number.quantize(Decimal(1).scaleb(-scale, context=EXACT), rounding=rounding, context=EXACT)
    except decimal.DecimalException as error:
        raise CELEvalError(f"{function}: cannot represent a scale of {scale}") from error


def _round(*values: Any) -> Decimal:
    number, scale = _number_and_scale(values, "decimals.round")
    return _rescaled(number, scale, ROUND_HALF_UP, "decimals.round")


def _trunc(*values: Any) -> Decimal:
    number, scale = _number_and_scale(values, "decimals.trunc")
    if scale >= -_exponent(number):
        return number
    return _rescaled(number, scale, decimal.ROUND_DOWN, "decimals.trunc")


def _number_and_scale(values: tuple[Any, ...], function: str) -> tuple[Decimal, int]:
    if len(values) not in (1, 2):
        raise CELEvalError(f"{function}: expected 1 or 2 args, got {len(values)}")
    return _d(values[0]), _scale(values[1], function) if len(values) == 2 else 0


def _compared(holds: Callable[[Decimal], bool]) -> Callable[[Any, Any], Any]:
    return lambda a, b: celtypes.BoolType(holds(_d(a).compare(_d(b))))


# CEL's own, for decimals too


def string(value: Any) -> Any:
    if isinstance(value, celtypes.TimestampType):
        return celtypes.StringType(timestamp_text(value))
    number = of_value(value)
    if number is not None:
        if not number.is_finite():
            raise CELEvalError(f"decimal: not a finite number '{number}'")
        _check_width(_digits(number) + abs(_exponent(number)), "string", "the plain form")
        return celtypes.StringType(format(_unsigned_zero(number), "f"))
    if isinstance(value, bool | celtypes.BoolType):
        return celtypes.StringType("true" if value else "false")
    if isinstance(value, bytes | bytearray):
        return celtypes.StringType(bytes(value).decode())
    if isinstance(value, str | int | float | celtypes.DurationType):
        return celtypes.StringType(str(value))
    raise CELEvalError(f"found no matching overload for 'string' applied to ({_type_name(value)})")


def double(value: Any) -> Any:
    number = of_value(value)
    if number is not None:
        return celtypes.DoubleType(float(number))
    if isinstance(value, bool | celtypes.BoolType | bytes | bytearray):
        raise CELEvalError(f"found no matching overload for 'double' applied to ({_type_name(value)})")
    return celtypes.DoubleType(value)


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    kinds = (
        ("bool", (bool, celtypes.BoolType)),
        ("uint", (celtypes.UintType,)),
        ("bytes", (bytes, bytearray)),
        ("string", (str,)),
        ("int", (int,)),
        ("double", (float,)),
        ("list", (list, tuple)),
        ("map", (dict,)),
    )
    return next((name for name, types in kinds if isinstance(value, types)), type(value).__name__)


def _has_decimal(value: Any) -> bool:
    """At any depth."""
    if of_value(value) is not None:
        return True
    if isinstance(value, list | tuple):
        return any(map(_has_decimal, value))
    return isinstance(value, dict) and any(map(_has_decimal, value.values()))


def _equal(a: Any, b: Any) -> bool:
    x, y = of_value(a), of_value(b)
    if x is not None or y is not None:
        return x is not None and y is not None and x == y
    if _has_decimal(a) or _has_decimal(b):
        if isinstance(a, list | tuple) and isinstance(b, list | tuple):
            return len(a) == len(b) and all(map(_equal, a, b))
        if isinstance(a, dict) and isinstance(b, dict):
            return len(a) == len(b) and all(key in b and _equal(each, b[key]) for key, each in a.items())
    return bool(_own_eq(a, b))


def _eq(a: Any, b: Any) -> Any:
    if not _has_decimal(a) and not _has_decimal(b):
        return _own_eq(a, b)
    return celtypes.BoolType(_equal(a, b))


def _ne(a: Any, b: Any) -> Any:
    if not _has_decimal(a) and not _has_decimal(b):
        return _own_ne(a, b)
    return celtypes.BoolType(not _equal(a, b))


def _in(item: Any, container: Any) -> Any:
    if isinstance(container, dict | list | tuple) and (_has_decimal(item) or _has_decimal(container)):
        return celtypes.BoolType(any(_equal(item, each) for each in container))
    return _own_in(item, container)


FUNCTIONS: Mapping[str, Any] = {
    "decimal": make,
    "decimals.eq": _compared(lambda order: order == 0),
    "decimals.lt": _compared(lambda order: order < 0),
    "decimals.le": _compared(lambda order: order <= 0),
    "decimals.gt": _compared(lambda order: order > 0),
    "decimals.ge": _compared(lambda order: order >= 0),
    "decimals.add": _aligned("decimals.add", EXACT.add),
    "decimals.sub": _aligned("decimals.sub", EXACT.subtract),
    "decimals.mul": _mul,
    "decimals.div": _div,
    "decimals.mod": _mod,
    "decimals.greatest": lambda a, b: max(_d(a), _d(b)),
    "decimals.least": lambda a, b: min(_d(a), _d(b)),
    "decimals.sqrt": _sqrt,
    "decimals.neg": lambda a: _d(a).copy_negate(),
    "decimals.abs": lambda a: _d(a).copy_abs(),
    "decimals.sign": _sign,
    "decimals.round": _round,
    "decimals.trunc": _trunc,
    "decimals.floor": lambda a: _rescaled(_d(a), 0, decimal.ROUND_FLOOR, "decimals.floor"),
    "decimals.ceil": lambda a: _rescaled(_d(a), 0, decimal.ROUND_CEILING, "decimals.ceil"),
    "string": string,
    "double": double,
    "_==_": _eq,
    "_!=_": _ne,
    "_in_": _in,
}
