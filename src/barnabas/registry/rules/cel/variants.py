"""Functions of CEL for variants: `variant(...)` and `variants.field(v, "name")` and so on.

What is not there is null, and null stays null; a call that makes no sense is an error.
"""

# cel-python's types are its own.
# pyright: basic

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from celpy import celtypes
from celpy.evaluation import CELEvalError

from barnabas.formats.variant import Variant, VariantError, VariantType, parse_json
from barnabas.registry.rules.cel.timestamps import EPOCH, is_int

MESSAGE_NAME = "confluent.type.Variant"
LARGEST_INDEX = 2**31 - 1
FIRST_SECOND, LAST_SECOND = -62135596800, 253402300799
MICROSECONDS = (VariantType.TIMESTAMP_TZ, VariantType.TIMESTAMP_NTZ)
UNTOLD = ("object", "array", "null", "date", "time", "uuid")
_NAMES = {
    **{kind: kind.value.lower() for kind in (VariantType.OBJECT, VariantType.ARRAY, VariantType.NULL)},
    **{kind: kind.value.lower() for kind in (VariantType.BOOLEAN, VariantType.DATE, VariantType.TIME)},
    **{kind: kind.value.lower() for kind in (VariantType.STRING, VariantType.UUID)},
    **dict.fromkeys((VariantType.BYTE, VariantType.SHORT, VariantType.INT, VariantType.LONG), "int"),
    **dict.fromkeys((VariantType.FLOAT, VariantType.DOUBLE), "double"),
    **dict.fromkeys((VariantType.DECIMAL4, VariantType.DECIMAL8, VariantType.DECIMAL16), "decimal"),
    **dict.fromkeys((*MICROSECONDS, VariantType.TIMESTAMP_NANOS_TZ), "timestamp"),
    VariantType.TIMESTAMP_NANOS_NTZ: "timestamp",
    VariantType.BINARY: "bytes",
}
_READERS: Mapping[str, Callable[[Variant], Any]] = {
    "string": lambda v: celtypes.StringType(v.get_string()),
    "int": lambda v: celtypes.IntType(v.get_long()),
    "double": lambda v: celtypes.DoubleType(
        v.get_float() if v.get_type() is VariantType.FLOAT else v.get_double()
    ),
    "boolean": lambda v: celtypes.BoolType(v.get_boolean()),
    "decimal": lambda v: v.get_decimal(),
    "bytes": lambda v: celtypes.BytesType(v.get_binary()),
    "timestamp": lambda v: _moment(v),
}


def variant(*values: Any) -> Variant | None:
    """Of what variants come as; or of a value's bytes and its metadata."""
    if len(values) == 2:
        metadata = _bytes(values[1])
        if not metadata:
            raise CELEvalError("variant(value, metadata): metadata is empty, so there is no variant to read")
        return _made(_bytes(values[0]), metadata)
    if len(values) != 1:
        raise CELEvalError(f"variant: expected 1 or 2 args, got {len(values)}")
    return _converted(values[0])


def _converted(value: Any) -> Variant | None:
    if value is None or isinstance(value, Variant):
        return value
    message: Any
    for message in (value, getattr(value, "msg", None)):
        if getattr(getattr(message, "DESCRIPTOR", None), "full_name", None) == MESSAGE_NAME:
            return _made(_bytes(message.value), _bytes(message.metadata))
    if isinstance(value, dict):
        # Of Avro.
        found = {name: value[name] for name in ("value", "metadata") if value.get(name, b"") is not None}
        found = {name: part for name, part in found.items() if name in value}
        if len(found) == 2:
            return _made(_bytes(found["value"]), _bytes(found["metadata"]))
        if found:
            missing = "value" if "metadata" in found else "metadata"
            raise CELEvalError(f"variant: cannot convert map to Variant: missing '{missing}' entry")
    if isinstance(value, str):
        raise CELEvalError(
            "variant: cannot convert string to Variant; use variants.parseJson(s) for strict JSON parsing or "
            "variants.tryParseJson(s) for soft mode"
        )
    raise CELEvalError(f"variant: cannot convert {type(value).__name__} to Variant")


def _made(value: bytes, metadata: bytes) -> Variant | None:
    """None for a field that is not set."""
    if not metadata:
        return None
    try:
        return Variant(value, metadata)
    except VariantError as error:
        raise CELEvalError(f"variant: {error}") from error


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise CELEvalError(f"variant: expected bytes, got {type(value).__name__}")


def _given(value: Any, function: str) -> Variant | None:
    try:
        return _converted(value)
    except CELEvalError as error:
        raise CELEvalError(f"{function}: expected Variant, got {type(value).__name__}") from error


def _text(value: Any, function: str, words: str) -> str:
    if not isinstance(value, str):
        raise CELEvalError(f"{function}: expected a string{words}, got {type(value).__name__}")
    return str(value)


def _parsed(value: Any) -> Variant:
    if not isinstance(value, str):
        raise CELEvalError("variants.parseJson: expected a string")
    try:
        return parse_json(str(value))
    except ValueError as error:
        raise CELEvalError(f"variants.parseJson: {error}") from error


def _parsed_or_null(value: Any) -> Variant | None:
    if not isinstance(value, str):
        raise CELEvalError("variants.tryParseJson: expected a string")
    try:
        return parse_json(str(value))
    except ValueError:
        return None


def _type(value: Any) -> Any:
    found = _given(value, "variants.type")
    return None if found is None else celtypes.StringType(_NAMES[found.get_type()])


def _is_null(value: Any) -> Any:
    try:
        found = _converted(value)
        return celtypes.BoolType(found is not None and found.get_type() is VariantType.NULL)
    except (CELEvalError, VariantError):
        return celtypes.BoolType(False)


