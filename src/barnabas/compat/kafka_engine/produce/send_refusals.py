"""Why a record cannot be sent, in the exceptions of each generation. Knows the parts of a record only."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, cast

from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.errors import CLASSES

_PAYLOADS = (bytes, type(None), bytearray, memoryview)


def refusal(reason: str, **words: Any) -> Exception:
    """The exception for one of the reasons of `Generation.send_refusals`."""
    name, text = generation().send_refusals[reason]
    kind: Any = CLASSES.get(name) or vars(builtins)[name]
    return kind(text.format(**words)) if text else kind()


def check_headers(headers: Any) -> None:
    """Raises: TypeError (AssertionError before 3)."""
    if headers is None:
        return
    if not isinstance(headers, list):
        raise refusal("headers are no list")
    for item in cast("list[Any]", headers):
        if not (isinstance(item, tuple) and len(cast("tuple[Any, ...]", item)) == 2):
            raise refusal("headers are no pairs")
        name, value = cast("tuple[Any, Any]", item)
        if not (isinstance(name, str) and isinstance(value, bytes)):
            raise refusal("headers are no pairs")


def check_payload(part: str, data: Any) -> None:
    """`part`: key or value. Raises: TypeError (AssertionError before 3)."""
    allowed = _PAYLOADS[:2] if generation().payloads_are_bytes_only else _PAYLOADS
    if type(data) not in allowed:
        raise refusal(f"{part} is no bytes", given=cast("type[Any]", type(data)))


def check_size(config: Mapping[str, Any], key: Any, value: Any, headers: Any) -> None:
    """Raises: MessageSizeTooLargeError."""
    size = generation().batch_overhead_bytes + _length(key) + _length(value)
    if generation().send_takes_headers:
        size += _varint_size(key) + _varint_size(value) + _headers_size(headers or [])
    for name, what in (
        ("max_request_size", "the maximum request size"),
        ("buffer_memory", "the total memory buffer"),
    ):
        if name in config and size > config[name]:
            end = "." if name == "buffer_memory" else ""
            raise CLASSES["MessageSizeTooLargeError"](
                f"The message is {size} bytes when serialized which is larger than {what} you have "
                f"configured with the {name} configuration{end}"
            )


def _length(part: Any) -> int:
    return 0 if part is None else len(part)


def _varint_size(part: Any) -> int:
    """Of a length; that there is none takes a byte too."""
    return 1 if part is None else _size_of_varint(len(part))


def _headers_size(headers: list[tuple[str, bytes]]) -> int:
    size = _size_of_varint(len(headers))
    for name, value in headers:
        encoded = len(name.encode())
        size += _size_of_varint(encoded) + encoded + _size_of_varint(len(value)) + len(value)
    return size


def _size_of_varint(number: int) -> int:
    """Of a number that is not negative, in zigzag."""
    return max(1, ((number << 1).bit_length() + 6) // 7)
