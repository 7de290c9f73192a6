"""Consume, transform, produce, exactly once, by programs that are killed at random points.

python -m tests.integration.exactly_once --minutes 30 --seed 3 --harm --on embedded-3
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.clusters import KINDS, HarmedCluster, cluster_of
from tests.integration.copier import ABORTED
from tests.integration.history import duplicated, out_of_order
from tests.integration.nemesis import harass
from tests.integration.workload import read_log

from barnabas import NewTopic, aio

ROOT = Path(__file__).resolve().parents[2]
COPIERS = 2
PARTITIONS = 4
RECORDS_AT_ONCE = 50
FINISH_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run. `faults` are sentences; `aborts` and `last_words` are for the reader."""

    records: int
    kills: int
    aborts: int
    faults: list[str]
    last_words: list[str]

    def __str__(self) -> str:
        lines = [f"{self.records} records, {self.kills} copiers killed, {self.aborts} transactions aborted"]
        return "\n".join([*lines, *self.last_words, *(f"FAULT {fault}" for fault in self.faults[:20])])


class Copier:
    """A copier program, started anew whenever it was killed."""

    def __init__(self, name: str, arguments: list[str], seeds: Iterator[int], log: Path) -> None:
        self._name = name
        self._arguments = arguments
        self._seeds = seeds
        self._log = log
        self.start()

    def start(self) -> None:
        bootstrap, source, target, protocol = self._arguments
        words = [bootstrap, source, target, self._name, protocol, str(next(self._seeds))]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.copier", *words],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None


async def run(
    cluster: HarmedCluster, *, seed: int, seconds: float, protocol: str, harm: bool, records: int = 4_000
) -> Outcome:
    """Copies `records` while copiers are killed, and with `harm` brokers too, for `seconds`; then judges."""
    suffix = uuid.uuid4().hex[:8]
    source, target = f"source-{suffix}", f"target-{suffix}"
    async with aio.Admin(cluster.bootstrap) as admin:
        await admin.create_topics([NewTopic(name, PARTITIONS) for name in (source, target)])
    chance = random.Random(seed)
    seeds = iter(lambda: chance.randrange(1 << 30), None)
    seen: list[bytes] = []
    kills = 0
    ended: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        logs = [Path(folder) / f"copier-{number}.log" for number in range(COPIERS)]
        copiers: list[Copier] = []
        for number, log in enumerate(logs):
            arguments = [cluster.bootstrap, source, target, protocol]
            copiers.append(Copier(f"copier-{suffix}-{number}", arguments, seeds, log))
            stack.callback(copiers[-1].kill)
        filling = asyncio.create_task(_fill(cluster.bootstrap, source, records, seconds))
        reader = asyncio.create_task(_read_along(cluster.bootstrap, target, records, seen))
        nemesis = asyncio.create_task(harass(cluster, seed, seconds if harm else 0))
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not reader.done():
            await asyncio.sleep(chance.uniform(0.3, 3.0))
            copier = chance.choice(copiers)
            copier.kill()
            copier.start()
            kills += 1
            # One that gave up, because it was fenced for instance, is started again as an operator would.
            for other in copiers:
                if other.has_ended:
                    ended.append(f"a copier ended by itself: {_last_line(logs)}")
                    other.start()
        await asyncio.gather(nemesis, filling)
        finished = time.monotonic() + FINISH_SECONDS
        while not reader.done() and time.monotonic() < finished:
            await asyncio.wait([reader], timeout=0.5)
            for copier in copiers:
                if copier.has_ended:
                    ended.append(f"a copier ended by itself: {_last_line(logs)}")
                    copier.start()
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
        for copier in copiers:
            copier.kill()
        aborts = sum(log.read_text().count("aborted: ") for log in logs)
    log = await asyncio.to_thread(read_log, cluster.bootstrap, target)
    return Outcome(records, kills, aborts, _faults(records, seen, log), ended)


def _faults(records: int, seen: list[bytes], log: Any) -> list[str]:
    wanted = {b"s:%d" % number for number in range(records)}
    stored = {value for rows in log.values() for _, value in rows}
    found: list[str] = []
    for name, values in (("the target", stored), ("what was read along", set(seen))):
        if wanted - values:
            found.append(
                f"{len(wanted - values)} records are not in {name}, such as {min(wanted - values)!r}"
            )
        if values - wanted:
            found.append(f"{name} shows what nobody committed: {sorted(values - wanted)[:3]}")
    if len(seen) != len(set(seen)):
        found.append(f"{len(seen) - len(set(seen))} records were read along twice")
    return [*found, *duplicated(log), *out_of_order({key: _numbered(rows) for key, rows in log.items()})]


def _numbered(rows: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    return [row for row in rows if row[1] != ABORTED]


async def _fill(bootstrap: str, topic: str, records: int, seconds: float) -> None:
    """Bit by bit, so that there is something to copy for as long as copiers are killed."""
    async with aio.Producer(bootstrap) as producer:
        for number in range(records):
            await producer.send(topic, b"s:%d" % number, partition=number % PARTITIONS)
            if number % RECORDS_AT_ONCE == 0:
                await asyncio.sleep(seconds * RECORDS_AT_ONCE / records)
        await producer.flush(60)


async def _read_along(bootstrap: str, topic: str, records: int, seen: list[bytes]) -> None:
    """Reads committed data while it comes, until there are as many records as there will be."""
    async with aio.Consumer(
        bootstrap, isolation_level="read_committed", auto_offset_reset="earliest", request_timeout_ms=5_000
    ) as consumer:
        consumer.assign([(topic, number) for number in range(PARTITIONS)])
        while len(seen) < records:
            seen += [record.value or b"" for record in await consumer.poll(0.5)]


def _last_line(logs: list[Path]) -> str:
    lines = [line for log in logs for line in log.read_text().splitlines() if "Error" in line]
    return lines[-1] if lines else "without a word"


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill copiers of a topic, and say what was lost or doubled.")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each run takes the next")
    parser.add_argument("--protocol", choices=["classic", "consumer", "both"], default="both")
    parser.add_argument("--harm", action="store_true", help="kill, pause and restart brokers as well")
    parser.add_argument("--on", choices=list(KINDS), default="apache", help="what it runs on")
    options = parser.parse_args()
    protocols = ["classic", "consumer"] if options.protocol == "both" else [options.protocol]
    deadline = time.monotonic() + options.minutes * 60
    seed, is_sound = options.seed, True
    with cluster_of(options.on) as cluster:
        while time.monotonic() < deadline:
            protocol = protocols[seed % len(protocols)]
            print(f"seed {seed}, group protocol {protocol}", flush=True)
            outcome = asyncio.run(run(cluster, seed=seed, seconds=25, protocol=protocol, harm=options.harm))
            print(outcome, flush=True)
            is_sound = is_sound and not outcome.faults
            seed += 1
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
