"""An exception at any line, as the handler of a signal raises it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator
from types import CodeType, FrameType
from typing import Any


class RaisedAt:
    """Raises `error` once, before the `number`-th line of those in the code that `is_meant` says. For
    `sys.settrace`, of any thread."""

    def __init__(self, number: int, error: type[BaseException], is_meant: Callable[[CodeType], bool]) -> None:
        self.place = ""
        """Where it was raised; empty before."""
        self._left = number
        self._error = error
        self._is_meant = is_meant

    def __call__(self, frame: FrameType, event: str, _: Any) -> RaisedAt | None:
        if self.place or not self._is_meant(frame.f_code):
            return None
        self._left -= event == "line"
        if self._left > 0:
            return self
        sys.settrace(None)
        self.place = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
        raise self._error


def in_modules(*names: str) -> Callable[[CodeType], bool]:
    """For `is_meant`: in files whose path has one of these names in it."""
    return lambda code: any(name in code.co_filename for name in names)


@contextlib.contextmanager
def traced(by: RaisedAt) -> Generator[None]:
    """What is called within this block, in this thread."""
    before = sys.gettrace()
    sys.settrace(by)
    try:
        yield
    finally:
        sys.settrace(before)
