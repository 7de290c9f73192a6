"""What a script is: a function that takes the module `pykafka` and a stage, and where it is played.

Owns the register of all scripts. Must not know Barnabas, nor import `pykafka` by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any, NamedTuple

SCRIPTS: dict[str, Script] = {}

NONE = "none"
KAFKA = "kafka"
ZOOKEEPER = "zookeeper"
FRAIL_KAFKA = "frail kafka"
FRAIL_ZOOKEEPER = "frail zookeeper"
FRAIL = frozenset({FRAIL_KAFKA, FRAIL_ZOOKEEPER})

Function = Callable[[Any, Any], None]


class Script(NamedTuple):
    """`broker`: NONE; KAFKA; or ZOOKEEPER, where there has to be one, which no new release has. The FRAIL
    ones are others, which a script may stop as long as it starts them again. `limit_seconds`: after which it
    counts as hanging."""

    function: Function
    broker: str
    limit_seconds: float

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def module(self) -> str:
        return self.function.__module__


def script(*, broker: str = NONE, limit_seconds: float = 60) -> Callable[[Function], Function]:
    """Registers a function as a script."""

    def register(function: Function) -> Function:
        if function.__name__ in SCRIPTS:
            raise ValueError(f"two scripts are called {function.__name__}")
        SCRIPTS[function.__name__] = Script(function, broker, limit_seconds)
        return function

    return register


def on_kafka(*, limit_seconds: float = 60) -> Callable[[Function], Function]:
    """A script that needs a broker."""
    return script(broker=KAFKA, limit_seconds=limit_seconds)


def on_zookeeper(*, limit_seconds: float = 90) -> Callable[[Function], Function]:
    """A script that needs a broker with its ZooKeeper."""
    return script(broker=ZOOKEEPER, limit_seconds=limit_seconds)


def on_frail_kafka(*, limit_seconds: float = 60) -> Callable[[Function], Function]:
    """A script that stops its broker."""
    return script(broker=FRAIL_KAFKA, limit_seconds=limit_seconds)


def on_frail_zookeeper(*, limit_seconds: float = 90) -> Callable[[Function], Function]:
    """A script that stops its broker or the ZooKeeper of that."""
    return script(broker=FRAIL_ZOOKEEPER, limit_seconds=limit_seconds)


def all_scripts() -> list[Script]:
    """Every script of the folder `scripts`, in the order of their files and within them."""
    package = importlib.import_module("tests.compat.pykafka.differential.played.scripts")
    for name in sorted(
        found.name for found in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
    ):
        importlib.import_module(name)
    return list(SCRIPTS.values())
