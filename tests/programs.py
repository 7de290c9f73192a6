"""Programs that tests run as processes of their own, since their end is what matters, and what they leave."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Generator
from typing import Any, AnyStr

from barnabas import Admin, TopicPartition


def started(code: str, *arguments: str, warn: str = "always") -> subprocess.Popen[str]:
    command = [sys.executable, "-W", warn, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def running(process: subprocess.Popen[AnyStr]) -> Generator[subprocess.Popen[AnyStr]]:
    """Ends with the process, which it kills where a test fails: to leave `Popen` as a context is to wait for
    an end that nobody may bring about any more."""
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def ended(process: subprocess.Popen[str], *, within: float = 100.0) -> tuple[int, str]:
    """Exit status, and what it said. `within`: seconds, less than what it must not wait for."""
    _, said = process.communicate(timeout=within)
    return process.returncode, said


def record_count(broker: Any, topic: str) -> int:
    """The end of its partition 0."""
    partition = TopicPartition(topic, 0)
    with Admin(broker.bootstrap) as admin:
        return admin.list_offsets({partition: "latest"})[partition].offset
