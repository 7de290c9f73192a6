"""Ends the process of a test that hangs in C, where pytest's time-out cannot reach it.

pytest-timeout raises an error in the thread of the test, which comes when that is back in Python. That may be
never, as in librdkafka's close(). xdist reports the test as failed and goes on with another process.
"""

from __future__ import annotations

import faulthandler
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_timeout import Settings

_STDERR = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--hang-seconds",
        type=float,
        default=60.0,
        help="how long after its time-out a test may take to end before its process is ended (default 60)",
    )


def pytest_configure(config: pytest.Config) -> None:
    # While a test runs, stderr is captured.
    config.stash[_STDERR] = os.dup(2)


def pytest_unconfigure(config: pytest.Config) -> None:
    os.close(config.stash[_STDERR])


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Settings) -> None:
    seconds = settings.timeout + item.config.getoption("--hang-seconds")
    faulthandler.dump_traceback_later(seconds, file=item.config.stash[_STDERR], exit=True)


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_cancel_timer(item: pytest.Item) -> None:
    faulthandler.cancel_dump_traceback_later()
