"""While members join, fall silent, vanish and leave, and nodes are stopped, killed and paused, at random: no
partition is consumed by two members of a group at once, and when all are calm each has one owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from .groups_world import live


@pytest.mark.parametrize("seed", range(12))
def test_no_partition_has_two_owners_and_in_the_end_each_has_one(tmp_path: Path, seed: int) -> None:
    live(tmp_path, seed)


@pytest.mark.chaos
def test_no_partition_has_two_owners_and_in_the_end_each_has_one_by_many_seeds(
    tmp_path: Path, chaos_seed: int
) -> None:
    live(tmp_path, chaos_seed)
