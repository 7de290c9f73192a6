"""Words what happens to a client as its generation does, in the loggers that it has.

Owns the way from the core's events to log lines; the texts are in `generations/log_lines.py`.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

from barnabas.client.cluster.event_listeners import EventListeners
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.failures import failure_of
from barnabas.errors import BarnabasError
from barnabas.events import BrokerConnected, BrokerDisconnected, Event, OffsetsCommitted

_HAPPENS_WITHOUT_ERROR = (BrokerDisconnected, OffsetsCommitted)


def tell_log(events: EventListeners[Any], *, commits_itself: bool = False) -> None:
    """Logs from now on what a client's events tell of failures, in place of the core. What fails in a
    program's own call is raised there: of commits, only a consumer's that `commits_itself` are logged."""

    def log(event: Event) -> None:
        if isinstance(event, _HAPPENS_WITHOUT_ERROR) and event.error is None:
            return
        if isinstance(event, OffsetsCommitted) and not commits_itself:
            return
        for name, level, text in _lines_of(event):
            logging.getLogger(name).log(getattr(logging, level), "%s", text.format(**_fields(event)))

    events.add(log, logs=True)


def _lines_of(event: Event) -> tuple[tuple[str, str, str], ...]:
    lines, kind = generation().log_lines, type(event).__name__
    where = "server" if getattr(event, "node_id", 0) < 0 else "node"
    return (*lines.get(kind, ()), *lines.get(f"{kind} of a {where}", ()))


def _fields(event: Event) -> dict[str, Any]:
    told = {each.name: getattr(event, each.name) for each in dataclasses.fields(event)}
    node_id = told.get("node_id", 0)
    error = told.get("error")
    told["node"] = "bootstrap-0" if node_id < 0 else str(node_id)
    told["state"] = "connected" if isinstance(event, BrokerConnected | BrokerDisconnected) else "connecting"
    told["errno"] = _errno(error)
    if isinstance(error, BarnabasError):
        failure = failure_of(error)
        name, text = type(failure).__name__, str(failure)
        told["error"] = text if text.startswith((name, "[Error")) else f"{name}: {text}"
    return told


def _errno(error: BaseException | None) -> Any:
    """The number of the operating system's error that is behind an error, else the error."""
    cause = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno is not None:
            return cause.errno
        cause = cause.__cause__ or cause.__context__
    return error
