"""Apache Kafka's tool for delegation tokens: made, shown, renewed and expired by several users."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.waiting import wait_for

from barnabas import Admin
from barnabas.testing import ApacheKafka, EmbeddedBroker, SecureListeners

from .java import Java

Kafka = ApacheKafka | EmbeddedBroker
HMAC = re.compile(r"(?<=[ :])[A-Za-z0-9+/]{86}==(?= |$)")
NO_TOKEN = "AAAA"
AS_ADMIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "SCRAM-SHA-256",
    "sasl_username": "admin",
    "sasl_password": "admin-secret",
}
CHANGED = ("Created delegation token", "Completed ")


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Kafka, Kafka]]:
    with (
        ApacheKafka(security=SecureListeners()) as kafka,
        EmbeddedBroker(security=SecureListeners()) as embedded,
    ):
        yield kafka, embedded


def run_all(
    java: Java, bootstrap: str, commands: list[str], tokens: Callable[[], object] = list
) -> list[tuple[str, str, list[str]]]:
    """What each command printed. `HMAC` in a command is that of the token that was printed last. After a
    command that changed a token the next one waits until `tokens` are others: Kafka answers when the
    controller has the change, and describes tokens from the broker's copy of the metadata, which comes a
    little later."""
    last, told = NO_TOKEN, list[tuple[str, str, list[str]]]()
    for command in commands:
        before = tokens()
        status, lines = java.run(bootstrap, f"delegation-tokens {command.replace('HMAC', last)}")
        for line in lines:
            if found := HMAC.search(line):
                last = found[0]
        if any(line.startswith(CHANGED) for line in lines):
            wait_for(lambda before=before: tokens() != before)
        told.append((command, status, [HMAC.sub("HMAC", line) for line in lines]))
    return told


def user(name: str, directory: Path) -> str:
    """Has the tool log in as this user."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    path = directory / f"{name}.properties"
    path.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f'sasl.jaas.config={module} required username="{name}" password="{name}-secret";\n'
    )
    return f"--command-config {path}"


def test_tokens_are_made_shown_renewed_and_expired_as_on_kafka(
    java: Java, both: tuple[Kafka, Kafka], tmp_path: Path
) -> None:
    admin, alice, bob = (user(name, tmp_path) for name in ("admin", "alice", "bob"))
    hour = "--create --max-life-time-period 3600000"
    commands = [
        f"--describe {alice}",
        f"--create --max-life-time-period -1 --renewer-principal User:bob {alice}",
        f"--describe {alice}",
        f"--describe --owner-principal User:alice {alice}",
        f"--describe --owner-principal User:alice {bob}",
        f"--describe --owner-principal User:alice {admin}",
        f"--renew --renew-time-period -1 --hmac HMAC {bob}",
        f"--renew --renew-time-period 1000 --hmac HMAC {admin}",
        f"--renew --renew-time-period -1 --hmac {NO_TOKEN} {bob}",
        f"--expire --expiry-time-period 3600000 --hmac HMAC {alice}",
        f"--expire --expiry-time-period -1 --hmac HMAC {alice}",
        f"--expire --expiry-time-period -1 --hmac HMAC {alice}",
        f"{hour} --owner-principal User:bob {alice}",
        f"{hour} --owner-principal User:bob {admin}",
        f"{hour} --owner-principal bob {admin}",
        f"{hour} --renewer-principal Group:x {admin}",
        f"--describe --owner-principal User:bob {bob}",
        f"--create {alice}",
    ]
    ran = list[list[tuple[str, str, list[str]]]]()
    for broker in both:
        bootstrap = broker.bootstrap_for("SASL_PLAINTEXT")
        with Admin(bootstrap, **AS_ADMIN) as client:
            ran.append(run_all(java, bootstrap, commands, client.describe_delegation_tokens))
    theirs, ours = ran
    assert "Created delegation token" in str(theirs[1])
    assert ours == theirs


def test_where_nobody_has_logged_in_tokens_are_refused_as_on_kafka(
    java: Java, both: tuple[Kafka, Kafka], tmp_path: Path
) -> None:
    (tmp_path / "plain.properties").touch()
    plain = f"--command-config {tmp_path / 'plain.properties'}"
    commands = [f"--create --max-life-time-period -1 {plain}", f"--describe {plain}"]
    theirs, ours = (run_all(java, each.bootstrap, commands) for each in both)
    assert "not allowed on PLAINTEXT" in str(theirs)
    assert ours == theirs
