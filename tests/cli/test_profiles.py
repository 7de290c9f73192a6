from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Ended

from barnabas import Admin
from barnabas.cli import profiles
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry

Here = Callable[..., Any]


@pytest.fixture
def at_home(here: Here, tmp_path: Path) -> Callable[..., Ended]:
    """`here`, with a configuration folder of its own and no brokers in the environment."""

    def run(*arguments: str, ok: bool = True, **environment: Any) -> Ended:
        given = {"XDG_CONFIG_HOME": str(tmp_path), "BARNABAS_BOOTSTRAP": None, "BARNABAS_PROFILE": None}
        return here(*arguments, ok=ok, **{**given, **environment})

    return run


def test_a_profile_names_the_cluster_of_any_command(
    at_home: Here, embedded_broker: EmbeddedBroker, topic: Callable[[], str]
) -> None:
    name = topic()
    at_home("profile", "add", "here", "--bootstrap", embedded_broker.bootstrap)
    at_home("topics", "create", name, "--profile", "here")
    assert name in at_home("topics", "list", BARNABAS_PROFILE="here").stdout.split()
    # It was asked for on the command line, and counts before the environment.
    listed = at_home("topics", "list", "--profile", "here", BARNABAS_BOOTSTRAP="localhost:1").stdout
    assert name in listed.split()
    listed = at_home("--profile", "here", "topics", "list", BARNABAS_BOOTSTRAP="localhost:1").stdout
    assert name in listed.split()
    refused = at_home("--profile", "there", "topics", "list", ok=False).stderr
    assert "'there'" in refused
    at_home("profile", "default", "here")
    assert name in at_home("topics", "list").stdout.split()
    with Admin(embedded_broker.bootstrap) as admin:
        assert name in admin.list_topics()


def test_what_a_profile_leaves_out_is_told_when_it_is_kept_and_not_each_time(
    at_home: Here, embedded_broker: EmbeddedBroker, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        f"metadata.broker.list={embedded_broker.bootstrap}\nvalue.serializer=org.x.S\nlog_level=7\n"
    )
    kept = at_home("profile", "add", "rd", "--properties", str(file)).stderr
    assert "left out, as only Java's clients and librdkafka know them: log_level, value.serializer" in kept
    assert at_home("topics", "list", "--profile", "rd").stderr == ""
    assert embedded_broker.bootstrap in at_home("profile", "list").stdout


@pytest.mark.integration
def test_a_profile_names_the_registry_of_any_command(at_home: Here, tmp_path: Path) -> None:
    (tmp_path / "user.avsc").write_text('{"type": "record", "name": "U", "fields": []}')
    with EmbeddedRegistry() as registry:
        at_home("profile", "add", "here", "-X", f"schema.registry.url={registry.url}")
        away = {"BARNABAS_REGISTRY": None}
        at_home("schemas", "register", "users", str(tmp_path / "user.avsc"), "--profile", "here", **away)
        listed = at_home("schemas", "list", "--json", BARNABAS_PROFILE="here", **away).stdout
    assert json.loads(listed) == {"users": [1]}


def test_settings_of_a_properties_file_are_kept_for_the_user_alone(at_home: Here, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(
        "security.protocol=SASL_PLAINTEXT\nclient.id= a\\\\b\n#no\nsasl.password=secret\n"
        "basic.auth.user.info=KEY:SECRET\nschema.registry.url=https://user:word@registry\n"
    )
    given = ("--properties", str(properties), "-b", "kafka:9092", "-X", "ssl.key.password=${env:P}")
    done = at_home("profile", "add", "prod", *given)
    assert "basic.auth.user.info, sasl.password, schema.registry.url stand there as plain text" in done.stderr
    kept = tmp_path / "barnabas" / "profiles" / "prod.properties"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    shown = json.loads(at_home("profile", "show", "prod", "--json").stdout)
    assert shown == {
        "basic.auth.user.info": "[hidden]",
        "bootstrap.servers": "kafka:9092",
        "client.id": "a\\b",
        "sasl.password": "[hidden]",
        "schema.registry.url": "[hidden]",
        "security.protocol": "SASL_PLAINTEXT",
        "ssl.key.password": "${env:P}",
    }
    assert json.loads(at_home("profile", "list", "--json").stdout) == [
        {"name": "prod", "bootstrap_servers": "kafka:9092", "is_default": False}
    ]


def test_a_secret_is_looked_up_when_the_profile_is_used(
    at_home: Here, embedded_broker: EmbeddedBroker
) -> None:
    at_home("profile", "add", "dev", "-b", "${env:SERVERS}")
    assert at_home("topics", "list", "--profile", "dev", SERVERS=embedded_broker.bootstrap).returncode == 0
    done = at_home("topics", "list", "--profile", "dev", SERVERS=None, ok=False)
    assert done.stderr == (
        "error: bootstrap.servers of profile 'dev' is in the environment variable SERVERS, which is not set\n"
    )


def test_a_profile_is_replaced_and_removed_only_where_that_is_said(at_home: Here) -> None:
    at_home("profile", "add", "dev", "-b", "a:1", "--default")
    assert "add --replace" in at_home("profile", "add", "dev", "-b", "b:1", ok=False).stderr
    at_home("profile", "add", "dev", "-b", "b:1", "--replace")
    assert "b:1" in at_home("profile", "show", "dev").stdout
    assert "add --yes" in at_home("profile", "remove", "dev", ok=False).stderr
    at_home("profile", "remove", "dev", "--yes")
    assert at_home("profile", "default").stdout == "\n"
    assert "there is no profile 'dev'" in at_home("topics", "list", "--profile", "dev", ok=False).stderr


@pytest.mark.parametrize("name", ["../x", "", "a b"])
def test_a_name_that_is_no_file_is_refused(at_home: Here, name: str) -> None:
    assert "cannot be a profile's name" in at_home("profile", "add", name, "-b", "a:1", ok=False).stderr


def test_the_package_runs_as_the_command_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "barnabas", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("barnabas ")


def test_a_profile_counts_for_its_own_command_only(
    at_home: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert "no profile 'gone'" in at_home("topics", "list", "--profile", "gone", ok=False).stderr
    assert not profiles.is_asked_for()
    assert profiles.settings() == {}
