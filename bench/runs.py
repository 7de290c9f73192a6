"""Running measurements, each in a process of its own, on fresh topics. Knows nothing of what is wanted."""

from __future__ import annotations

import json
import re
import select
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from barnabas import Admin
from bench.works import PARTITIONS, Measure

TIMEOUT_SECONDS = 300


class Topics:
    """Fresh topics, removed when they have been used."""

    def __init__(self, bootstrap: str) -> None:
        # Quiet: the broker ends before this does, which it would go on about.
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._bootstrap = bootstrap

    @contextmanager
    def fresh(self) -> Iterator[str]:
        name = f"bench-{uuid.uuid4().hex[:8]}"
        self._admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)
        # Answered when the broker has the partitions: `raw` makes no second attempt.
        with Admin(self._bootstrap) as admin:
            admin.list_offsets(dict.fromkeys(self._partitions(name), "latest"))
        try:
            yield name
        finally:
            self._admin.delete_topics([name])[name].result(30)

    def bytes_a_record(self, name: str) -> float:
        """What a record of the topic takes in the broker's log."""
        partitions = self._partitions(name)
        with Admin(self._bootstrap) as admin:
            [log_dirs] = admin.describe_log_dirs(partitions=partitions).values()
            ends = admin.list_offsets(dict.fromkeys(partitions, "latest"))
        size_bytes = sum(
            replica.size_bytes for log_dir in log_dirs.values() for replica in log_dir.replicas.values()
        )
        return size_bytes / sum(end.offset for end in ends.values())

    def _partitions(self, name: str) -> list[tuple[str, int]]:
        return [(name, partition) for partition in range(PARTITIONS)]


def python_of(checkout: Path | None) -> str:
    """The Python of that checkout, None for this one."""
    return sys.executable if checkout is None else str(checkout / ".venv" / "bin" / "python")


def run(
    module: str, *arguments: str, checkout: Path | None = None, timeout_seconds: float = TIMEOUT_SECONDS
) -> dict[str, Any]:
    """What the module, as `checkout` has it, prints as JSON. Raises: RuntimeError with the error that ended
    the process."""
    try:
        done = subprocess.run(
            [python_of(checkout), "-m", module, *arguments],
            cwd=checkout,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done after {timeout_seconds} s") from None
    if done.returncode != 0:
        raise _ended(done.stderr or done.stdout, done.returncode)
    return json.loads(done.stdout.splitlines()[-1])


def _ended(output: str, status: int) -> RuntimeError:
    lines = output.strip().splitlines()
    reasons = [line for line in lines if re.match(r"\S*(Error|Exception)\b", line)]
    return RuntimeError((reasons or lines or [f"exit status {status}"])[-1])


@contextmanager
def asked(
    module: str, *arguments: str, checkout: Path | None = None
) -> Iterator[Callable[[], dict[str, Any]]]:
    """A module that lives for as long as the context, and prints JSON whenever it is asked.

    Asking raises: RuntimeError with the error that ended the process.
    """
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [python_of(checkout), "-m", module, *arguments],
            cwd=checkout,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        requests, answers = process.stdin, process.stdout
        assert requests is not None
        assert answers is not None

        def ask() -> dict[str, Any]:
            print(file=requests, flush=True)
            if not select.select([answers], [], [], TIMEOUT_SECONDS)[0]:
                raise RuntimeError(f"no answer after {TIMEOUT_SECONDS} s")
            answer = answers.readline()
            if not answer:
                status = process.wait(TIMEOUT_SECONDS)
                errors.seek(0)
                raise _ended(errors.read(), status)
            return json.loads(answer)

        try:
            yield ask
        finally:
            process.kill()


def measure(
    client: str,
    work: str,
    bootstrap: str,
    topic: str,
    records: int,
    compression: str,
    checkout: Path | None = None,
) -> Measure:
    """Raises: RuntimeError."""
    arguments = (client, work, bootstrap, topic, str(records), compression)
    return Measure(**run("bench.worker", *arguments, checkout=checkout))
