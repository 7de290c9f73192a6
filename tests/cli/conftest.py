from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from barnabas import Admin
from barnabas.testing import ApacheKafka, EmbeddedBroker

Cli = Callable[..., subprocess.CompletedProcess[str]]


def command_line(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "barnabas.cli", *arguments]


@pytest.fixture
def cli(broker: ApacheKafka | EmbeddedBroker) -> Cli:
    """`cli("topics", "list")` runs on each broker in turn, and must succeed unless `ok=False`."""

    def run(*arguments: str, input: str | None = None, ok: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command_line(*arguments),
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "BARNABAS_BOOTSTRAP": broker.bootstrap},
            check=False,
        )
        if ok:
            assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def created(
    cli: Cli,
    broker: ApacheKafka | EmbeddedBroker,
    topic: Callable[[], str],
    eventually: Callable[..., object],
) -> Callable[..., str]:
    """`created(partitions=1)` is the name of a new topic."""

    def create(partitions: int = 1) -> str:
        name = topic()
        cli("topics", "create", name, "--partitions", str(partitions))
        with Admin(broker.bootstrap) as admin:
            eventually(lambda: name in admin.list_topics())
        return name

    return create
