"""A stream from Kafka to Kafka whose driver, Python workers and brokers are killed under load.

    make test-chaos MINUTES=30 ARGS="tests/spark/writing/test_kills.py --seed=7"

The seed chooses what is killed and when; how far the programs are at these moments no seed decides.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest
from tests.spark.conftest import Kafka, committed
from tests.spark.copy_stream import FOR_EVER, UNTIL_THERE
from tests.spark.steady_load import PARTITIONS, Load

from barnabas.testing import ApacheKafkaCluster

KILLS = 2
ROOT = Path(__file__).resolve().parents[3]
# A task whose Python worker is killed is tried again.
MASTER = "local[2,4]"
PROGRESS_SECONDS = 900.0
END_SECONDS = 1200.0
NEVER = ("PartialCommitError", "TransactionExpiredError", "DataLossError")

Victim = Literal["driver", "daemon", "worker", "planner", "broker"]
VICTIMS: tuple[Victim, ...] = ("driver", "driver", "daemon", "worker", "worker", "planner", "broker")


class Copier:
    """The program that runs the query, with its processes."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._checkpoint = folder / "checkpoint"
        self._log = folder / "log"
        self._arguments = [*arguments[:3], str(self._checkpoint), *arguments[3:]]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, follow: str = FOR_EVER) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.copy_stream", MASTER, *self._arguments, follow],
                cwd=ROOT,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(END_SECONDS)

    def kill(self) -> None:
        """All of it, as when the machine of a driver dies."""
        assert self._process is not None
        for pid in self._processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def kill_one(self, victim: Victim, chance: random.Random) -> bool:
        """Whether there was a process of that kind."""
        found = self._pythons()[victim]
        if not found:
            return False
        with suppress(ProcessLookupError):
            os.kill(chance.choice(found), signal.SIGKILL)
        return True

    def batches(self) -> int:
        """How many were planned. Spark keeps the last hundred."""
        return max(self._planned(), default=-1) + 1

    def batch_seconds(self) -> float:
        """How long a batch takes at present."""
        times = [at for _, at in sorted(self._planned().items())[-2:]]
        return min(5.0, times[1] - times[0]) if len(times) == 2 else 1.0

    def _planned(self) -> dict[int, float]:
        """When each batch was planned, in seconds since 1970."""
        found: dict[int, float] = {}
        for path in (self._checkpoint / "offsets").glob("[0-9]*"):
            # Those that are old are removed at any time.
            with suppress(FileNotFoundError):
                found[int(path.name)] = path.stat().st_mtime
        return found

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def _processes(self) -> dict[int, tuple[int, str]]:
        """Parent and command line of each process of the program's session, by its id."""
        assert self._process is not None
        found: dict[int, tuple[int, str]] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                parent, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[1:4]
                if int(session) == self._process.pid:
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found[int(folder.name)] = (int(parent), command)
        return found

    def _pythons(self) -> dict[Victim, list[int]]:
        processes = self._processes()
        daemons = {pid for pid, (_, command) in processes.items() if "pyspark.daemon" in command}
        forked = [pid for pid in daemons if processes[pid][0] in daemons]
        planners = [pid for pid, (_, command) in processes.items() if "-m pyspark.sql." in command]
        return {"daemon": sorted(daemons - {*forked}), "worker": sorted(forked), "planner": sorted(planners)}


@pytest.mark.timeout(1800)
def test_a_stream_loses_and_doubles_nothing_whatever_is_killed(
    own_apache_cluster: ApacheKafkaCluster, tmp_path: Path
) -> None:
    nothing_is_lost_or_doubled("exactly-once", own_apache_cluster, tmp_path, 7, 0)


@pytest.mark.chaos
@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_stream_loses_nothing_whatever_is_killed_for_long(
    delivery: str,
    own_apache_cluster: ApacheKafkaCluster,
    tmp_path: Path,
    chaos_seconds: float,
    soak_seed: int,
) -> None:
    nothing_is_lost_or_doubled(delivery, own_apache_cluster, tmp_path, soak_seed, chaos_seconds)


def nothing_is_lost_or_doubled(
    delivery: str, own_apache_cluster: ApacheKafkaCluster, tmp_path: Path, seed: int, seconds: float
) -> None:
    """At least KILLS kills, over at least so many seconds. At least once may double rows."""
    chance = random.Random(f"{seed} {delivery}")
    kafka = Kafka(own_apache_cluster.bootstrap)
    source, target = (kafka.create(PARTITIONS, replicas=3) for _ in range(2))
    load = Load(own_apache_cluster.bootstrap, source)
    copier = Copier(tmp_path, own_apache_cluster.bootstrap, source, target, delivery)
    killed: Counter[str] = Counter()
    began = time.monotonic()
    try:
        while killed.total() < KILLS or time.monotonic() - began < seconds:
            until_the_next_batches(copier, chance.randint(1, 3))
            time.sleep(chance.random() * copier.batch_seconds())
            victim = chance.choice(VICTIMS)
            if victim == "driver":
                copier.kill()
            elif victim == "broker":
                node = chance.choice(own_apache_cluster.nodes)
                node.kill() if chance.random() < 0.5 else node.stop()
                node.start()
                own_apache_cluster.wait_until_whole()
            elif not copier.kill_one(victim, chance):
                continue
            killed[victim] += 1
            so_far = f"{time.monotonic() - began:.0f} s, {copier.batches()} batches"
            print(f"{so_far}: {victim} killed", flush=True)
        expected = load.stop()
        if copier.is_running:
            copier.kill()
        copier.start(UNTIL_THERE)
        assert copier.wait() == 0, copier.log()[-3000:]
    finally:
        load.stop()
        if copier.is_running:
            copier.kill()
    values = committed(kafka, target)
    took = time.monotonic() - began
    print(f"seed {seed}, {delivery}: {dict(killed)} killed, {len(expected)} rows, {took:.0f} s")
    print(f"written twice: {len(values) - len(set(values))}")
    assert sorted(set(expected) - set(values)) == [], "lost"
    assert sorted(set(values) - set(expected)) == [], "never written"
    if delivery == "exactly-once":
        assert len(values) == len(expected), "doubled"
    assert [word for word in NEVER if word in copier.log()] == []


def until_the_next_batches(copier: Copier, count: int) -> None:
    """A program that has ended is started again, as whoever runs it would."""
    wanted = copier.batches() + count
    deadline = time.monotonic() + PROGRESS_SECONDS
    while copier.batches() < wanted:
        assert time.monotonic() < deadline, f"the query does not get on:\n{copier.log()[-3000:]}"
        if not copier.is_running:
            copier.start()
        time.sleep(0.01)
