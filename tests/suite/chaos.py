"""What tests of the tier chaos take.

`chaos_seed` is each of `--seeds` many, for a random model. A soak takes `chaos_seconds`, by `--minutes`, and
`soak_seed`, by `--seed`, or by chance; it prints which.
"""

from __future__ import annotations

import random

import pytest
from tests.suite.tiers import Tier, tier_run

# Beyond what a soak is given: its servers start, and what it wrote is read.
SPARE_SECONDS = 600.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seeds", type=int, default=20, help="how many seeds each random model gets (default 20)"
    )
    parser.addoption("--seed", type=int, help="the seed of each soak (default: by chance)")
    parser.addoption("--minutes", type=float, default=5.0, help="how long each soak takes (default 5)")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "chaos_seed" in metafunc.fixturenames:
        metafunc.parametrize("chaos_seed", range(1, metafunc.config.getoption("--seeds") + 1))


@pytest.fixture
def chaos_seconds(request: pytest.FixtureRequest) -> float:
    minutes: float = request.config.getoption("--minutes")
    return minutes * 60


@pytest.fixture
def soak_seed(request: pytest.FixtureRequest) -> int:
    given: int | None = request.config.getoption("--seed")
    seed = random.randrange(1_000_000) if given is None else given
    print(f"seed {seed}")
    return seed


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seconds = config.getoption("--minutes") * 60 + SPARE_SECONDS
    for item in items:
        if tier_run(item) is Tier.CHAOS and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(seconds))
