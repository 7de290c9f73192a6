"""While nodes are stopped, killed and paused at random: an offset that was committed or shown stays, a
committed transaction is in all its partitions and no other in any, and records are there once."""

from __future__ import annotations

from pathlib import Path

import pytest

from .coordinated_world import live


@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_coordinators_acknowledged_is_lost(tmp_path: Path, seed: int) -> None:
    facts, _ = live(tmp_path, seed)
    assert facts.must_be_shown


@pytest.mark.chaos
def test_nothing_that_coordinators_acknowledged_is_lost_by_many_seeds(
    tmp_path: Path, chaos_seed: int
) -> None:
    """There are seeds that leave no transaction the time to be committed."""
    live(tmp_path, chaos_seed)
