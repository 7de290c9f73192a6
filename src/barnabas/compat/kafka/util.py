"""Small things that programs find beside the clients."""

from __future__ import annotations

import re
import struct
import threading
from collections.abc import Callable
from typing import Any

from barnabas.compat.kafka.errors import (  # pyright: ignore[reportAttributeAccessIssue]
    BufferUnderflowError,  # pyright: ignore[reportUnknownVariableType]
)
from barnabas.compat.kafka_engine.simple.grouping import (
    group_by_topic_and_partition as group_by_topic_and_partition,
)
from barnabas.compat.kafka_engine.wire.message_sets import crc32 as crc32


class EnumHelper:
    """For enums whose members may be given by value, or by name in any case and with dashes."""

    @classmethod
    def build_from(cls: Any, val: Any) -> Any:
        """The member. Raises: ValueError."""
        if isinstance(val, cls):
            return val
        try:
            return cls(val)
        except ValueError:
            pass
        try:
            return cls[str(val).strip().upper().replace("-", "_")]
        except KeyError:
            raise ValueError(f"Unrecognized {cls.__name__}: {val}") from None

    @classmethod
    def value_for(cls: Any, val: Any) -> Any:
        """The member's value. Raises: ValueError."""
        if isinstance(val, cls):
            return val.value
        if isinstance(val, int):
            return cls(val).value
        try:
            return cls[str(val).upper().replace("-", "_")].value
        except KeyError:
            raise ValueError(f"Unrecognized {cls.__name__}: {val}") from None


TOPIC_MAX_LENGTH = 249
TOPIC_LEGAL_CHARS = re.compile("^[a-zA-Z0-9._-]+$")


def ensure_valid_topic_name(topic: Any) -> None:
    """Raises: TypeError, ValueError for what cannot be the name of a topic."""
    if topic is None:
        raise TypeError("All topics must not be None")
    if not isinstance(topic, str):
        raise TypeError("All topics must be strings")
    if not topic:
        raise ValueError("All topics must be non-empty strings")
    if topic in (".", ".."):
        raise ValueError('Topic name cannot be "." or ".."')
    if len(topic) > TOPIC_MAX_LENGTH:
        raise ValueError(
            f'Topic name is illegal, it can\'t be longer than {TOPIC_MAX_LENGTH} characters, topic: "{topic}"'
        )
    if not TOPIC_LEGAL_CHARS.match(topic):
        raise ValueError(
            f'Topic name "{topic}" is illegal, it contains a character other than ASCII alphanumerics, ".", '
            '"_" and "-"'
        )


class ReentrantTimer:
    """Calls a function every `t` milliseconds, in a thread of its own, between `start` and `stop`."""

    def __init__(self, t: float, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        if t <= 0:
            raise ValueError("Invalid timeout value")
        if not callable(fn):
            raise ValueError("fn must be callable")
        self.thread: threading.Thread | None = None
        self.t = t / 1000
        self.fn: Callable[..., Any] | None = fn
        self.args = args
        self.kwargs = kwargs
        self.active = threading.Event()

    def start(self) -> None:
        """From the beginning, if it runs already."""
        if self.thread is not None:
            self.stop()
        self.active = threading.Event()
        self.thread = threading.Thread(
            target=self._run, args=(self.active, self.fn), name="kafka-python timer", daemon=True
        )
        self.thread.start()

    def _run(self, is_over: threading.Event, call: Callable[..., Any]) -> None:
        while not is_over.wait(self.t):
            call(*self.args, **self.kwargs)

    def stop(self) -> None:
        """Waits for a call that is under way, for a second or so."""
        if self.thread is None:
            return
        self.active.set()
        if self.thread is not threading.current_thread():
            self.thread.join(self.t + 1)
        self.thread = None

    def __del__(self) -> None:
        if getattr(self, "thread", None) is not None:
            self.active.set()


def write_int_string(s: Any) -> bytes:
    """Bytes behind their length in four bytes. Raises: TypeError for what is neither bytes nor None."""
    return _written(s, ">i")


def write_short_string(s: Any) -> bytes:
    """Bytes behind their length in two bytes. Raises: TypeError for what is neither bytes nor None."""
    return _written(s, ">h")


def _written(value: Any, length_format: str) -> bytes:
    if value is None:
        return struct.pack(length_format, -1)
    if not isinstance(value, bytes):
        raise TypeError(f'Expected "{type(value)}" to be bytes\ndata={value!r}')
    return struct.pack(length_format, len(value)) + value


def read_short_string(data: bytes, cur: int) -> tuple[bytes | None, int]:
    """What `write_short_string` wrote at a place, and the place behind it. Raises: BufferUnderflowError."""
    return _read(data, cur, ">h", "Not enough data left")


def read_int_string(data: bytes, cur: int) -> tuple[bytes | None, int]:
    """What `write_int_string` wrote at a place, and the place behind it. Raises: BufferUnderflowError."""
    return _read(data, cur, ">i", f"Not enough data left to read string len ({len(data)} < {cur + 4})")


def _read(data: bytes, place: int, length_format: str, text: str) -> tuple[bytes | None, int]:
    if len(data) < place + struct.calcsize(length_format):
        raise BufferUnderflowError(text)
    (length,), place = relative_unpack(length_format, data, place)
    if length == -1:
        return None, place
    if len(data) < place + length:
        raise BufferUnderflowError("Not enough data left")
    return data[place : place + length], place + length


def relative_unpack(fmt: str, data: bytes, cur: int) -> tuple[tuple[Any, ...], int]:
    """Values of a struct at a place, and the place behind it. Raises: BufferUnderflowError."""
    end = cur + struct.calcsize(fmt)
    if len(data) < end:
        raise BufferUnderflowError("Not enough data left")
    return struct.unpack(fmt, data[cur:end]), end
