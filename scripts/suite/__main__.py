"""Runs the tests of some tiers, and those that failed by chance a second time.

    python -m scripts.suite unit | test | all | chaos [--python-only] [--part=1/3] [arguments of pytest]

`unit` runs Rust's tests and the tier unit, `test` those and integration, `all` those and differential,
`chaos` the tier chaos alone. The exit status is 0 when the run is green. docs/design/testing.md says what
the tiers are and what is done about a test that passes only the second time.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from collections.abc import Iterable, Sequence

from scripts.suite.known_flaky import KnownFlakyError, known_flaky
from scripts.suite.parts import Part, part_of
from scripts.suite.paths import BUILD
from scripts.suite.second_runs import MOST_FLAKY, Judged, judge, run_known
from scripts.suite.stages import NO_TESTS, Deadline, Ended, TookTooLongError, run_rust, run_tier, say

RUNS = {
    "unit": ("unit",),
    "test": ("unit", "integration"),
    "all": ("unit", "integration", "differential"),
    "chaos": ("chaos",),
}
# Tests of this tier depend on nothing but themselves, so chance is no excuse.
WITHOUT_SECOND_RUN = "unit"
LIMIT_SECONDS = 110 * 60.0
# Chaos takes as long as its SEEDS and MINUTES say.
CHAOS_LIMIT_SECONDS = 24 * 3600.0
SHOWN_LINES = 8
# The tier that takes longest, which `--part` divides.
DIVIDED = "differential"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.suite", description="Runs the tests of some tiers (docs/design/testing.md)."
    )
    parser.add_argument("run", choices=RUNS)
    parser.add_argument("--python-only", action="store_true", help="leave Rust's tests out")
    parser.add_argument(
        "--part", metavar="N/M", type=part_of, help=f"run part N of M of the tier {DIVIDED}, not all of it"
    )
    given, arguments = parser.parse_known_args()
    # A shell starts what runs in the background with this signal ignored, and tests interrupt programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tiers = RUNS[given.run]
    if given.part is not None and DIVIDED not in tiers:
        parser.error(f"--part divides the tier {DIVIDED}, which `{given.run}` does not run")
    deadline = Deadline(CHAOS_LIMIT_SECONDS if given.run == "chaos" else LIMIT_SECONDS)
    with_rust = WITHOUT_SECOND_RUN in tiers and not given.python_only and not arguments
    try:
        green = is_green(tiers, arguments, deadline, part=given.part, with_rust=with_rust)
        sys.exit(0 if green else 1)
    except TookTooLongError as error:
        sys.exit(f"suite: red: {error}")
    except KnownFlakyError as error:
        sys.exit(f"suite: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def is_green(
    tiers: Sequence[str],
    arguments: Sequence[str],
    deadline: Deadline,
    *,
    part: Part | None,
    with_rust: bool,
) -> bool:
    """Runs the tiers, and prints what came of them in its last lines. Raises: TookTooLongError."""
    known = known_flaky()
    shutil.rmtree(BUILD, ignore_errors=True)
    stages = [run_rust(deadline)] if with_rust else []
    left_out = [entry.test for entry in known]
    stages += [
        run_tier(tier, arguments, left_out, part if tier == DIVIDED else None, deadline) for tier in tiers
    ]
    if all(stage.status == NO_TESTS for stage in stages):
        say(f"no test of {' and '.join(tiers)} was selected; make test-all has all tiers but chaos")
        return False
    once: dict[str, str] = {}
    again: dict[str, str] = {}
    for stage in stages:
        (once if stage.name == WITHOUT_SECOND_RUN else again).update(stage.failures)
    judged = judge(again, deadline)
    if not arguments:
        for line in run_known(known, [tier for tier in tiers if tier != WITHOUT_SECOND_RUN], deadline):
            say(line)
    broken = [stage.name for stage in stages if not stage.ran_to_the_end]
    green = not once and not broken and judged.is_green
    print_outcome([*once, *judged.failed], judged, broken)
    print_table(stages, judged)
    say("green" if green else "red")
    # In the form that every reader of test runs knows.
    passed = sum(stage.counts.get("passed", 0) for stage in stages) + len(judged.flaky)
    skipped = sum(stage.counts.get("skipped", 0) for stage in stages)
    print(f"{passed} passed, {len(once) + len(judged.failed)} failed, {skipped} skipped", flush=True)
    return green


def print_outcome(failed: Iterable[str], judged: Judged, broken: Iterable[str]) -> None:
    for test in failed:
        say(f"failed: {test}")
    for test, text in judged.flaky.items():
        print(f"flaky: {test}")
        errors = [line for line in text.splitlines() if line.startswith("E ")] or text.splitlines()
        for line in errors[:SHOWN_LINES]:
            print(f"    {line}")
    if len(judged.flaky) > MOST_FLAKY:
        say(f"{len(judged.flaky)} tests passed only the second time, {MOST_FLAKY} at most")
    for name in broken:
        say(f"{name} did not run to its end")


def print_table(stages: Iterable[Ended], judged: Judged) -> None:
    say(f"{'tier':14}{'passed':>8}{'skipped':>9}{'failed':>8}{'flaky':>7}{'seconds':>9}")
    for stage in stages:
        flaky = sum(test in judged.flaky for test in stage.failures)
        failed = len(stage.failures) - flaky
        passed, skipped = stage.counts.get("passed", 0) + flaky, stage.counts.get("skipped", 0)
        say(f"{stage.name:14}{passed:8}{skipped:9}{failed:8}{flaky:7}{stage.seconds:9.0f}")


if __name__ == "__main__":
    main()
