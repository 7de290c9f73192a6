"""Describes what a program can observe as plain values that two runs can be compared by.

Owns which differences are legitimate: names that a run chose, addresses, times, and how versions of Python
word the same thing. Must not know a package: it goes by the names of types and by what values have. What it
gives is made of literals only.
"""

import collections
import enum
import math
import re
import threading
import time

RECENT_MS = 300000

_MEASURED = (
    (re.compile(r"0x[0-9a-f]{6,}"), "<address>"),
    # Python 3.10 and later name the class of a method, and 3.6 shows an exception with a comma too many.
    (re.compile(r"\b[\w.<>]+\.(\w+\(\) (?:got|missing|takes))"), r"\1"),
    (re.compile(r",\)"), ")"),
    (re.compile(r"barnabas\.compat\."), ""),
    (re.compile(r"kafka-python-\d+\.\d+\.\d+-[0-9a-f]{8}-[0-9a-f-]{27}"), "<member>"),
    (re.compile(r"\b\d+\.\d+ (seconds|secs|ms)\b"), r"<duration> \1"),
)


class Describer:
    """`names`: what the run chose, such as a topic's name, and what to call it."""

    def __init__(self, names):
        self._names = names

    def text(self, text):
        for name in sorted(self._names, key=len, reverse=True):
            text = text.replace(name, self._names[name])
        for pattern, replacement in _MEASURED:
            text = pattern.sub(replacement, text)
        return text

    def describe(self, value):
        if value is None or value is Ellipsis or isinstance(value, bool):
            return value
        if isinstance(value, enum.Enum):
            return f"{type(value).__name__}.{value.name}"
        if isinstance(value, int):
            return self._number(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._bytes(value)
        if isinstance(value, float):
            return self._float(value)
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, BaseException):
            return self._exception(value)
        if isinstance(value, type):
            return f"class {self.text(value.__module__)}.{value.__qualname__}"
        return self._composed(value)

    def _composed(self, value):
        if hasattr(value, "_fields") and isinstance(value, tuple):
            fields = {field: self.describe(getattr(value, field)) for field in value._fields}
            return (type(value).__name__, fields)
        if isinstance(value, collections.abc.Mapping):
            described = [(self.describe(key), self.describe(value[key])) for key in value]
            return {"mapping": sorted(described, key=repr)}
        if isinstance(value, (list, collections.deque)):
            return [self.describe(item) for item in value]
        if isinstance(value, tuple):
            return tuple(self.describe(item) for item in value)
        if isinstance(value, (set, frozenset, collections.abc.KeysView, collections.abc.ValuesView)):
            return {"set": sorted((self.describe(item) for item in value), key=repr)}
        if hasattr(value, "is_done") and hasattr(value, "exception"):
            return self._future(value)
        return self._by_its_attributes(value)

    def _by_its_attributes(self, value):
        if callable(value) and hasattr(value, "__name__"):
            return f"callable {self.text(value.__name__)}"
        names = getattr(value, "__dict__", None)
        if names is None:
            names = getattr(value, "__slots__", None)
        if names is None or isinstance(value, threading.Thread):
            return f"a {type(value).__name__}"
        public = {
            name: self.describe(getattr(value, name, None)) for name in names if not name.startswith("_")
        }
        return (type(value).__name__, public)

    def _bytes(self, value):
        value = bytes(value)
        for name in sorted(self._names, key=len, reverse=True):
            value = value.replace(name.encode(), self._names[name].encode())
        return value

    def _number(self, value):
        if str(value) in self._names:
            return self._names[str(value)]
        is_recent = abs(value - time.time() * 1000) < RECENT_MS
        return "<about now in ms>" if is_recent else int(value)

    def _float(self, value):
        if not math.isfinite(value):
            return str(value)
        return "<about now>" if abs(value - time.time()) < RECENT_MS / 1000 else value

    def _exception(self, error):
        bases = [
            base.__name__ for base in type(error).__mro__ if base not in (BaseException, Exception, object)
        ]
        described = {
            "exception": bases,
            "args": [self.describe(argument) for argument in error.args],
            "str": self.text(str(error)),
        }
        for name in ("errno", "retriable", "invalid_metadata"):
            if "KafkaError" in bases and hasattr(error, name):
                described[name] = self.describe(getattr(error, name))
        return described

    def _future(self, future):
        return (
            "a future",
            {
                "is_done": future.is_done,
                "value": self.describe(future.value),
                "exception": self.describe(future.exception),
            },
        )
