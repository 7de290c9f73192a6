"""`--failures-file`: the tests that failed, each with its first failure, for those who run them again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


class Failures:
    """Collects where reports come together: in the only process, or in the one that hands tests out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._texts: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._texts.setdefault(report.nodeid, f"{report.when}: {report.longreprtext}")
            # At once, for those who look while the run goes on.
            self._path.write_text(json.dumps(self._texts, indent=1))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--failures-file", metavar="PATH", help="write the tests that failed to this file as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    path: str | None = config.getoption("--failures-file")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(Path(path)), "failures-file")
