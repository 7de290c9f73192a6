"""Writes into the junit file which fixtures took long to make, each without those it takes itself."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

LONG_SECONDS = 0.2


class FixtureTimes:
    def __init__(self) -> None:
        self._item: pytest.Item | None = None
        # Seconds that the fixtures took which each fixture under way takes itself.
        self._inner: list[float] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._item = item
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        began = time.perf_counter()
        self._inner.append(0.0)
        try:
            return (yield)
        finally:
            whole = time.perf_counter() - began
            own = whole - self._inner.pop()
            if self._inner:
                self._inner[-1] += whole
            if own >= LONG_SECONDS and self._item is not None:
                self._item.user_properties.append((f"fixture {fixturedef.argname}", f"{own:.3f}"))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(FixtureTimes(), "fixture-times")
