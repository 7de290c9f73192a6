"""Churns a group of balanced consumers, half of them the genuine pykafka, and prints what came of it.

    python scripts/churn_pykafka.py --minutes 5

Ends with 1 where a partition had two owners, was without one for longer than the session time-out and the
back-off together, or a message was lost. What is done to the group is in tests/compat/pykafka/churn.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.compat.pykafka.churn.drive import PARTITIONS, SESSION_TIMEOUT_MS, TOTAL_BACKOFF_SECONDS, Churn
from tests.compat.pykafka.packages import genuine

from barnabas.testing import ApacheKafka


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--every-seconds", type=float, default=5, help="between two events, about")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="churn-") as folder,
        ApacheKafka("2.8.2", config={"num.partitions": str(PARTITIONS)}) as kafka,
    ):
        churn = Churn(kafka, Path(folder), genuine(), wanted.seed)
        figures = churn.run(wanted.minutes * 60, every_seconds=wanted.every_seconds)
    limit = SESSION_TIMEOUT_MS / 1000 + TOTAL_BACKOFF_SECONDS
    for name, value in vars(figures).items():
        print(f"{name}: {dict(value) if isinstance(value, dict) else value}")
    print(f"limit_without_node_seconds: {limit}")
    is_well = (
        not figures.lost
        and not figures.owned_twice
        and not figures.ours_given_of_others
        and figures.longest_without_node_seconds <= limit
    )
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
