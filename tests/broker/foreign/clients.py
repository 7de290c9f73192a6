"""Clients of other projects as programs that do their jobs on a broker, and tell what came of it.

Owns where each client comes from (its language's registry, once), how its program is built and run, and what
is expected of it. The jobs: make a topic and look at it; produce with each codec, keys, headers and
timestamps, idempotent where the client can; read it all in a group and commit; share partitions with a second
member that leaves again; copy it all in a transaction with its offsets, behind a transaction that is aborted.
Fetched and built things are under build/foreign/. Must not know the broker.

    python -m tests.broker.foreign.clients localhost:9092 [CLIENT ...]     # all of them on a broker that runs
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barnabas.testing import MissingProgramError
from barnabas.testing.distribution import KafkaDistribution, java_command

HERE = Path(__file__).parent
BUILD = Path(__file__).parents[3] / "build" / "foreign"
BUILD_SECONDS, JOBS_SECONDS = 280, 90
EACH_CODEC = 20
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@contextmanager
def _building(name: str) -> Generator[Path]:
    """The folder of what is built, for one process at a time."""
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _program(name: str, of: str) -> str:
    """Raises: MissingProgramError."""
    found = shutil.which(name)
    if found is None:
        raise MissingProgramError(f"{of} needs `{name}`, which is not on the PATH")
    return found


def _fetch(command: list[str], *, cwd: Path) -> None:
    """Raises: MissingProgramError, where the registry cannot be reached."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=BUILD_SECONDS)
    if done.returncode != 0:
        raise MissingProgramError(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def _compile(command: list[str], *, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"


def _go(package: str) -> Callable[[], list[str]]:
    def build() -> list[str]:
        go = _program("go", package)
        with _building("go") as folder:
            # Go itself knows whether there is anything to do.
            _fetch([go, "mod", "download"], cwd=HERE / "go")
            _compile([go, "build", "-o", str(folder / package), f"./{package}"], cwd=HERE / "go")
        return [str(folder / package)]

    return build


def _kafkajs() -> list[str]:
    node, npm = _program("node", "kafkajs"), _program("npm", "kafkajs")
    with _building("kafkajs") as folder:
        wanted = (HERE / "kafkajs" / "package.json").read_bytes()
        fetched = folder / "fetched.json"
        if not fetched.exists() or fetched.read_bytes() != wanted:
            (folder / "package.json").write_bytes(wanted)
            _fetch([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
            fetched.write_bytes(wanted)
        # Node looks for packages beside the program.
        shutil.copy(HERE / "kafkajs" / "jobs.js", folder / "jobs.js")
    return [node, str(folder / "jobs.js")]


def _java() -> list[str]:
    java, javac = java_command("Kafka's client"), _program("javac", "Kafka's client")
    jars = KafkaDistribution().class_path
    with _building("java") as folder:
        source, compiled = HERE / "java" / "Jobs.java", folder / "Jobs.class"
        if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
            _compile([javac, "-cp", jars, "-d", str(folder), str(source)], cwd=folder)
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
    return [java, *options, "-cp", f"{folder}{os.pathsep}{jars}", "Jobs"]


def _python(program: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, str(HERE / program)]


@dataclass(frozen=True)
class ForeignClient:
    """`build` gives the command, and raises MissingProgramError where the toolchain is not there."""

    name: str
    build: Callable[[], list[str]]
    codecs: tuple[str, ...] = CODECS
    has_consumer_protocol: bool = False
    has_transactions: bool = True

    def expected(self) -> dict[str, Any]:
        total = len(self.codecs) * EACH_CODEC
        group = {"read": dict.fromkeys(self.codecs, EACH_CODEC), "committed": total}
        results: dict[str, Any] = {
            "admin": {"partitions": 3, "retention": "86400000"},
            "group": group,
            "rebalance": [1, 2],
        }
        if self.has_consumer_protocol:
            results |= {"consumer protocol group": group, "consumer protocol rebalance": [1, 2]}
        if self.has_transactions:
            results["transactions"] = {"read": total, "aborted": 0, "committed": total}
        return results

    def does_its_jobs(self, bootstrap: str, topic: str) -> dict[str, Any]:
        """What it tells of jobs done on a new topic. Raises: MissingProgramError."""
        command = [*self.build(), bootstrap, topic]
        done = subprocess.run(command, capture_output=True, text=True, timeout=JOBS_SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])


CLIENTS = (
    ForeignClient("java", _java, has_consumer_protocol=True),
    ForeignClient("kafka-python", _python("kafka_python_jobs.py")),
    ForeignClient("aiokafka", _python("aiokafka_jobs.py")),
    ForeignClient("franz-go", _go("franz"), has_consumer_protocol=True),
    ForeignClient("sarama", _go("sarama")),
    ForeignClient("kafka-go", _go("segmentio"), has_transactions=False),
    ForeignClient("kafkajs", _kafkajs, codecs=CODECS[:3]),
)


def main() -> None:
    bootstrap, *names = sys.argv[1:]
    for client in CLIENTS:
        if not names or client.name in names:
            results = client.does_its_jobs(bootstrap, f"foreign-{uuid.uuid4().hex[:8]}")
            print(f"{client.name}: {'as expected' if results == client.expected() else results}", flush=True)


if __name__ == "__main__":
    main()
