"""The parts of pytest's plugin that every test of this project runs under."""

from __future__ import annotations

pytest_plugins = [
    "tests.suite.ast_lock",
    "tests.suite.tiers",
    "tests.suite.parts",
    "tests.suite.unit_guard",
    "tests.suite.leak_guard",
    "tests.suite.hang_guard",
    "tests.suite.fixture_times",
    "tests.suite.failures",
    "tests.suite.chaos",
]
