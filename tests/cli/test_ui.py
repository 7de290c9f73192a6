"""`barnabas ui` and `barnabas ui-user`: options, and what is wrong with them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.conftest import Ended, command_line
from tests.programs import running

from barnabas.registry_server.access import read_users
from barnabas.testing import EmbeddedBroker, free_ports
from barnabas.ui.roles import ROLES_OF_USERS

Here = Callable[..., Any]


@pytest.fixture
def at_home(here: Here, tmp_path: Path) -> Callable[..., Ended]:
    """`here`, with a configuration folder of its own and nothing in the environment."""

    def run(*arguments: str, ok: bool = True, **options: Any) -> Ended:
        names = ("BARNABAS_BOOTSTRAP", "BARNABAS_PROFILE", "BARNABAS_REGISTRY")
        given = {"XDG_CONFIG_HOME": str(tmp_path), **dict.fromkeys(names)}
        return here(*arguments, ok=ok, **{**given, **options})

    return run


def failed(done: Ended) -> str:
    """Its one line of an error."""
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_the_line_of_a_user_is_printed_and_read_again(at_home: Here, tmp_path: Path, role: str) -> None:
    done = at_home("ui-user", "ann", "--role", role, input="secret\n")
    assert "secret" not in done.stdout
    users = tmp_path / "users"
    users.write_text(done.stdout)
    user = read_users(users, tuple(ROLES_OF_USERS))["ann"]
    assert user.role == role
    assert user.password.fits("secret")


def test_a_role_that_there_is_not_is_named(at_home: Here) -> None:
    done = at_home("ui-user", "ann", "--role", "write", ok=False, input="secret\n")
    assert "'write' is not one of viewer, operator, admin" in failed(done)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--audit-log", "/no-such-folder/log"), "the audit log '/no-such-folder/log' cannot be written"),
        (("--base-path", "/topics"), "it has a page of that name"),
        (("-X", "no.such.setting=1"), "unknown setting 'no_such_setting'"),
        (("--profile", "a", "--profile", "no-such"), "there is no profile 'no-such'"),
        (("--profile", "a", "--profile", "b", "--bootstrap", "kafka:9092"), "--bootstrap is of one cluster"),
        (("--profile", "a", "--profile", "b", "-r", "http://r"), "(and BARNABAS_REGISTRY unset)"),
        (("--profile", "a", "--profile", "wrong"), "cluster wrong: unknown setting 'no_such_setting'"),
    ],
)
def test_what_cannot_be_is_one_line(
    at_home: Here, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    for name in ("a", "b", "wrong"):
        at_home("profile", "add", name, "--bootstrap", "127.0.0.1:1")
    (tmp_path / "barnabas" / "profiles" / "wrong.properties").write_text("no.such.setting=1\n")
    assert said in failed(at_home("ui", "--port", "0", *options, ok=False))


@pytest.mark.integration
def test_the_clusters_of_several_profiles_are_in_one_page(
    at_home: Here, embedded_broker: EmbeddedBroker, tmp_path: Path
) -> None:
    at_home("profile", "add", "here", "--bootstrap", embedded_broker.bootstrap)
    at_home("profile", "add", "away", "--bootstrap", f"127.0.0.1:{free_ports(1)[0]}")
    profiles = ("--profile", "here", "--profile", "away")
    line = command_line("ui", "--port", "0", *profiles, "--base-path", "/kafka")
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "PATH": ""}
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment)
    with running(process):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.endswith("/kafka")
        text = httpx.get(f"{url}/").text
        assert 'href="/kafka/clusters/here/topics"' in text
        assert 'href="/kafka/clusters/away/topics"' in text
        assert httpx.get(f"{url}/clusters/here/topics").status_code == 200
        process.terminate()
        assert process.wait(60) == 0
