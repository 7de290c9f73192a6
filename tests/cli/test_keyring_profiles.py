"""Secrets of profiles that are in a keyring: one of files, as a machine without a desktop has it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyrings.alt import file as files

from barnabas.cli import profiles
from barnabas.errors import InvalidSettingError, MissingExtraError
from barnabas.testing import EmbeddedBroker, SecureListeners

Here = Callable[..., Any]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    before = keyring.get_keyring()
    backend = files.PlaintextKeyring()
    backend.file_path = str(tmp_path / "keyring.cfg")
    keyring.set_keyring(backend)
    yield
    keyring.set_keyring(before)


def test_a_password_of_the_keyring_lets_a_command_in_and_is_never_shown(here: Here) -> None:
    with EmbeddedBroker(security=SecureListeners(users={"admin": "of the keyring"})) as broker:
        keyring.set_password("kafka/prod", "admin", "of the keyring")
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required username=admin"
        added = here(
            "profile",
            "add",
            "prod",
            "-b",
            broker.bootstrap_for("SASL_PLAINTEXT"),
            "-X",
            "security.protocol=SASL_PLAINTEXT",
            "-X",
            "sasl.mechanism=PLAIN",
            "-X",
            f'sasl.jaas.config={login} password="${{keyring:kafka/prod/admin}}";',
        )
        assert "plain text" not in added.stderr
        shown = here("profile", "show", "prod").stdout
        assert "${keyring:kafka/prod/admin}" in shown
        assert "of the keyring" not in shown
        assert here("topics", "list", "--profile", "prod", BARNABAS_BOOTSTRAP=None).returncode == 0
        keyring.set_password("kafka/prod", "admin", "of another time")
        refused = here("topics", "list", "--profile", "prod", BARNABAS_BOOTSTRAP=None, ok=False)
        assert "of another time" not in refused.stderr + refused.stdout


def test_a_secret_that_is_not_there_is_told_with_the_command_that_sets_it() -> None:
    profiles.save("prod", {"sasl.password": "${keyring:my kafka/alice}"})
    with pytest.raises(InvalidSettingError) as raised:
        profiles.settings("prod")
    assert str(raised.value) == (
        "sasl.password of profile 'prod' is in the keyring, which has nothing of 'my kafka' under 'alice': "
        "keyring set 'my kafka' alice"
    )


def test_a_machine_without_a_keyring_is_told_as_such() -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())
    profiles.save("prod", {"sasl.password": "${keyring:kafka/alice}"})
    with pytest.raises(InvalidSettingError, match=r"sasl\.password of profile 'prod' .* cannot be read: "):
        profiles.settings("prod")


@pytest.mark.parametrize("place", ["", "kafka", "/alice", "kafka/"])
def test_half_a_place_is_refused(place: str) -> None:
    profiles.save("prod", {"sasl.password": f"${{keyring:{place}}}"})
    with pytest.raises(InvalidSettingError, match=r"write \${keyring:SERVICE/NAME}"):
        profiles.settings("prod")


def test_without_the_extra_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    profiles.save("prod", {"sasl.password": "${keyring:kafka/alice}"})
    with pytest.raises(MissingExtraError, match=r"barnabas\[keyring\]"):
        profiles.settings("prod")
