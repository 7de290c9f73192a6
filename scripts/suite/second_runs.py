"""Runs failed tests again: once each, alone, each in a process of its own, when all others are done."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from scripts.suite.known_flaky import KnownFlaky
from scripts.suite.paths import BUILD, FLAKY, ROOT
from scripts.suite.stages import NO_TESTS, PASSED, TIERS, Deadline, TookTooLongError, environment, say

# A run in which more tests than this pass only the second time is red all the same.
MOST_FLAKY = 5
# When more tests than this fail, chance is not the cause, and none of them is run again.
MOST_RUN_AGAIN = 12


@dataclass(frozen=True, slots=True)
class Judged:
    """Failed tests, by whether their second run passed."""

    flaky: Mapping[str, str]
    failed: Mapping[str, str]

    @property
    def is_green(self) -> bool:
        return not self.failed and len(self.flaky) <= MOST_FLAKY


def judge(failures: Mapping[str, str], deadline: Deadline) -> Judged:
    """Runs each of these tests again, and keeps those that pass in build/flaky.json."""
    if len(failures) > MOST_RUN_AGAIN:
        say(f"{len(failures)} tests failed, which is more than the {MOST_RUN_AGAIN} that are run again")
        return Judged({}, failures)
    flaky: dict[str, str] = {}
    failed: dict[str, str] = {}
    for number, (test, text) in enumerate(failures.items(), 1):
        say(f"again, alone, {number} of {len(failures)}: {test}")
        status, output = run_alone(test, TIERS, deadline)
        if status == PASSED:
            flaky[test] = text
        else:
            failed[test] = text
            print(output, flush=True)
    if flaky:
        keep(flaky)
    return Judged(flaky, failed)


def run_alone(test: str, tiers: Sequence[str], deadline: Deadline) -> tuple[int, str]:
    """pytest's exit status and what it printed. Raises: TookTooLongError."""
    BUILD.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", f"--tiers={','.join(tiers)}", test]
    try:
        ended = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=deadline.left(),
        )
    except subprocess.TimeoutExpired:
        raise TookTooLongError(f"the run took more than {deadline.seconds:.0f} s") from None
    return ended.returncode, ended.stdout


def keep(flaky: Mapping[str, str]) -> None:
    """Adds them to those of earlier runs."""
    kept = json.loads(FLAKY.read_text()) if FLAKY.exists() else []
    now = datetime.now(UTC).isoformat(timespec="seconds")
    kept += [{"test": test, "at": now, "first_failure": text} for test, text in flaky.items()]
    FLAKY.write_text(json.dumps(kept, indent=1))


def run_known(entries: Sequence[KnownFlaky], tiers: Sequence[str], deadline: Deadline) -> list[str]:
    """Runs the tests that are known to be flaky. What comes of them, a line each, decides nothing."""
    lines: list[str] = []
    if not tiers:
        return lines
    for entry in entries:
        status, output = run_alone(entry.test, tiers, deadline)
        if status == NO_TESTS:
            continue
        outcome = "passed" if status == PASSED else "failed"
        lines.append(f"known flaky since {entry.since}, {outcome}: {entry.test} ({entry.cause})")
        if status != PASSED:
            print(output, flush=True)
    return lines
