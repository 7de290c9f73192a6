"""A seed of a model gives the same requests and answers at the same times, to the byte, in any process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WORLDS = [
    "broker.replication.nodes_world",
    "broker.replication.coordinated_world",
    "broker.replication.groups_world",
    "broker.replication.share_world",
    "client.models.sent_world",
    "client.models.copied_world",
    "client.models.shared_world",
]


@pytest.mark.integration
@pytest.mark.parametrize("world", WORLDS)
def test_a_seed_is_replayed_to_the_byte(world: str) -> None:
    are_replayed(world, seeds=2)


@pytest.mark.chaos
@pytest.mark.parametrize("world", WORLDS)
def test_many_seeds_are_replayed_to_the_byte(world: str, pytestconfig: pytest.Config) -> None:
    are_replayed(world, seeds=pytestconfig.getoption("--seeds"))


def are_replayed(world: str, *, seeds: int) -> None:
    def played(hash_seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", f"tests.{world}", str(seeds)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
            timeout=60 * seeds,
        ).stdout

    first = played("1")
    assert first.count("seed ") >= seeds
    assert played("2") == first
