"""Which brokers a command talks to, where several places name some: an option, a file that an option names, a
profile that an option names, the environment, the default profile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Ended

from barnabas.cli import registry

Here = Callable[..., Ended]
ENVIRONMENT, OPTION, FILE, PROFILE = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "client.properties"
    path.write_text(f"bootstrap.servers={FILE}\n")
    return str(path)


@pytest.fixture
def alone(here: Here, tmp_path: Path) -> Here:
    """`here`, with an environment that names brokers that are nowhere."""

    def run(*arguments: str, ok: bool = False, **environment: Any) -> Ended:
        given = {"XDG_CONFIG_HOME": str(tmp_path), "BARNABAS_BOOTSTRAP": ENVIRONMENT, **environment}
        return here(*arguments, ok=ok, **given)

    return run


@pytest.fixture
def asked(alone: Here) -> Callable[..., str]:
    """`asked(*options)` is whom `topics list` could not reach."""

    def ask(*options: str, **environment: Any) -> str:
        ended = alone("topics", "list", "-X", "default.api.timeout.ms=200", *options, **environment)
        error = ended.stderr.splitlines()[-1]
        (server,) = [each for each in (ENVIRONMENT, OPTION, FILE, PROFILE) if f"{each}:" in error]
        return server

    return ask


def test_a_file_that_an_option_names_counts_before_the_environment(
    asked: Callable[..., str], file: str
) -> None:
    assert asked() == ENVIRONMENT
    assert asked("--command-config", file) == FILE


def test_the_option_counts_before_a_file_also_where_it_is_what_the_environment_names(
    asked: Callable[..., str], file: str
) -> None:
    assert asked("--command-config", file, "--bootstrap", OPTION) == OPTION
    assert asked("--command-config", file, "--bootstrap", ENVIRONMENT) == ENVIRONMENT


def test_a_file_without_servers_leaves_them_to_the_environment(
    asked: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "other.properties"
    path.write_text("client.id=me\n")
    assert asked("--command-config", str(path)) == ENVIRONMENT


def test_a_file_that_the_environment_names_counts_behind_its_servers(
    asked: Callable[..., str], file: str
) -> None:
    assert asked(BARNABAS_COMMAND_CONFIG=file) == ENVIRONMENT
    assert asked(BARNABAS_COMMAND_CONFIG=file, BARNABAS_BOOTSTRAP=None) == FILE


def test_a_profile_counts_before_the_environment_if_an_option_names_it(
    alone: Here, asked: Callable[..., str], file: str
) -> None:
    alone("profile", "add", "there", "--bootstrap", PROFILE, ok=True)
    assert asked("--profile", "there") == PROFILE
    assert asked("--profile", "there", "--bootstrap", ENVIRONMENT) == ENVIRONMENT
    assert asked("--profile", "there", "--command-config", file) == FILE
    assert asked(BARNABAS_PROFILE="there") == ENVIRONMENT


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The settings of each registry that a command would start."""
    settings: list[Any] = []
    monkeypatch.setattr(registry, "run", lambda _broker, found, **_: settings.append(found))
    return settings


def test_the_file_of_a_registry_counts_before_the_environment(
    alone: Here, started: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "registry.properties"
    path.write_text(f"kafkastore.bootstrap.servers={FILE}\n")
    alone("registry", str(path), ok=True)
    alone("registry", str(path), "--bootstrap", OPTION, ok=True)
    alone("registry", ok=True)
    servers = [found.client["bootstrap_servers"] for found in started]
    assert servers == [FILE, OPTION, ENVIRONMENT]


def test_a_registry_with_a_broker_of_its_own_minds_no_servers_of_the_environment(
    alone: Here, started: list[Any], tmp_path: Path
) -> None:
    alone("registry", "--embedded", "--data-dir", str(tmp_path / "data"), ok=True)
    assert len(started) == 1
