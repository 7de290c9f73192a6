"""Where the last run's time went: its slowest tests and fixtures, and seconds by folder.

python -m scripts.suite.durations [--most 50]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from scripts.suite.junit import Case, cases
from scripts.suite.paths import BUILD


def report(ran: Sequence[Case], most: int) -> Iterable[str]:
    tests = {case.name: case.seconds - sum(case.fixture_seconds.values()) for case in ran}
    fixtures: Counter[str] = Counter()
    times_made: Counter[str] = Counter()
    for case in ran:
        fixtures.update(case.fixture_seconds)
        times_made.update(case.fixture_seconds.keys())
    yield f"The {most} slowest tests, without their fixtures:"
    for name, seconds in sorted(tests.items(), key=lambda found: -found[1])[:most]:
        yield f"{seconds:9.1f} s  {name}"
    yield f"\nThe {most} slowest fixtures, without those they take:"
    for name, seconds in fixtures.most_common(most):
        yield f"{seconds:9.1f} s  {name}, made {times_made[name]} times"
    yield "\nBy folder, fixtures included:"
    folders: defaultdict[tuple[str, str], float] = defaultdict(float)
    for case in ran:
        folders[case.folder, case.tier] += case.seconds
    for (folder, tier), seconds in sorted(folders.items(), key=lambda found: -found[1]):
        yield f"{seconds:9.1f} s  {folder}, {tier}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m scripts.suite.durations")
    parser.add_argument("--most", type=int, default=50, help="how many tests and fixtures to show")
    arguments = parser.parse_args()
    ran = [case for path in sorted(BUILD.glob("*.xml")) for case in cases(path)]
    if not ran:
        sys.exit(f"no run wrote a junit file into {BUILD}: run `make test` first")
    print("\n".join(report(ran, arguments.most)))


if __name__ == "__main__":
    main()
