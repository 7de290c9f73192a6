"""`python -m tests.compat.kafka.soak [--clients simple | group] [--generation 1.2 | 2 | 3] [--minutes 10]
[--on embedded | apache | cluster] [--seed N]`

Programs for kafka-python write and read while their broker is restarted and killed, and while those that read
give way to others, among which the partitions are divided in another way. Ends with status 1 if something
that was acknowledged was never read.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import barnabas
from barnabas.compat.kafka_engine.generations import GENERATIONS
from barnabas.testing import ApacheKafka, ApacheKafkaCluster, EmbeddedBroker

HERE = Path(__file__).parent
PARTITIONS = 4
LEAST_WRITTEN = 100
ROUND_SECONDS = 6.0
CATCH_UP_SECONDS = 120.0
END_SECONDS = 90.0


Division = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Cast:
    """Programs that write, and those that read, in turn: lists of a role and its arguments."""

    program: Path
    generation: str
    writers: Division
    divisions: Sequence[Division]
    readers_may_die: bool
    """Whether a reader that is killed loses nothing: none commits beside the program."""


def simple_clients() -> Cast:
    """SimpleProducer and SimpleConsumer, which kafka-python 1 has."""
    readers = "readers"
    return Cast(
        HERE / "simple" / "soak_program.py",
        "1.2",
        (("produce", "waiting"), ("produce_keyed", "keyed"), ("produce_in_thread", "threaded")),
        (
            (("consume", readers, "0,1,2,3"),),
            (("consume", readers, "0,1"), ("consume", readers, "2,3")),
            (("consume_in_processes", readers, "2"),),
            (("consume", readers, "0"), ("consume", readers, "1,3"), ("consume", readers, "2")),
        ),
        readers_may_die=False,
    )


def group_clients(generation: str) -> Cast:
    """KafkaProducer, and KafkaConsumer in one group, some of which iterate and some of which poll."""
    writers = [("produce", "told"), ("produce_and_wait", "waiting")]
    if generation != "1.2":
        writers.append(("produce_in_transactions", "transactional"))
    iterate, poll, commit = ("consume_iterating",), ("consume_polling",), ("consume_committing",)
    return Cast(
        HERE / "consume" / "soak_program.py",
        generation,
        writers,
        ((iterate,), (iterate, poll), (poll, commit, iterate), (commit,)),
        readers_may_die=True,
    )


@dataclass(frozen=True)
class Program:
    """One that runs, with what it prints in a file."""

    process: subprocess.Popen[bytes]
    printed: Path

    @classmethod
    def start(cls, command: Sequence[str], path: Path) -> Self:
        printed = path.with_suffix(".out")
        with printed.open("wb") as out, path.with_suffix(".err").open("wb") as errors:
            return cls(subprocess.Popen(command, stdout=out, stderr=errors), printed)

    @property
    def printed_bytes(self) -> int:
        return self.printed.stat().st_size

    def wait(self) -> None:
        """Until it has ended; one that does not is killed."""
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class OneOfThree:
    """A cluster, of which a broker is harmed at a time. Started by its own context."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._cluster = ApacheKafkaCluster()
        self._harmed: ApacheKafka | None = None

    @property
    def bootstrap(self) -> str:
        return self._cluster.bootstrap

    def kill(self) -> None:
        self._any().kill()

    def stop(self) -> None:
        self._any().stop()

    def start(self) -> None:
        if self._harmed is not None:
            self._harmed.start()
            self._cluster.wait_until_whole()

    def _any(self) -> ApacheKafka:
        self._harmed = self._cluster.node(self._random.randint(1, 3))
        return self._harmed

    def __enter__(self) -> Self:
        self._cluster.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._cluster.__exit__(*error)