def _field(value: Any, key: Any) -> Variant | None:
    name = _text(key, "variants.field", " key")
    return _child(_given(value, "variants.field"), name)


def _index(value: Any, index: Any) -> Variant | None:
    if not is_int(index):
        raise CELEvalError(f"variants.index: expected an int index, got {type(index).__name__}")
    number = int(index)
    found = _given(value, "variants.index")
    return _child(found, number) if 0 <= number <= LARGEST_INDEX else None


def _child(found: Variant | None, step: str | int) -> Variant | None:
    if found is None:
        return None
    if isinstance(step, str):
        return found.get_field_by_key(step) if found.get_type() is VariantType.OBJECT else None
    return found.get_element_at_index(step) if found.get_type() is VariantType.ARRAY else None


def _path(value: Any, path: Any) -> Variant | None:
    text = _text(path, "variants.path", " path")
    found = _given(value, "variants.path")
    if found is None:
        return None
    try:
        steps = _steps(text)
    except ValueError as error:
        raise CELEvalError(f"variants.path: {error}") from error
    for step in steps:
        found = _child(found, step)
    return found


_NAME = re.compile(r"\.([^\W\d]\w*)")
_INDEX = re.compile(r"\[([0-9]+)\]")
_QUOTED = re.compile(r"""\[(["'])((?:\\.|(?!\1)[^\\])*)\1\]""", re.DOTALL)


@lru_cache(maxsize=1000)
def _steps(path: str) -> tuple[str | int, ...]:
    """Of `$.name["any name"][0]`. Raises: ValueError."""
    if not path.startswith("$"):
        raise ValueError("variant path must start with '$'" + (f", got: {path}" if path else ""))
    steps: list[str | int] = []
    place = 1
    while place < len(path):
        if found := _NAME.match(path, place):
            steps.append(found[1])
        elif found := _INDEX.match(path, place):
            if len(found[1]) > 10 or int(found[1]) > LARGEST_INDEX:
                raise ValueError(f"index out of int range in variant path: {path}")
            steps.append(int(found[1]))
        elif found := _QUOTED.match(path, place):
            steps.append(_unescaped(found[2], found[1], path))
        else:
            raise ValueError(_what_is_wrong(path, place))
        place = found.end()
    return tuple(steps)


def _unescaped(text: str, quote: str, path: str) -> str:
    def letter(found: re.Match[str]) -> str:
        if found[1] not in ("\\", quote):
            raise ValueError(
                f"unsupported escape '\\{found[1]}' in quoted key of variant path (only '\\\\' and "
                f"'\\{quote}' are allowed): {path}"
            )
        return found[1]

    return re.sub(r"\\(.)", letter, text, flags=re.DOTALL)


def _what_is_wrong(path: str, place: int) -> str:
    rest = path[place:]
    if rest[0] == ".":
        words = "expected identifier (starting with a letter or '_') after '.'"
    elif rest[0] != "[":
        words = f"unexpected character '{rest[0]}'"
    elif rest == "[":
        words = "unexpected end of input after '['"
    elif rest[1] in "\"'":
        closed = re.match(r"""\[(["'])(?:\\.|(?!\1)[^\\])*\1""", rest, re.DOTALL)
        words = "unterminated quoted key" if closed is None else "expected ']'"
    elif rest[1] == "-":
        words = "negative indices are not supported"
    elif rest[1] in "0123456789":
        words = "expected ']'"
    else:
        words = "expected integer index"
    return f"{words} in variant path: {path}"


def _as(value: Any, name: Any) -> Any:
    return _read(value, _text(name, "variants.as", " type name"), "variants.as", is_soft=False)


def _try_as(value: Any, name: Any) -> Any:
    return _read(value, _text(name, "variants.tryAs", " type name"), "variants.tryAs", is_soft=True)


def _read(value: Any, name: str, function: str, *, is_soft: bool) -> Any:
    found = _given(value, function)
    if found is None:
        return None
    if name in UNTOLD:
        raise CELEvalError(
            f"variants.as: type '{name}' is not supported for extraction (use "
            "variants.type/variants.path/variants.field/variants.index instead)"
        )
    if name in _READERS and _NAMES[found.get_type()] == name:
        read = _READERS[name](found)
        if read is not None or is_soft:
            return read
        raise CELEvalError(
            f"variants.as: timestamp {found.get_long()} is outside "
            "0001-01-01T00:00:00Z..9999-12-31T23:59:59.999999999Z"
        )
    if is_soft:
        return None
    if name not in _READERS:
        raise CELEvalError(
            f"variants.as: unknown type '{name}' (expected one of: string, int, double, boolean, decimal, "
            "timestamp, bytes)"
        )
    raise CELEvalError(f"variants.as: variant is not {name}-typed (type={found.get_type().value})")


def _moment(found: Variant) -> Any:
    number = found.get_long()
    microseconds = number if found.get_type() in MICROSECONDS else number // 1000
    if not FIRST_SECOND <= microseconds // 1_000_000 <= LAST_SECOND:
        return None
    return celtypes.TimestampType(EPOCH + datetime.timedelta(microseconds=microseconds))


def _to_json(value: Any) -> Any:
    found = _given(value, "variants.toJson")
    return None if found is None else celtypes.StringType(found.to_json())


FUNCTIONS: Mapping[str, Any] = {
    "variant": variant,
    "variants.parseJson": _parsed,
    "variants.tryParseJson": _parsed_or_null,
    "variants.type": _type,
    "variants.isNull": _is_null,
    "variants.path": _path,
    "variants.field": _field,
    "variants.index": _index,
    "variants.as": _as,
    "variants.tryAs": _try_as,
    "variants.toJson": _to_json,
}
