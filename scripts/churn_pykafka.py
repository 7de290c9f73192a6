"""Churns a group of balanced consumers, half of them the genuine pykafka, and prints what came of it.

    python scripts/churn_pykafka.py --minutes 5

Ends with 1 where a partition had two owners, was without one for longer than the session time-out and the
back-off allow, or a message was lost. What is done to the group is in tests/compat/pykafka/churn.
`--all-genuine` has no member of ours, for comparison. `--keep FOLDER`: where members write and log.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.compat.pykafka.churn.drive import Churn, kafka_to_churn
from tests.compat.pykafka.packages import genuine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--every-seconds", type=float, default=5, help="between two events, about")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all-genuine", action="store_true")
    parser.add_argument("--keep", type=Path)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="churn-") as temporary:
        folder = wanted.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with kafka_to_churn(folder) as kafka:
            genuine_places = {"is_genuine": lambda _: True} if wanted.all_genuine else {}
            churn = Churn(kafka, folder, genuine(), wanted.seed, **genuine_places)
            figures = churn.run(wanted.minutes * 60, every_seconds=wanted.every_seconds)
    for name, value in vars(figures).items():
        print(f"{name}: {dict(value) if isinstance(value, dict) else value}")
    complaints = figures.complaints()
    print("\n".join(complaints) or "nothing to complain of")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
