"""Which tier a test belongs to, and `--tiers`, which runs the tests of some tiers.

A test has the tier of its folder, or a higher one: that of the servers it takes, or that of its own marker,
`@pytest.mark.integration` for one. A marker decides whatever the servers are. docs/design/testing.md says
what each tier is for.
"""

from __future__ import annotations

import tomllib
from enum import IntEnum
from pathlib import Path

import pytest

from barnabas.testing import ApacheKafka, ApacheKafkaCluster, EmbeddedBroker


class Tier(IntEnum):
    """The tiers, the cheapest first."""

    UNIT = 0
    INTEGRATION = 1
    DIFFERENTIAL = 2
    CHAOS = 3

    def __str__(self) -> str:
        return self.name.lower()


BY_NAME = {str(tier): tier for tier in Tier}

# Tests that take one of these servers have at least its tier.
BY_FIXTURE: dict[str, Tier] = {
    "embedded_broker": Tier.INTEGRATION,
    "embedded_cluster": Tier.INTEGRATION,
    "own_embedded_cluster": Tier.INTEGRATION,
    "apache_kafka": Tier.DIFFERENTIAL,
    "apache_cluster": Tier.DIFFERENTIAL,
    "own_apache_cluster": Tier.DIFFERENTIAL,
    "telemetry_receiver": Tier.DIFFERENTIAL,
    "zookeeper_server": Tier.DIFFERENTIAL,
    "apicurio": Tier.DIFFERENTIAL,
    "spark": Tier.DIFFERENTIAL,
}

# Servers of several kinds are parameters of one fixture: `broker[apache]` and `broker[embedded]`.
BY_PARAMETER: dict[object, Tier] = {
    EmbeddedBroker: Tier.INTEGRATION,
    ApacheKafka: Tier.DIFFERENTIAL,
    ApacheKafkaCluster: Tier.DIFFERENTIAL,
    "embedded": Tier.INTEGRATION,
    "embedded-3": Tier.INTEGRATION,
    "apache": Tier.DIFFERENTIAL,
    "apache-3": Tier.DIFFERENTIAL,
}


FOLDERS = pytest.StashKey["Folders"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--tiers", metavar="NAMES", help="run the tests of these tiers alone, as in `unit,integration`"
    )


def pytest_configure(config: pytest.Config) -> None:
    for tier in Tier:
        config.addinivalue_line("markers", f"{tier}: a test of this tier; see docs/design/testing.md")
    config.stash[FOLDERS] = Folders(config.rootpath / "tests")
    wanted_tiers(config)


def wanted_tiers(config: pytest.Config) -> frozenset[Tier]:
    """Those that `--tiers` names, or all but chaos."""
    given: str | None = config.getoption("--tiers")
    if given is None:
        return frozenset(Tier) - {Tier.CHAOS}
    unknown = set(given.split(",")) - BY_NAME.keys()
    if unknown:
        raise pytest.UsageError(
            f"--tiers: no tier {', '.join(sorted(unknown))}; there are {', '.join(BY_NAME)}"
        )
    return frozenset(BY_NAME[name] for name in given.split(","))


class Folders:
    """tests/tiers.toml: the lowest tier of each folder and file that it names."""

    def __init__(self, tests: Path) -> None:
        self._tests = tests
        self._lowest: dict[Path, Tier] = {}
        table = tests / "tiers.toml"
        entries = tomllib.loads(table.read_text(encoding="utf-8")) if table.exists() else {}
        for name, paths in entries.items():
            for path in paths:
                if not (tests / path).exists():
                    raise pytest.UsageError(f"tests/tiers.toml, {name}: there is no tests/{path}")
                self._lowest[tests / path] = BY_NAME[name]

    def lowest(self, path: Path) -> Tier:
        """The lowest tier that tests of a file or folder may have."""
        while path != self._tests and path != path.parent:
            if path in self._lowest:
                return self._lowest[path]
            path = path.parent
        return Tier.UNIT


def tier_of(item: pytest.Item) -> Tier:
    lowest = item.config.stash[FOLDERS].lowest(item.path)
    marked = [BY_NAME[mark.name] for mark in item.iter_markers() if mark.name in BY_NAME]
    if marked:
        if max(marked) < lowest:
            raise pytest.UsageError(
                f"{item.nodeid} is marked as {max(marked)}, but tests/tiers.toml has its folder as {lowest}"
            )
        return max(marked)
    fixtures = [BY_FIXTURE.get(name, lowest) for name in getattr(item, "fixturenames", ())]
    callspec = getattr(item, "callspec", None)
    values = callspec.params.values() if callspec else ()
    servers = [BY_PARAMETER.get(value, lowest) for value in values if isinstance(value, str | type)]
    return max([lowest, *fixtures, *servers])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files that hold no test of a wanted tier are not imported."""
    return True if config.stash[FOLDERS].lowest(collection_path) > max(wanted_tiers(config)) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks each test with its tier, and leaves out those that are not wanted. The cheap tiers come first;
    within one the order stays, which groups tests by their servers."""
    wanted = wanted_tiers(config)
    tiers: dict[pytest.Item, Tier] = {}
    for item in items:
        tiers[item] = tier = tier_of(item)
        item.add_marker(str(tier))
        item.user_properties.append(("tier", str(tier)))
    unwanted = [item for item in items if tiers[item] not in wanted]
    if unwanted:
        config.hook.pytest_deselected(items=unwanted)
    items[:] = sorted((item for item in items if tiers[item] in wanted), key=tiers.__getitem__)


def tier_run(item: pytest.Item) -> Tier:
    """The tier of a test that is run."""
    return next(tier for tier in Tier if item.get_closest_marker(str(tier)))
