"""While nodes stop, start, pause, resume, part, join, lag and catch up at random: what was acknowledged with
acks=all stays, an offset that was shown has one value for ever, and in the end all replicas are alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from .nodes_world import live

LEAST = pytest.mark.parametrize("least", ["1", "2"])
"""min.insync.replicas. With one a leader that is alone acknowledges, parted as well."""


@LEAST
@pytest.mark.parametrize("seed", range(30))
def test_nothing_acknowledged_is_lost_and_no_offset_changes(tmp_path: Path, seed: int, least: str) -> None:
    live(tmp_path, seed, least)


@pytest.mark.chaos
@LEAST
def test_nothing_acknowledged_is_lost_and_no_offset_changes_by_many_seeds(
    tmp_path: Path, chaos_seed: int, least: str
) -> None:
    live(tmp_path, chaos_seed, least)
