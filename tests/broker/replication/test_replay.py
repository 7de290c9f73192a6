"""A seed of a model gives the same requests and answers at the same times, to the byte, in any process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.integration
@pytest.mark.parametrize("world", ["nodes_world", "coordinated_world", "groups_world", "share_world"])
def test_a_seed_is_replayed_to_the_byte(world: str) -> None:
    def played(hash_seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", f"tests.broker.replication.{world}", "5"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        ).stdout

    first = played("1")
    assert first.count("seed ") >= 5
    assert played("2") == first
