"""Finds the field that keeps a message from being encoded, to name it in the error. Never on the hot path."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, cast

from barnabas.protocol.schema import Message, WireField, fields_of

_INTEGER_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}

_PYTHON_TYPES: dict[str, Any] = {
    "bool": bool,
    "float64": (float, int),
    "uuid": uuid.UUID,
    "string": str,
    "bytes": (bytes, bytearray, memoryview),
}


def find_fault(message: Message, version: int) -> str | None:
    """`"topics[0].partitions[2].partition is 'x', not an int32"`, or None if every value is right."""
    return next(_faults_of_struct(type(message), message, version, ""), None)


def _faults_of_struct(root: type[Message], value: Any, version: int, path: str) -> Iterator[str]:
    for field in fields_of(cast("type[Any]", type(value))):
        if field.wire.present(version):
            where = f"{path}.{field.name}" if path else field.name
            yield from _faults_of_value(root, field.wire, getattr(value, field.name), version, where)


def _faults_of_value(
    root: type[Message], wire: WireField, value: Any, version: int, where: str
) -> Iterator[str]:
    if value is None:
        if not wire.nullable(version):
            yield f"{where} is None, which version {version} does not allow"
    elif wire.is_array:
        if not isinstance(value, list | tuple):
            yield f"{where} is {value!r:.80}, not a list"
            return
        for index, item in enumerate(value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            yield from _faults_of_item(root, wire, item, version, f"{where}[{index}]")
    else:
        yield from _faults_of_item(root, wire, value, version, where)


def _faults_of_item(
    root: type[Message], wire: WireField, value: Any, version: int, where: str
) -> Iterator[str]:
    type_name = wire.element_type
    if type_name in _INTEGER_RANGES:
        lowest, highest = _INTEGER_RANGES[type_name]
        if not isinstance(value, int) or not lowest <= value <= highest:
            yield f"{where} is {value!r:.80}, not an {type_name}"
    elif type_name in _PYTHON_TYPES:
        if not isinstance(value, _PYTHON_TYPES[type_name]):
            yield f"{where} is {value!r:.80}, not a {type_name}"
        elif type_name == "string":
            yield from _faults_of_string(root, wire, value, version, where)
    elif type_name != "records":
        expected = getattr(root, type_name)
        if not isinstance(value, expected):
            yield f"{where} is {value!r:.80}, not a {expected.__qualname__}"
        else:
            yield from _faults_of_struct(root, value, version, where)


def _faults_of_string(
    root: type[Message], wire: WireField, value: str, version: int, where: str
) -> Iterator[str]:
    try:
        length = len(value.encode())
    except UnicodeEncodeError as error:
        yield f"{where} is no valid Unicode text: {error.reason} at {error.start}"
        return
    if length > 32767 and not (wire.flexible and version >= root.FLEXIBLE_VERSIONS):
        yield f"{where} has {length} bytes, more than the 32767 that version {version} allows"
