"""What is wrong with a record's parts, once the kernel has refused them or while a record waits anyway.

Pure functions, which the way of most records does not come by. Know nothing of buffers and partitions.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex, cast

from barnabas.errors import UnusableRecordError
from barnabas.types import ProducerRecord

HEADER_EXAMPLE = "[('trace', b'1')]"


def check_record(record: ProducerRecord) -> None:
    """Raises: TypeError, UnusableRecordError for a number that no record can have."""
    topic = record.topic
    if not isinstance(topic, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a str for topic, got {_shown(topic)}")
    _check_bytes(topic, "value", record.value)
    _check_bytes(topic, "key", record.key)
    if record.headers is not None:
        _check_headers(topic, record.headers)
    _check_number(topic, "partition", record.partition, 31)
    _check_number(topic, "timestamp", record.timestamp, 63, " of milliseconds since 1970")
    if record.timestamp is not None and record.timestamp < 0:
        raise UnusableRecordError(f"topic {topic!r}: timestamp {record.timestamp} ms is before 1970")


def _check_bytes(topic: str, name: str, part: Any) -> None:
    if part is None or _is_bytes(part):
        return
    hint = ": encode it" if isinstance(part, str) else ""
    raise TypeError(f"topic {topic!r}: expected bytes for {name}, got {_shown(part)}{hint}")


def _check_headers(topic: str, headers: Any) -> None:
    if isinstance(headers, (str, Mapping)) or not isinstance(headers, Iterable):
        raise TypeError(f"topic {topic!r}: expected headers as pairs {HEADER_EXAMPLE}, got {_shown(headers)}")
    for header in cast("Iterable[Any]", headers):
        if not isinstance(header, tuple) or len(cast("tuple[Any, ...]", header)) != 2:
            raise TypeError(
                f"topic {topic!r}: expected a pair such as ('trace', b'1') for each of headers, "
                f"got {_shown(header)}"
            )
        name, value = cast("tuple[Any, Any]", header)
        if not isinstance(name, str):
            raise TypeError(f"topic {topic!r}: expected a str for the name of a header, got {_shown(name)}")
        _check_bytes(topic, f"the value of header {name!r}", value)


def _check_number(topic: str, name: str, number: Any, bits: int, unit: str = "") -> None:
    if number is None:
        return
    if not isinstance(number, SupportsIndex):
        raise TypeError(f"topic {topic!r}: expected an int{unit} for {name}, got {_shown(number)}")
    if operator.index(number) >> bits not in (0, -1):
        raise UnusableRecordError(f"topic {topic!r}: {name} {number} does not fit {bits + 1} bits")


def _is_bytes(part: Any) -> bool:
    try:
        return memoryview(part).format in ("B", "b", "c")
    except TypeError:
        return False


def _shown(part: Any) -> str:
    return reprlib.repr(part)
