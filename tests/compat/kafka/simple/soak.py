"""`python -m tests.compat.kafka.simple.soak [--minutes 10] [--on embedded | apache | cluster]
[--seed N]`

Programs for kafka-python 1.2.1 write and read while their broker is restarted and killed, and while those
that read give way to others that have the partitions divided in another way. Ends with status 1 if something
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import barnabas
from barnabas.testing import ApacheKafka, ApacheKafkaCluster, EmbeddedBroker

PROGRAM = Path(__file__).parent / "soak_program.py"
PARTITIONS = 4
GROUP = "readers"
DIVISIONS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("consume", GROUP, "0,1,2,3"),),
    (("consume", GROUP, "0,1"), ("consume", GROUP, "2,3")),
    (("consume_in_processes", GROUP, "2"),),
    (("consume", GROUP, "0"), ("consume", GROUP, "1,3"), ("consume", GROUP, "2")),
)
"""Who reads at one time, and what."""
WRITERS = (("produce", "waiting"), ("produce_keyed", "keyed"), ("produce_in_thread", "threaded"))
ROUND_SECONDS = 6.0
CATCH_UP_SECONDS = 90.0
END_SECONDS = 90.0


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

    def __init__(self, broker: ApacheKafka | EmbeddedBroker | OneOfThree, folder: Path, seed: int) -> None:
        self._broker = broker
        self._folder = folder
        self._random = random.Random(seed)
        self._topic = f"soak-{uuid.uuid4().hex[:8]}"
        self._numbers = itertools.count()
        self.harms = 0
        with barnabas.Admin(broker.bootstrap) as admin:
            admin.create_topics([barnabas.NewTopic(self._topic, num_partitions=PARTITIONS)])

    def run(self, seconds: float) -> None:
        """Writes and reads for so long, and then until all is read that is going to be."""
        is_over = threading.Event()
        harm = threading.Thread(target=self._harm, args=(is_over,))
        harm.start()
        try:
            self._rounds(time.monotonic() + seconds)
        finally:
            is_over.set()
            harm.join()
        deadline = time.monotonic() + CATCH_UP_SECONDS
        with self._programs(DIVISIONS[0]):
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
        for division in itertools.cycle(DIVISIONS):
            writers = [(role, f"{name}{next(self._numbers)}") for role, name in WRITERS]
            with self._programs(writers), self._programs(division):
                time.sleep(max(0.0, min(ROUND_SECONDS, deadline - time.monotonic())))
            if time.monotonic() >= deadline:
                return

    def _harm(self, is_over: threading.Event) -> None:
        while not is_over.wait(self._random.uniform(2, 6)):
            self._broker.kill() if self._random.random() < 0.5 else self._broker.stop()
            is_over.wait(self._random.uniform(0, 2))
            self._broker.start()
            self.harms += 1

    @contextlib.contextmanager
    def _programs(self, arguments: Sequence[Sequence[str]]) -> Iterator[None]:
        """They are told to end afterwards, which must come to an end without an error."""
        with contextlib.ExitStack() as stack:
            running: list[subprocess.Popen[bytes]] = []
            for role, *rest in arguments:
                path = self._folder / f"{role}-{next(self._numbers)}"
                command = [sys.executable, "-m", "barnabas.compat", "--kafka-python", "1.2", str(PROGRAM)]
                command += [role, self._broker.bootstrap, self._topic, *rest]
                out = stack.enter_context(path.with_suffix(".out").open("wb"))
                errors = stack.enter_context(path.with_suffix(".err").open("wb"))
                running.append(subprocess.Popen(command, stdout=out, stderr=errors))
            try:
                yield
            finally:
                for program in running:
                    program.terminate()
                for program in running:
                    end(program)
        for program in running:
            # One that was told before it could listen has done nothing yet.
            if program.returncode not in (0, -signal.SIGTERM):
                raise RuntimeError(f"{program.args!r} ended with {program.returncode}: {self._errors()}")

    def _errors(self) -> str:
        return "".join(path.read_text()[-2000:] for path in sorted(self._folder.glob("*.err")))


def end(program: subprocess.Popen[bytes]) -> None:
    try:
        program.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--on", choices=("embedded", "apache", "cluster"), default="embedded")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    kinds: dict[str, Any] = {
        "embedded": EmbeddedBroker,
        "apache": ApacheKafka,
        "cluster": lambda: OneOfThree(options.seed),
    }
    with kinds[options.on]() as broker, tempfile.TemporaryDirectory() as folder:
        soak = Soak(broker, Path(folder), options.seed)
        soak.run(options.minutes * 60)
        lost = soak.lost()
        print(
            f"{options.on}: {len(soak.written())} acknowledged, {len(soak.read())} read, "
            f"{soak.harms} restarts and kills, {len(lost)} lost: {sorted(lost)[:10]}"
        )
        sys.exit(bool(lost))


if __name__ == "__main__":
    main()
