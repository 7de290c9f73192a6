"""An exception at any line, as the handler of a signal raises it."""

from __future__ import annotations

import contextlib
import dis
import functools
import sys
from collections.abc import Callable, Generator
from types import CodeType, FrameType
from typing import Any


class RaisedAt:
    """Raises `error` once, before the `number`-th line of those in the code that `is_meant` says. For
    `sys.settrace`, of any thread.

    Never where a `with` is left, after its body and before `__exit__` is called: CPython runs no handler of
    a signal there, and what is raised there leaves a lock taken.
    """

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
        if self._left > 0 or _leaves_a_with(frame):
            return self
        sys.settrace(None)
        self.place = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
        raise self._error


def _leaves_a_with(frame: FrameType) -> bool:
    return frame.f_lasti in _exits(frame.f_code)


@functools.cache
def _exits(code: CodeType) -> frozenset[int]:
    """Where the lines begin that call `__exit__` without an exception: with three times None for its
    arguments."""
    found: set[int] = set()
    line_began_at, nones = 0, 0
    for step in dis.get_instructions(code):
        if step.starts_line:
            line_began_at = step.offset
        nones = nones + 1 if step.opname == "LOAD_CONST" and step.argval is None else 0
        if nones == 3:
            found.add(line_began_at)
    return frozenset(found)


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
