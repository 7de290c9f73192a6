"""Clients kept between the tasks of one Python worker, so that a task does not pay for connecting.

Spark runs one task after another in a worker process and forks workers from a daemon. A client is lent to one
task at a time; after an error it is closed and not lent again. Those that are idle when the process ends are
closed by `barnabas.sync`. Must not know Spark.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from barnabas.errors import BarnabasError
from barnabas.fork import in_child
from barnabas.settings.keywords import CommonSettings, ConsumerSettings, ProducerSettings
from barnabas.spark.option_values import looked_up

if TYPE_CHECKING:
    from barnabas.sync.admin import Admin
    from barnabas.sync.consumer import Consumer
    from barnabas.sync.producer import Producer

CLOSE_TIMEOUT_SECONDS = 5.0
MOST_IDLE_CLIENTS = 16


class PooledClient(Protocol):
    def close(self, timeout: float | None = None) -> None: ...


ClientT = TypeVar("ClientT", bound=PooledClient)


class ClientPool(Generic[ClientT]):
    """Idle clients by their settings, and by what these mean: when a file that they name has another content
    they are not lent again. The one that has been idle for longest is closed when there are too many: each
    task that prepares a transaction has a producer of its own."""

    def __init__(self, make: Callable[[Mapping[str, str]], ClientT]) -> None:
        self._make = make
        self._idle: list[tuple[dict[str, str], dict[str, str], ClientT]] = []
        # A child shares the parent's sockets but not its event-loop thread.
        in_child(self._idle.clear)

    @contextmanager
    def lend(self, settings: Mapping[str, str]) -> Generator[ClientT]:
        """A client with these settings, for one task."""
        given, meant = dict(settings), meaning(settings)
        self._close_those_of_before(given, meant)
        # The last one that was used is most likely to have a connection still.
        index = next((at for at in reversed(range(len(self._idle))) if self._idle[at][1] == meant), None)
        client = self._new(meant) if index is None else self._idle.pop(index)[2]
        try:
            yield client
        except BaseException:
            with suppress(BarnabasError):
                client.close(timeout=CLOSE_TIMEOUT_SECONDS)
            raise
        self._idle.append((given, meant, client))
        while len(self._idle) > MOST_IDLE_CLIENTS:
            self._idle.pop(0)[2].close(timeout=CLOSE_TIMEOUT_SECONDS)

    def close_idle(self) -> None:
        """Closes those that are lent to nobody."""
        while self._idle:
            self._idle.pop()[2].close(timeout=CLOSE_TIMEOUT_SECONDS)

    def _close_those_of_before(self, given: dict[str, str], meant: dict[str, str]) -> None:
        """Those with credentials that have been replaced."""
        outdated = [each for each in self._idle if each[0] == given and each[1] != meant]
        for each in outdated:
            self._idle.remove(each)
            with suppress(BarnabasError):
                each[2].close(timeout=CLOSE_TIMEOUT_SECONDS)

    def _new(self, settings: Mapping[str, str]) -> ClientT:
        client = self._make(settings)
        _keep_what_is_imported()
        return client


@cache
def _keep_what_is_imported() -> None:
    """Once in a process: the garbage collector leaves out what is there now. PySpark has it run after every
    task, and its way through all the modules takes longer than a short task does."""
    gc.freeze()


def meaning(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings with what variables and files in them say on this machine at this moment: `${env:RACK}` is
    another thing on each executor. Those that are empty for that are left out.

    Raises: InvalidOptionError.
    """
    found = {name: looked_up(value, name, os.environ) for name, value in settings.items()}
    return {name: value for name, value in found.items() if value or settings[name] == value}


# The values of settings are text, which the clients convert; they are what `meaning` gives. Each client is
# imported on first use: a worker process needs one kind only, and Spark waits for its imports.


def make_admin(settings: Mapping[str, str]) -> Admin:
    from barnabas.sync.admin import Admin

    servers, others = _without_servers(settings)
    return Admin(servers, **cast(CommonSettings, others))


def make_consumer(settings: Mapping[str, str]) -> Consumer:
    from barnabas.sync.consumer import Consumer

    servers, others = _without_servers(settings)
    return Consumer(servers, **cast(ConsumerSettings, others))


def make_producer(settings: Mapping[str, str]) -> Producer:
    from barnabas.sync.producer import Producer

    servers, others = _without_servers(settings)
    return Producer(servers, **cast(ProducerSettings, others))


def _without_servers(settings: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    others = dict(settings)
    return others.pop("bootstrap_servers"), others


consumers: ClientPool[Consumer] = ClientPool(make_consumer)
producers: ClientPool[Producer] = ClientPool(make_producer)
