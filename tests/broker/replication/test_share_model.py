"""While members of a share group accept, reject, release and forget records, and nodes are stopped, killed
and paused, at random: what was acknowledged is never given out again, nothing is with two members at once,
and all that was written is given out."""

from __future__ import annotations

from pathlib import Path

import pytest

from .share_world import live


@pytest.mark.parametrize("seed", range(12))
def test_no_record_is_given_out_after_its_acknowledgement_or_to_two_at_once(
    tmp_path: Path, seed: int
) -> None:
    live(tmp_path, seed)


@pytest.mark.chaos
def test_no_record_is_given_out_after_its_acknowledgement_or_to_two_at_once_by_many_seeds(
    tmp_path: Path, chaos_seed: int
) -> None:
    live(tmp_path, chaos_seed)
