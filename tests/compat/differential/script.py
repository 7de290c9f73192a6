"""What a script is: a function that takes the module under test and a stage, and where it can run.

Owns the register of all scripts. Must not know either library.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.compat.differential.stage import Stage


class Broker(StrEnum):
    NONE = "none"
    APACHE = "apache"
    EMBEDDED = "embedded"
    SECURE = "secure"
    """Apache Kafka, which wants to know by SASL who somebody is, without TLS."""


@dataclass(frozen=True)
class Script:
    """`brokers`: each of which it runs on. `alone`: not while the other library runs its own, since it
    looks at what they share, such as signals or threads; it runs in the main thread."""

    name: str
    function: Callable[[ModuleType, Stage], None]
    brokers: tuple[Broker, ...]
    alone: bool


SCRIPTS: dict[str, Script] = {}


def script(
    *brokers: Broker, alone: bool = False
) -> Callable[[Callable[[ModuleType, Stage], None]], Callable[[ModuleType, Stage], None]]:
    """Registers a function as a script that runs on these brokers; without any, it needs none."""

    def register(function: Callable[[ModuleType, Stage], None]) -> Callable[[ModuleType, Stage], None]:
        name = function.__name__
        if name in SCRIPTS:
            raise ValueError(f"two scripts are called {name}")
        SCRIPTS[name] = Script(name, function, brokers or (Broker.NONE,), alone)
        return function

    return register


def on_both() -> Callable[[Callable[[ModuleType, Stage], None]], Callable[[ModuleType, Stage], None]]:
    return script(Broker.APACHE, Broker.EMBEDDED)


def on_apache() -> Callable[[Callable[[ModuleType, Stage], None]], Callable[[ModuleType, Stage], None]]:
    """For what the embedded broker does not serve."""
    return script(Broker.APACHE)


def on_secure() -> Callable[[Callable[[ModuleType, Stage], None]], Callable[[ModuleType, Stage], None]]:
    return script(Broker.SECURE)


def all_scripts() -> list[Script]:
    """Every script of the package `scripts`, in the order of their files and within them."""
    package = importlib.import_module("tests.compat.differential.scripts")
    names = [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    for name in sorted(names):
        importlib.import_module(name)
    return list(SCRIPTS.values())
