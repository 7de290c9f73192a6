"""Each check of `history` finds what was planted for it, and nothing in a sound run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.integration.history import (
    History,
    Ownership,
    Stored,
    faults,
    longest_without_owner_seconds,
)

LOG = {0: [(0, b"p1:1"), (1, b"p2:1"), (2, b"p1:2")], 1: [(0, b"p1:3")]}


def sound_history() -> History:
    history = History()
    for partition, rows in LOG.items():
        for offset, value in rows:
            history.acknowledged.append(Stored(partition, offset, value))
            history.consumed.append(Stored(partition, offset, value))
    history.ownerships += [
        Ownership("a", 0, 1, begin=0.0, end=2.0, ended_by="revoked", offsets=[0, 1]),
        Ownership("b", 0, 2, begin=3.0, end=None, offsets=[1, 2]),
        Ownership("b", 1, 1, begin=1.0, end=None, offsets=[0]),
    ]
    return history


def test_a_sound_run_has_no_faults() -> None:
    assert faults(sound_history(), LOG) == []


def lose(history: History) -> None:
    history.acknowledged.append(Stored(1, 1, b"p1:4"))


def misplace(history: History) -> None:
    history.acknowledged[0] = Stored(0, 1, b"p1:1")


def deliver_less(history: History) -> None:
    history.consumed.pop()


def deliver_another_value(history: History) -> None:
    history.consumed[0] = Stored(0, 0, b"p9:9")


def skip_within_an_ownership(history: History) -> None:
    history.ownerships[0].offsets[:] = [0, 2]


def go_back_within_an_ownership(history: History) -> None:
    history.ownerships[1].offsets[:] = [1, 2, 1]


def begin_beyond_what_was_read(history: History) -> None:
    history.ownerships[0].offsets[:] = []


def own_in_one_generation(history: History) -> None:
    history.ownerships[1].generation = 1


def own_at_one_time(history: History) -> None:
    history.ownerships[1].begin = 1.5


@pytest.mark.parametrize(
    ("plant", "sentence"),
    [
        (lose, "acknowledged and lost: b'p1:4' was to be at 1:1, where there is None"),
        (misplace, "acknowledged and lost: b'p1:1' was to be at 0:1, where there is b'p2:1'"),
        (deliver_less, "never delivered: b'p1:3' at 1:0"),
        (deliver_another_value, "read b'p9:9' at 0:0, where there is b'p1:1'"),
        (skip_within_an_ownership, "a read 0:2 right after offset 0"),
        (go_back_within_an_ownership, "b read 0:1 right after offset 2"),
        (begin_beyond_what_was_read, "b began 0 at 1, read only to 0"),
        (own_in_one_generation, "partition 0 had two owners in generation 1: a and b"),
        (own_at_one_time, "b got partition 0 while a still had it"),
    ],
)
def test_a_planted_fault_is_found(plant: Callable[[History], None], sentence: str) -> None:
    history = sound_history()
    plant(history)
    assert sentence in faults(history, LOG)


def test_a_record_that_stands_twice_or_out_of_order_is_found() -> None:
    log = {**LOG, 1: [(0, b"p1:3"), (1, b"p1:2")]}
    found = faults(sound_history(), log)
    assert "duplicated: b'p1:2' at 0:2, 1:1" in found
    assert "out of order: b'p1:2' at 1:1 follows number 3" in found


def test_a_member_that_was_told_of_its_loss_may_have_been_replaced_before() -> None:
    history = sound_history()
    history.ownerships[0].end, history.ownerships[0].ended_by = 4.0, "lost"
    assert faults(history, LOG) == []


def test_the_time_without_an_owner_is_that_of_the_worst_partition() -> None:
    history = sound_history()
    assert longest_without_owner_seconds(history, 2, begin=0.5, end=9.0) == 1.0
    history.ownerships[2].end = 4.0
    assert longest_without_owner_seconds(history, 2, begin=0.5, end=9.0) == 5.0
