"""`--part=1/3`: a third of the tests, for those who divide a long run. All parts together are all tests.

A file stays whole, so that its tests share their servers, unless it holds more than 100 tests.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections import Counter

import pytest
from scripts.suite.parts import Part, part_of

# The tests of a file with more than this many are divided one by one.
MOST_TESTS_OF_A_WHOLE_FILE = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", metavar="N/M", help="run part N of M of the tests alone, as in `1/3`")


def pytest_configure(config: pytest.Config) -> None:
    wanted_part(config)


def wanted_part(config: pytest.Config) -> Part | None:
    given: str | None = config.getoption("--part")
    try:
        return None if given is None else part_of(given)
    except ArgumentTypeError as error:
        raise pytest.UsageError(f"--part: {error}") from None


# After the tiers have left out theirs: a file is as long as what is run of it.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part = wanted_part(config)
    if part is None:
        return
    tests_of_file = Counter(_file_of(item) for item in items)
    unwanted: list[pytest.Item] = []
    wanted: list[pytest.Item] = []
    for item in items:
        file = _file_of(item)
        name = file if tests_of_file[file] <= MOST_TESTS_OF_A_WHOLE_FILE else item.nodeid
        (wanted if part.holds(name) else unwanted).append(item)
    config.hook.pytest_deselected(items=unwanted)
    items[:] = wanted


def _file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]
