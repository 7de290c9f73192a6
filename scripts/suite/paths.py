"""Where the suite keeps what a run writes."""

from __future__ import annotations

from pathlib import Path

# The checkout in which the suite is started.
ROOT = Path.cwd()
# A junit file for each stage of the last run, and the tests that failed in it.
BUILD = ROOT / "build" / "tests"
# Tests that passed only the second time, those of earlier runs included.
FLAKY = ROOT / "build" / "flaky.json"
