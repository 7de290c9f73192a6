"""A test that leaves a client, a thread, a child process or an open file behind fails, and not its neighbour.
Asked of the tiers that `--leak-tiers` names, by default of unit and integration tests.

What fixtures of a wider scope make belongs to them. What ends by itself is waited for. Sockets and pipes
count in unit tests alone: clients of wider fixtures connect when they like. Elsewhere, where there are new
ones, garbage is collected, so that the warning of a client that was dropped without an end comes in the test
that dropped it.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.suite.tiers import Tier, tier_run

from barnabas.client.cluster.lifetimes import Lifetime
from barnabas.client.cluster.lifetimes import _open as open_clients  # pyright: ignore[reportPrivateUsage]
from barnabas.loop_thread import loop_thread

PAUSE_SECONDS = 0.02
LASTING_THREADS = ("asyncio_", "pytest", "Dummy-", "barnabas-registry-work")
"""Begin the names of threads that serve all of a process, or a registry of a wider fixture, from their first
use on."""
CONNECTIONS = ("socket:", "pipe:")
NO_FILES = ("/dev/", "anon_inode:", sys.prefix)
"""Libraries keep some of their own files open."""

# unit_guard.py replaces it.
sleep = time.sleep


@dataclass(frozen=True)
class Held:
    """What this process has at a moment."""

    clients: frozenset[Lifetime] = frozenset()
    """Of synchronous code. Those of asyncio end with their loop."""
    threads: frozenset[threading.Thread] = frozenset()
    processes: frozenset[int] = frozenset()
    descriptors: frozenset[tuple[int, str]] = frozenset()

    @classmethod
    def now(cls) -> Held:
        threads = (each for each in threading.enumerate() if not each.name.startswith(LASTING_THREADS))
        return cls(
            frozenset(open_clients), frozenset(threads), frozenset(child_processes()), frozenset(open_files())
        )

    def __sub__(self, other: Held) -> Held:
        return Held(*(one - another for one, another in zip(self._sets, other._sets, strict=True)))

    def __or__(self, other: Held) -> Held:
        return Held(*(one | another for one, another in zip(self._sets, other._sets, strict=True)))

    def __bool__(self) -> bool:
        return any(self._sets)

    def __str__(self) -> str:
        found = [f"the {client.what}" for client in self.clients]
        found += [f"the thread {thread.name}" for thread in self.threads]
        found += [f"the process {process} ({command_of(process)})" for process in self.processes]
        found += [f"the descriptor {number} ({target})" for number, target in self.descriptors]
        return ", ".join(sorted(found))

    @property
    def _sets(self) -> tuple[frozenset[Any], ...]:
        return self.clients, self.threads, self.processes, self.descriptors

    def without_connections(self) -> Held:
        others = (each for each in self.descriptors if not each[1].startswith(CONNECTIONS))
        return replace(self, descriptors=frozenset(others))


def child_processes() -> Iterator[int]:
    """Of all threads of this process; none where there is no /proc."""
    for path in Path("/proc/self/task").glob("*/children"):
        try:
            yield from map(int, path.read_text().split())
        except OSError:
            continue


def command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "it has ended"


def open_files() -> Iterator[tuple[int, str]]:
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return
    for number in numbers:
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        # pytest puts its own files in the place of the first three.
        if int(number) > 2 and not target.startswith(NO_FILES):
            yield int(number), target


@dataclass
class Guard:
    """Of the test that runs: what was there before it, and what wider fixtures have made since."""

    before: Held = field(default_factory=Held)
    of_fixtures: Held = field(default_factory=Held)

    def left(self) -> Held:
        return Held.now() - self.before - self.of_fixtures


guard = Guard()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--leak-seconds",
        type=float,
        default=20.0,
        help="how long what a test has left may take to end by itself (default 20)",
    )
    # In the tier differential servers and players that are started when first wanted last longer than a test.
    parser.addoption(
        "--leak-tiers",
        default="unit,integration",
        help="whose tests may leave nothing (default unit,integration)",
    )


def pytest_sessionstart() -> None:
    # It lasts as long as the process, and so do its sockets.
    loop_thread()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup() -> Iterator[None]:
    guard.before, guard.of_fixtures = Held.now(), Held()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Iterator[object]:
    if fixturedef.scope == "function":
        return (yield)
    before = Held.now()
    try:
        return (yield)
    finally:
        guard.of_fixtures |= Held.now() - before


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """After all fixtures of the test, and before pytest looks for what was said of garbage."""
    tier = tier_run(item)
    if str(tier) not in item.config.getoption("--leak-tiers").split(",") or not guard.left():
        return
    gc.collect()
    counts_connections = tier is Tier.UNIT
    ends_at = time.monotonic() + item.config.getoption("--leak-seconds")
    while found := guard.left() if counts_connections else guard.left().without_connections():
        if time.monotonic() > ends_at:
            pytest.fail(
                f"the test leaves {found}: end it in a fixture, or within `with`, so that it ends when the "
                "test fails as well",
                pytrace=False,
            )
        sleep(PAUSE_SECONDS)
