"""Clients while nodes stop, are killed and pause, answers are bad, and connections break, on virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from .copied_world import CopiedWorld
from .sent_world import SentWorld
from .shared_world import SharedWorld
from .stage import play

SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_acknowledged_is_there_once_in_order_and_is_read(tmp_path: Path, seed: int) -> None:
    world, _ = play(SentWorld, tmp_path, seed)
    assert world.acknowledged


@pytest.mark.chaos
def test_what_is_acknowledged_is_there_and_is_read_by_many_seeds(tmp_path: Path, chaos_seed: int) -> None:
    play(SentWorld, tmp_path, chaos_seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_in_transactions_is_the_same_as_the_original(tmp_path: Path, seed: int) -> None:
    world, _ = play(CopiedWorld, tmp_path, seed)
    assert world.commits


@pytest.mark.chaos
def test_a_copy_in_transactions_is_the_same_by_many_seeds(tmp_path: Path, chaos_seed: int) -> None:
    """There are seeds that leave no transaction the time to be committed."""
    play(CopiedWorld, tmp_path, chaos_seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_record_that_is_accepted_is_not_shared_again_and_all_are_worked_off(
    tmp_path: Path, seed: int
) -> None:
    world, _ = play(SharedWorld, tmp_path, seed)
    assert world.confirmed


@pytest.mark.chaos
def test_all_that_is_shared_is_worked_off_by_many_seeds(tmp_path: Path, chaos_seed: int) -> None:
    play(SharedWorld, tmp_path, chaos_seed)
