"""JSONATA: a message of one version of a schema becomes one of the next, by an expression (extra: rules).

Expressions come out of a registry, from anyone who may write there. Many functions of the library take long,
or make much, in one step. So expressions are evaluated in a process of their own, whose time and memory the
operating system bounds.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from typing import Any

from barnabas.errors import MissingExtraError
from barnabas.fork import tell_in_child
from barnabas.registry.rules import limits
from barnabas.registry.rules.context import RuleContext
from barnabas.registry.rules.errors import RuleError
from barnabas.registry.rules.executors import RuleExecutor
from barnabas.registry.rules.jsonata_child import LENGTH_BYTES, TOO_LONG, write

LIBRARIES = ("jsonata", "re2")
_BEGIN = """
import os, sys
sys.path[:] = {path!r}
try:
    from barnabas.registry.rules import jsonata_child
    jsonata_child.main()
except BaseException:
    os._exit(3)
"""


class JsonataExecutor(RuleExecutor):
    """Messages are dicts and lists."""

    def __init__(self) -> None:
        self._begin()
        tell_in_child(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._evaluator: Evaluator | None = None

    def forked(self) -> None:
        """The process is the parent's, and another thread may have had the lock."""
        self._begin()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def type(self) -> str:
        return "JSONATA"

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        """Raises: RuleError, MissingExtraError."""
        expression = ctx.rule.expr
        try:
            request = pickle.dumps((expression, message))
        except Exception as error:
            raise RuleError(f"the expression {expression!r:.200} cannot take the message: {error}") from error
        with self._lock:
            has_failed, found = self._asked(request, expression)
        if has_failed:
            raise RuleError(f"the expression {expression!r:.200} {found}")
        return found

    def _asked(self, request: bytes, expression: Any) -> tuple[bool, Any]:
        for _ in range(2):
            evaluator = self._evaluator
            if evaluator is None:
                if any(importlib.util.find_spec(name) is None for name in LIBRARIES):
                    raise MissingExtraError("a rule of a schema registry in JSONata", "registry-rules")
                evaluator = self._evaluator = Evaluator()
            try:
                evaluator.ask(request)
                answer = evaluator.answer()
            except OSError:
                # Somebody has ended the process since the last message.
                self._end()
                continue
            except BaseException:
                # Its answer would be taken for that of the next one.
                self._end()
                raise
            if answer is not None:
                # It comes from our own code, and has only values of messages.
                return pickle.loads(answer)
            status = evaluator.wait()
            self._end()
            if status == TOO_LONG:
                raise RuleError(f"the expression took more than {limits.LONGEST_SECONDS:g} seconds")
            raise RuleError(f"the expression {expression!r:.200} ended its process ({status})")
        raise RuleError("the process that evaluates expressions does not start")

    def _end(self) -> None:
        evaluator, self._evaluator = self._evaluator, None
        if evaluator is not None:
            evaluator.end()

    def close(self) -> None:
        with self._lock:
            self._end()


class Evaluator:
    """The process that evaluates. It takes one request at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BEGIN.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.end = weakref.finalize(self, _end, self._process, os.getpid())

    def ask(self, request: bytes) -> None:
        """Raises: OSError."""
        assert self._process.stdin is not None
        milliseconds = max(int(limits.LONGEST_SECONDS * 1000), 1)
        write(self._process.stdin, milliseconds.to_bytes(LENGTH_BYTES, "big") + request)

    def answer(self) -> bytes | None:
        """None if the process has ended."""
        stream = self._process.stdout
        assert stream is not None
        head = stream.read(LENGTH_BYTES)
        size = int.from_bytes(head, "big")
        data = stream.read(size) if len(head) == LENGTH_BYTES else b""
        return data if data and len(data) == size else None

    def wait(self) -> int:
        """Its exit status."""
        return self._process.wait()


def _end(process: subprocess.Popen[bytes], started_by: int) -> None:
    """In the child of a fork it only lets go of the parent's process."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    if started_by == os.getpid():
        process.kill()
        process.wait()