class Soak:
    """One run on a broker that has started. `folder`: for what programs print."""

    def __init__(
        self, cast: Cast, broker: ApacheKafka | EmbeddedBroker | OneOfThree, folder: Path, seed: int
    ) -> None:
        self._cast = cast
        self._broker = broker
        self._folder = folder
        self._random = random.Random(seed)
        self._topic = f"soak-{uuid.uuid4().hex[:8]}"
        self._numbers = itertools.count()
        self._writers: list[Program] = []
        self.harms = 0
        with barnabas.Admin(broker.bootstrap) as admin:
            admin.create_topics([barnabas.NewTopic(self._topic, num_partitions=PARTITIONS)])

    def run(self, seconds: float) -> None:
        """Writes and reads for so long at least, and then until all is read that is going to be."""
        is_over = threading.Event()
        harm = threading.Thread(target=self._harm, args=(is_over,))
        harm.start()
        try:
            self._rounds(time.monotonic() + seconds)
        finally:
            is_over.set()
            harm.join()
        deadline = time.monotonic() + CATCH_UP_SECONDS
        with self._programs(self._cast.divisions[0]):
            while self.lost() and time.monotonic() < deadline:
                time.sleep(0.2)

    def written(self) -> set[str]:
        """What was acknowledged."""
        return self._printed("produce*")

    def read(self) -> set[str]:
        return self._printed("consume*")

    def lost(self) -> set[str]:
        return self.written() - self.read()

    def _printed(self, pattern: str) -> set[str]:
        return {
            line for path in self._folder.glob(f"{pattern}.out") for line in path.read_text().splitlines()
        }

    def _rounds(self, deadline: float) -> None:
        for division in itertools.cycle(self._cast.divisions):
            writers = [(role, f"{name}{next(self._numbers)}") for role, name in self._cast.writers]
            deaths = self._random.randint(0, len(division)) if self._cast.readers_may_die else 0
            with self._programs(writers) as self._writers, self._programs(division, deaths):
                left = deadline - time.monotonic()
                time.sleep(min(ROUND_SECONDS, left) if left > 0 else ROUND_SECONDS)
            # A slow machine takes longer until there is enough for a loss to show.
            if time.monotonic() >= deadline and len(self.written()) > LEAST_WRITTEN:
                return

    def _harm(self, is_over: threading.Event) -> None:
        while not is_over.wait(self._random.uniform(2, 6)):
            self._broker.kill() if self._random.random() < 0.5 else self._broker.stop()
            is_over.wait(self._random.uniform(0, 2))
            self._broker.start()
            self.harms += 1
            self._wait_for_writers(is_over)

    def _wait_for_writers(self, is_over: threading.Event) -> None:
        """Until each has had something acknowledged, or has ended. A broker that is harmed before it has
        gathered itself, long on a busy machine, serves nobody in the time that clients give it."""
        before = {program: program.printed_bytes for program in self._writers}
        while any(
            program.printed_bytes == before.get(program) and program.process.poll() is None
            for program in self._writers
        ):
            if is_over.wait(0.1):
                return

    @contextlib.contextmanager
    def _programs(self, arguments: Division, deaths: int = 0) -> Generator[list[Program]]:
        """They are told to end afterwards, which must come to an end without an error; but for the first
        `deaths`, which are killed."""
        running: list[Program] = []
        try:
            for role, *rest in arguments:
                path = self._folder / f"{role}-{next(self._numbers)}"
                command = [sys.executable, "-m", "barnabas.compat", "--kafka-python"]
                command += [
                    self._cast.generation,
                    str(self._cast.program),
                    role,
                    self._broker.bootstrap,
                    self._topic,
                    *rest,
                ]
                running.append(Program.start(command, path))
            yield running
        finally:
            for program in running[:deaths]:
                program.process.kill()
            for program in running[deaths:]:
                program.process.terminate()
            for program in running:
                program.wait()
        for program in running[deaths:]:
            # One that was told before it could listen has done nothing yet.
            if program.process.returncode not in (0, -signal.SIGTERM):
                ended = f"{program.process.args!r} ended with {program.process.returncode}"
                raise RuntimeError(f"{ended}: {self._errors()}")

    def _errors(self) -> str:
        return "".join(path.read_text()[-2000:] for path in sorted(self._folder.glob("*.err")))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", choices=("simple", "group"), default="group")
    parser.add_argument("--generation", choices=tuple(GENERATIONS), default="3", help="of --clients group")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--on", choices=("embedded", "apache", "cluster"), default="embedded")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kinds: dict[str, Any] = {
        "embedded": EmbeddedBroker,
        "apache": ApacheKafka,
        "cluster": lambda: OneOfThree(options.seed),
    }
    cast = simple_clients() if options.clients == "simple" else group_clients(options.generation)
    with kinds[options.on]() as broker, tempfile.TemporaryDirectory() as folder:
        soak = Soak(cast, broker, Path(folder), options.seed)
        soak.run(options.minutes * 60)
        lost = soak.lost()
        print(f"{options.clients} clients of {cast.generation} on {options.on}:")
        print(f"{len(soak.written())} acknowledged, {len(soak.read())} read, {soak.harms} restarts and kills")
        print(f"{len(lost)} lost: {sorted(lost)[:10]}")
        sys.exit(bool(lost))


if __name__ == "__main__":
    main()
