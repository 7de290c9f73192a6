"""The command line on a cluster that asks who one is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .secure_kafka import SecureKafka


@pytest.fixture
def properties(secure: SecureKafka, tmp_path: Path) -> Path:
    """A file as Kafka's own tools take it."""
    path = tmp_path / "client.properties"
    path.write_text(
        f"bootstrap.servers={secure.server('SASL_SSL')}\n"
        "security.protocol=SASL_SSL\n"
        "sasl.mechanism=SCRAM-SHA-256\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        '    username="admin" password="admin-secret";\n'
        "ssl.truststore.type=PEM\n"
        f"ssl.truststore.location={secure.certificates.ca}\n"
    )
    return path


def run(*arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BARNABAS_BOOT")}
    command = [sys.executable, "-m", "barnabas.cli", *arguments]
    return subprocess.run(
        command, input=input, capture_output=True, text=True, timeout=60, env=environment, check=False
    )


def test_a_properties_file_lets_every_command_in(properties: Path, new_topic: str) -> None:
    config = ["--command-config", str(properties)]
    sent = run("produce", new_topic, *config, input="through\n")
    assert sent.returncode == 0, sent.stderr
    read = run("consume", new_topic, "--from-beginning", "--until-end", *config)
    assert (read.returncode, read.stdout) == (0, "through\n"), read.stderr
    assert new_topic in run("topics", "list", *config).stdout
    assert run("groups", "list", *config).returncode == 0


def test_a_wrong_password_is_one_line_without_it(properties: Path) -> None:
    properties.write_text(properties.read_text().replace("admin-secret", "hidden-hidden"))
    refused = run("topics", "list", "--command-config", str(properties))
    assert refused.returncode == 1
    assert "error: " in refused.stderr
    assert "refuses 'admin' by SCRAM-SHA-256" in refused.stderr
    assert "hidden-hidden" not in refused.stderr
