"""One run: a cluster, load, and harm to its brokers; and the same from the command line, for hours.

python -m tests.integration.chaos --minutes 30 --seed 7 --protocol consumer
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from dataclasses import dataclass

from tests.integration.clusters import KINDS, HarmedCluster, cluster_of
from tests.integration.history import faults, longest_without_owner_seconds
from tests.integration.nemesis import Step, harass
from tests.integration.workload import PARTITIONS, Workload, read_log

OWNED_AGAIN_SECONDS = 30.0
READ_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run. Times are in seconds."""

    steps: list[Step]
    acknowledged: int
    failed: list[tuple[bytes, str]]
    consumed: int
    commit_errors: list[str]
    longest_without_owner: float
    owned_again_after: float
    faults: list[str]

    def __str__(self) -> str:
        lines = [
            f"{len(self.steps)} harms: " + "; ".join(str(step) for step in self.steps),
            f"{self.acknowledged} acknowledged, {len(self.failed)} failed, {self.consumed} consumed, "
            f"{len(self.commit_errors)} commits refused",
            f"longest time a partition had no owner {self.longest_without_owner:.1f} s; "
            f"all owned {self.owned_again_after:.1f} s after the last harm",
            *(f"failed: {value!r}: {error}" for value, error in self.failed[:5]),
            *(f"commit: {error}" for error in self.commit_errors[:5]),
            *(f"FAULT {fault}" for fault in self.faults[:20]),
        ]
        return "\n".join(lines)


async def run(
    cluster: HarmedCluster, *, seed: int, seconds: float, protocol: str, churn: bool = True
) -> Outcome:
    """Load on `cluster` while its brokers are harmed for `seconds`, judged when all is read."""
    workload = Workload(cluster.bootstrap, group_protocol=protocol)
    await workload.create_topic()
    async with workload.consuming(churn_seed=seed if churn else None):
        async with workload.producing():
            begin = time.monotonic()
            steps = await harass(cluster, seed, seconds)
            end = time.monotonic()
            owned_again = await workload.wait_until_owned(OWNED_AGAIN_SECONDS)
        log = await asyncio.to_thread(read_log, cluster.bootstrap, workload.topic)
        await workload.wait_until_read(log, READ_SECONDS)
    history = workload.history
    return Outcome(
        steps,
        len(history.acknowledged),
        history.failed,
        len(history.consumed),
        history.commit_errors,
        longest_without_owner_seconds(history, PARTITIONS, begin, end),
        owned_again,
        faults(history, log),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Harm a cluster under load, and say what was lost.")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each run takes the next")
    parser.add_argument("--protocol", choices=["classic", "consumer", "both"], default="both")
    parser.add_argument("--run-seconds", type=float, default=60.0, help="length of one run")
    parser.add_argument("--on", choices=list(KINDS), default="apache", help="what is harmed")
    options = parser.parse_args()
    protocols = ["classic", "consumer"] if options.protocol == "both" else [options.protocol]
    deadline = time.monotonic() + options.minutes * 60
    seed, is_sound = options.seed, True
    with cluster_of(options.on) as cluster:
        while time.monotonic() < deadline:
            protocol = protocols[seed % len(protocols)]
            seconds = min(options.run_seconds, max(5.0, deadline - time.monotonic()))
            print(f"seed {seed}, group protocol {protocol}", flush=True)
            outcome = asyncio.run(run(cluster, seed=seed, seconds=seconds, protocol=protocol))
            print(outcome, flush=True)
            is_sound = is_sound and not outcome.faults and not outcome.failed
            seed += 1
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
