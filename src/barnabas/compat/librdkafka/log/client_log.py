"""The log of one client as librdkafka has it: lines with a level, a facility, a thread and a text.

Owns where they go: to the program's logger, in the thread that serves the client's events, or at once to
stderr where the program gave none; and which are left out. Knows nothing of what is told.
"""

from __future__ import annotations

import inspect
import logging
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from barnabas.compat.librdkafka.config.log_properties import LogProperties
from barnabas.compat.librdkafka.config.property_rules import LOG_DEBUG, LogLine
from barnabas.compat.librdkafka.values.version import libversion

# What syslog's levels are in Python.
_LEVELS = (
    logging.CRITICAL,
    logging.CRITICAL,
    logging.CRITICAL,
    logging.ERROR,
    logging.WARNING,
    logging.INFO,
    logging.INFO,
    logging.DEBUG,
)

# Those that know what `stacklevel` is.
_LOG_OF_PYTHON = (logging.Logger.log, logging.LoggerAdapter[Any].log)

APPLICATION = "app"
MAIN = "main"
"""librdkafka's names of threads: a caller's, and its own that is no broker's."""


class DebugLine(NamedTuple):
    """What is told with any of these contexts of `debug`, which are separated by blanks; none: with each."""

    contexts: str
    facility: str
    thread: str
    text: str


class ClientLog:
    """`put` takes a call that is to be made when the program serves the client's events."""

    def __init__(
        self,
        properties: LogProperties,
        logger: Any,
        *,
        name: str,
        put: Callable[[Callable[[], object]], None],
    ) -> None:
        self.properties = properties
        self._logger = logger
        self._name = name
        self._put = put

    @property
    def has_debug(self) -> bool:
        """Whether anything is told by `debug`."""
        return bool(self.properties.contexts)

    def begin(self, warnings: Iterable[LogLine]) -> None:
        """The client is made; `warnings` are about its configuration."""
        if self.has_debug:
            text, number = libversion()
            properties = self.properties
            self.debug(
                "",
                "INIT",
                APPLICATION,
                f"librdkafka v{text} (0x{number:x}) {self._name} initialized (by Barnabas, builtin.features "
                f"{properties.features}, debug 0x{properties.debug_bits:x})",
            )
        for line in warnings:
            self.write(line.level, line.facility, APPLICATION, line.text)
        for listed in self.properties.listing:
            self.debug("conf", "CONF", APPLICATION, listed)

    def debug(self, contexts: str, facility: str, thread: str, text: str) -> None:
        """A line that `debug` asks for with one of these contexts, or with any where none is named."""
        wanted = self.properties.contexts
        if wanted and (not contexts or not wanted.isdisjoint(contexts.split())):
            self.write(LOG_DEBUG, facility, thread, text)

    def write(self, level: int, facility: str, thread: str, text: str) -> None:
        """A line of a level as in syslog. On any thread."""
        if level > self.properties.level:
            return
        line = f"[thrd:{thread}]: {text}" if self.properties.names_threads else text
        if self._logger is not None:
            self._put(partial(self._logger_log, _LEVELS[level], facility, line))
            return
        # There may be no stderr, or a closed one.
        with suppress(Exception):
            print(f"%{level}|{time.time():.3f}|{facility}|{self._name}| {line}", file=sys.stderr)

    def _logger_log(self, level: int, facility: str, line: str) -> None:
        is_pythons = getattr(self._logger.__class__, "log", None) in _LOG_OF_PYTHON
        where = {"stacklevel": _frames_of_ours()} if is_pythons else {}
        self._logger.log(level, "%s [%s] %s", facility, self._name, line, **where)


def _frames_of_ours() -> int:
    """How far up the stack the program's own call is, which a record names as where it comes from."""
    frame, count = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("barnabas."):
        frame, count = frame.f_back, count + 1
    return count
