"""Describes what a program can observe as plain values that two runs can be compared by.

Owns which differences are legitimate: names that a run chose, addresses, times. Must not know a library: it
goes by the names of types and by the methods that values have.
"""

from __future__ import annotations

import datetime
import enum
import re
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, cast

RECENT_MS = 300_000

_MEASURED = (
    (re.compile(r"\b\d+(\.\d+)?ms\b"), "<duration>ms"),
    (re.compile(r"0x[0-9a-f]{6,}"), "<address>"),
    (re.compile(r"\(id: \d+\)"), "(id: <thread>)"),
    (re.compile(r"PID\{Id:\d+,"), "PID{Id:<n>,"),
    (re.compile(r"#(producer|consumer)-\d+"), r"#\1-<n>"),
    # How CPython itself names a type in its own sentences depends on the language it was written in.
    (re.compile(r"'(confluent_kafka\.)?cimpl\.(\w+)'"), r"'\2'"),
    (re.compile(r"rdkafka-[0-9a-f]{8}-[0-9a-f-]{27}"), "<member>"),
)


class Describer:
    """`names`: what the run chose, such as a topic's name, and what to call it."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def text(self, text: str) -> str:
        for name in sorted(self._names, key=len, reverse=True):
            text = text.replace(name, self._names[name])
        # librdkafka reads a byte too many of some texts of a broker.
        text = text.replace("barnabas.compat.", "").rstrip("\0\1\2\3")
        for pattern, replacement in _MEASURED:
            text = pattern.sub(replacement, text)
        return text

    def describe(self, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, enum.Enum):
            return f"{type(value).__name__}.{value.name}"
        if isinstance(value, int):
            return self._number(value)
        if isinstance(value, bytes):
            return self._bytes(value)
        if isinstance(value, float):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, BaseException):
            return self._exception(value)
        if isinstance(value, type):
            return f"class {self.text(value.__module__)}.{value.__qualname__}"
        return self._composed(value)

    def _composed(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            described = [
                (self.describe(key), self.describe(content))
                for key, content in cast("Mapping[Any, Any]", value).items()
            ]
            return {"mapping": sorted(described, key=repr)}
        if isinstance(value, list | tuple):
            items = [self.describe(item) for item in cast("list[Any]", value)]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, set | frozenset):
            # Members that differ in nothing but what is left out, such as durations, are one.
            members = {repr(member): member for member in map(self.describe, cast("set[Any]", value))}
            return {"set": [members[text] for text in sorted(members)]}
        if isinstance(value, datetime.datetime):
            return value.isoformat()
        if isinstance(value, Future):
            return "a future"
        return self._by_type_name(value)

    def _by_type_name(self, value: Any) -> Any:
        describe = {
            "KafkaError": self._error,
            "Message": self._message,
            "TopicPartition": self._topic_partition,
            "Uuid": self._uuid,
        }.get(type(value).__name__)
        if describe is not None:
            return describe(value)
        if callable(value):
            return f"callable {getattr(value, '__name__', type(value).__name__)}"
        attributes = getattr(value, "__dict__", None)
        if attributes is None:
            return f"a {type(value).__name__}"
        public = {name: content for name, content in attributes.items() if not name.startswith("_")}
        return {type(value).__name__: self.describe(public)}

    def _bytes(self, value: bytes) -> bytes:
        for name in sorted(self._names, key=len, reverse=True):
            value = value.replace(name.encode(), self._names[name].encode())
        return value

    def _number(self, value: int) -> Any:
        if str(value) in self._names:
            return self._names[str(value)]
        is_recent = abs(value - time.time() * 1000) < RECENT_MS
        return "<about now in ms>" if is_recent else value

    def _exception(self, error: BaseException) -> Any:
        bases = [base.__name__ for base in type(error).__mro__ if base not in (BaseException, object)]
        return {"exception": bases, "args": self.describe(list(error.args))}

    def _error(self, error: Any) -> Any:
        flags = [flag for flag in ("fatal", "retriable", "txn_requires_abort") if getattr(error, flag)()]
        return ("KafkaError", error.code(), error.name(), self.text(error.str()), *flags)

    def _topic_partition(self, partition: Any) -> Any:
        return (
            "TopicPartition",
            self.describe(partition.topic),
            partition.partition,
            partition.offset,
            {
                "metadata": self.describe(partition.metadata),
                "epoch": partition.leader_epoch,
                "error": self.describe(partition.error),
            },
        )

    def _message(self, message: Any) -> Any:
        latency = message.latency()
        return {
            "Message": {
                name: self.describe(getattr(message, name)())
                for name in (
                    "topic",
                    "partition",
                    "offset",
                    "key",
                    "value",
                    "headers",
                    "error",
                    "timestamp",
                    "leader_epoch",
                    "delivery_count",
                )
            }
            | {"latency": type(latency).__name__, "len": len(message)}
        }

    def _uuid(self, uuid: Any) -> Any:
        return ("Uuid", self.text(str(uuid)))
