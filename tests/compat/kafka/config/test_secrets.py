"""Passwords, tokens and what else is secret are in no text that a program for kafka-python sees: no line of a
log, no error, no text of an object."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker, SecureListeners

pytestmark = pytest.mark.integration

PROGRAM = Path(__file__).parent / "secrets_program.py"
SECRET = "alice-secret"


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(security=SecureListeners()) as broker:
        yield broker


@pytest.mark.parametrize("generation", ["1.2", "2", "3"])
def test_no_text_shows_a_secret(broker: EmbeddedBroker, generation: str) -> None:
    addresses = [broker.bootstrap_for("SASL_PLAINTEXT"), broker.bootstrap_for("PLAINTEXT")]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "barnabas.compat", "--kafka-python", generation, str(PROGRAM)),
            *(SECRET, *addresses, generation),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["shown"] == []
    assert SECRET not in done.stderr
    assert SECRET not in done.stdout
    # Some clients were let in, and most were not.
    assert told["reached"] > 10
    assert told["failures"] > 50
    assert told["texts"] > 300
