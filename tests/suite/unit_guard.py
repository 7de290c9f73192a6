"""A unit test that opens a connection, listens, starts a process or sleeps fails.

What Python does is seen by an audit hook, in any thread, and refused where it is tried. `time.sleep` is
replaced, as it raises no audit event before Python 3.13. Code under test may swallow that, so the test fails
at its end as well. A socket pair is no connection: event loops have one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest
from tests.suite.tiers import Tier, tier_run

sleep = time.sleep
REFUSED = {
    "socket.connect": "connects a socket",
    "socket.bind": "binds a socket",
    "socket.getaddrinfo": "looks up a host",
    "subprocess.Popen": "starts a process",
    "os.fork": "forks",
    "os.forkpty": "forks",
    "os.posix_spawn": "starts a process",
    "os.spawn": "starts a process",
    "os.exec": "starts a program",
    "os.system": "starts a process",
}


class NotAUnitTestError(Exception):
    """Raised where a unit test does what only tests of other tiers may."""


class Watch:
    """What the unit test under way did that it may not. No hook can be taken away, so there is one."""

    def __init__(self) -> None:
        self.installed = False
        self.test: str | None = None
        self.seen: list[str] = []

    def install(self) -> None:
        if not self.installed:
            sys.addaudithook(self._audit)
            time.sleep = self._sleep
            self.installed = True

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.test is not None and event in REFUSED:
            self._refuse(f"{REFUSED[event]}: {event}{arguments!r:.200}")

    def _sleep(self, seconds: float) -> None:
        if self.test is not None and seconds > 0:
            self._refuse(f"sleeps: for {seconds} s")
        sleep(seconds)

    def _refuse(self, said: str) -> None:
        self.seen.append(said)
        raise NotAUnitTestError(f"{self.test} is a unit test and {said}")


watch = Watch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Sets the watch for all of a test, its fixtures included."""
    if tier_run(item) is not Tier.UNIT:
        return (yield)
    watch.install()
    watch.seen.clear()
    watch.test = item.nodeid
    try:
        return (yield)
    finally:
        watch.test = None


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        seen = list(watch.seen)
        watch.seen.clear()
        if seen and tier_run(item) is Tier.UNIT:
            pytest.fail(
                f"a unit test {'; '.join(seen)}. Mark it with its tier (docs/design/testing.md)",
                pytrace=False,
            )
