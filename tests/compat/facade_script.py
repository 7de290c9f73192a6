"""Runs the same calls on the real confluent_kafka and on ours, and writes down what a program could see.

Owns what is compared: results, attributes, exceptions with their arguments, errors with code, name and text.
Knows nothing of single calls.
"""

from __future__ import annotations

import inspect
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from enum import Enum
from types import ModuleType
from typing import Any

import pytest
from tests.waiting import wait_for

from barnabas import Consumer, Producer

RESULT_TIMEOUT_SECONDS = 30
FAILED_WHILE = r"'Failed while \1: Local: Timed out'"
SIMPLE = (str, bytes, int, float, bool, type(None))


class FacadeScript:
    """One run of a behaviour on one of the two packages. `show` notes what a call gives, in `lines`.

    `name` makes names that no other run has; the notes call them by what the behaviour calls them.
    """

    def __init__(self, package: ModuleType, admin_module: ModuleType, bootstrap: str = "") -> None:
        self.package = package
        self.admin_module = admin_module
        self.bootstrap = bootstrap
        self.lines: list[str] = []
        self._prefix = f"x{uuid.uuid4().hex[:8]}-"
        self._clients: list[Any] = []
        self._consumers: list[Consumer] = []

    def name(self, name: str) -> str:
        """A name of this run alone."""
        return self._prefix + name

    def admin(self, **settings: Any) -> Any:
        """An AdminClient, closed when the run ends."""
        configuration = {"bootstrap.servers": self.bootstrap, **settings}
        client = self.admin_module.AdminClient(configuration, logger=SILENT)
        self._clients.append(client)
        return client

    def fill(self, topic: str, timestamps: Mapping[int, Sequence[int]]) -> None:
        """Writes a record at each of these times to the partitions of a topic."""
        with Producer(self.bootstrap) as producer:
            for partition, times in timestamps.items():
                for timestamp in times:
                    producer.send(topic, b"x", partition=partition, timestamp=timestamp).result(30)

    def join(self, group: str, topic: str, protocol: str) -> None:
        """A member of a group that has all of a topic until the run ends."""
        consumer = Consumer(
            self.bootstrap, topics=[topic], group_id=group, group_protocol=protocol, client_id="member"
        )
        self._consumers.append(consumer)
        wait_for(lambda: consumer.poll(timeout=0.1) is not None and bool(consumer.assignment()), timeout=30)

    def show(self, label: str, call: Callable[[], Any]) -> Any:
        """Notes what `call` gives or raises, with the results of futures in it; gives what it gave."""
        try:
            given = call()
        except BaseException as error:
            self._note(f"{label} raised {self._error(error)}")
            return None
        self._note(f"{label}: {self._rendered(given)}")
        return given

    def __enter__(self) -> FacadeScript:
        return self

    def __exit__(self, *_: object) -> None:
        for consumer in self._consumers:
            consumer.close()
        for client in self._clients:
            client.__exit__(None, None, None)

    def _note(self, line: str) -> None:
        self.lines.append(line.replace(self._prefix, ""))

    def _rendered(self, value: Any) -> str:
        if isinstance(value, Future):
            try:
                return f"future of {self._rendered(value.result(RESULT_TIMEOUT_SECONDS))}"
            except BaseException as error:
                return f"future of {self._error(error)}"
        if isinstance(value, Enum):
            return f"{type(value).__name__}.{value.name}={self._rendered(value.value)}"
        if isinstance(value, Mapping):
            items = [f"{self._rendered(key)}: {self._rendered(item)}" for key, item in value.items()]
            return "{" + ", ".join(items) + "}"
        if isinstance(value, (list, tuple)):
            return f"{type(value).__name__}[{', '.join(map(self._rendered, value))}]"
        if isinstance(value, (set, frozenset)):
            return f"{type(value).__name__}[{', '.join(sorted(map(self._rendered, value)))}]"
        if isinstance(value, BaseException):
            return self._error(value)
        if isinstance(value, SIMPLE):
            return repr(value)
        return self._object(value)

    def _object(self, value: Any) -> str:
        kind = type(value)
        if kind.__name__ == "KafkaError":
            flags = (value.fatal(), value.retriable(), value.txn_requires_abort())
            return f"KafkaError{(value.code(), value.name(), value.str(), *flags)}"
        if kind.__name__ == "TopicPartition":
            fields = (value.topic, value.partition, value.offset, value.metadata, value.leader_epoch)
            return f"TopicPartition{fields} {self._rendered(value.error)}"
        if kind.__repr__ is object.__repr__ or "__dict__" in dir(value):
            if isinstance(value, type) or callable(value):
                return getattr(value, "__qualname__", kind.__name__)
            shown = "" if kind.__repr__ is object.__repr__ else f" {value!r} str={value!s}"
            fields = ", ".join(f"{key}={self._rendered(item)}" for key, item in vars(value).items())
            return f"{kind.__name__}({fields}){shown}"
        return repr(value)

    def _error(self, error: BaseException) -> str:
        arguments = ", ".join(self._rendered(argument) for argument in error.args)
        return f"{type(error).__name__}({arguments})"


Behaviour = Callable[[FacadeScript], None]


def behaviours_of(module: ModuleType) -> list[Any]:
    """The behaviours that a module has, in its order, as parameters of a test."""
    return [
        pytest.param(behaviour, id=name)
        for name, behaviour in vars(module).items()
        if inspect.isfunction(behaviour) and behaviour.__module__ == module.__name__ and name[0] != "_"
    ]


class _Silent:
    """A logger for the real package, whose own goes to stderr."""

    def log(self, *_: Any) -> None: ...


SILENT = _Silent()


def normalised(lines: list[str]) -> list[str]:
    """The notes without what differs from run to run of one package."""
    without_addresses = (re.sub(r"0x[0-9a-f]+|Request\(processor[^']*", "0x", line) for line in lines)
    # It depends on which of its threads looks at the clock first.
    told = (
        re.sub(r"'Timed out (waiting [a-z ]+)'", r"'Failed while \1: Local: Timed out'", line)
        for line in without_addresses
    )
    return [line.replace("barnabas.compat.", "") for line in told]
