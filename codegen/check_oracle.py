"""Checks every message in every version against Kafka's own Java classes, of both releases.

    python codegen/check_oracle.py [--instances 20] [--seed 0] [--message FetchRequest]

Exits with 1 if anything differs, naming message, version and seed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import jars
from oracle.checks import run_checks
from oracle.instances import message_classes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--instances", type=int, default=20, help="random instances of each version (20)")
    parser.add_argument("--seed", type=int, default=0, help="where the random instances begin (0)")
    parser.add_argument("--message", help="only this class")
    arguments = parser.parse_args()
    classes = [cls for cls in message_classes() if arguments.message in (None, cls.__name__)]
    checked: Counter[str] = Counter()
    failures = 0
    try:
        for check in run_checks(classes, arguments.seed, arguments.instances):
            checked[check.release] += 1
            if check.failure is not None:
                failures += 1
                print(check.failure)
    except jars.MissingToolError as error:
        print(error, file=sys.stderr)
        return 1
    for release, count in checked.items():
        print(f"Kafka {release}: {count} versions of messages, {arguments.instances} instances of each")
    print(f"{len(classes)} messages, {sum(checked.values())} versions, {failures} failures")
    return 1 if failures or not classes else 0


if __name__ == "__main__":
    sys.exit(main())
