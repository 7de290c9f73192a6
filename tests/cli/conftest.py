from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner
from tests.cli.json_shapes.matching import check_json

from barnabas import Admin, NewTopic
from barnabas.cli import application
from barnabas.testing import ApacheKafka, EmbeddedBroker


def command_line(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "barnabas.cli", *arguments]


@dataclass
class Ended:
    """What a command line that ran in this process left behind."""

    returncode: int
    stdout: str
    stderr: str


Cli = Callable[..., Ended]


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def whole_command_line(arguments: Sequence[str]) -> None:
    sys.exit(application.run(list(arguments)))


def run_here(bootstrap: str) -> Cli:
    """Runs a command line in this process, with these brokers in its environment. What it prints with --json
    has to be what the catalog of shapes says."""

    def run(*arguments: str, input: str | bytes | None = None, ok: bool = True, **environment: str) -> Ended:
        given = {"BARNABAS_BOOTSTRAP": bootstrap, **environment}
        result = CliRunner().invoke(whole_command_line, arguments, input=input, env=given)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if ok:
            assert result.exit_code == 0, result.stderr
        if "--json" in arguments:
            has_failed = result.exit_code != 0
            check_json(arguments, result.stdout, may_be_empty=has_failed or "--dry-run" in arguments)
        return Ended(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def here(embedded_broker: EmbeddedBroker) -> Cli:
    """`here("topics", "list")` runs in this process, on the embedded broker, and must succeed unless
    `ok=False`. `input` may be bytes."""
    return run_here(embedded_broker.bootstrap)


@pytest.fixture
def cli(broker: ApacheKafka | EmbeddedBroker) -> Cli:
    """`here`, on each broker in turn."""
    return run_here(broker.bootstrap)


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


@pytest.fixture
def made(embedded_broker: EmbeddedBroker, topic: Callable[[], str]) -> Callable[..., str]:
    """`made(partitions=1)` is the name of a new topic on the embedded broker."""

    def create(partitions: int = 1) -> str:
        name = topic()
        with Admin(embedded_broker.bootstrap) as admin:
            admin.create_topics([NewTopic(name, partitions)])
        return name

    return create
