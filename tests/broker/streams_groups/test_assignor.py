"""The assignor of tasks: fair, sticky, and never a task twice in one process."""

from __future__ import annotations

import random

import pytest

from barnabas.broker.streams_groups.assignor import Candidate, TaskKind, assign
from barnabas.broker.streams_groups.tasks import MemberTasks

KINDS = {"0": TaskKind(6, is_stateful=True), "1": TaskKind(5, is_stateful=False)}


def _joined(names: list[str], before: dict[str, MemberTasks]) -> dict[str, Candidate]:
    """Two members in each process."""
    return {
        name: Candidate(f"process {int(name) // 2}", before.get(name, MemberTasks()))
        for name in sorted(names, key=int)
    }


@pytest.mark.parametrize("seed", range(20))
def test_as_members_come_and_go_each_task_has_one_member_and_copies_are_elsewhere(seed: int) -> None:
    dice = random.Random(seed)
    before: dict[str, MemberTasks] = {}
    for _ in range(10):
        names = dice.sample([str(number) for number in range(8)], dice.randint(1, 8))
        members = _joined(names, before)
        copies = dice.randint(0, 2)
        assigned = assign(members, KINDS, copies)
        assert set(assigned) == set(members)
        active = sorted(task for tasks in assigned.values() for task in tasks.active)
        assert active == [(part, index) for part in KINDS for index in range(KINDS[part].task_count)]
        assert max(len(tasks.active) for tasks in assigned.values()) <= -(-11 // len(members))
        processes: dict[str, list[tuple[str, int]]] = {}
        for name, tasks in assigned.items():
            processes.setdefault(members[name].process_id, []).extend([*tasks.active, *tasks.standby])
        assert all(len(tasks) == len(set(tasks)) for tasks in processes.values())
        copied = sum(len(tasks.standby) for tasks in assigned.values())
        assert copied == min(copies, len(processes) - 1) * KINDS["0"].task_count
        before = assigned


def test_tasks_stay_when_nothing_changes_and_only_the_surplus_moves_when_a_member_comes() -> None:
    two = assign(_joined(["0", "2"], {}), KINDS, 1)
    assert assign(_joined(["0", "2"], two), KINDS, 1) == two
    three = assign(_joined(["0", "2", "4"], two), KINDS, 0)
    assert sum(len(three[name].active - two[name].active) for name in ("0", "2")) == 0
    assert sorted(len(tasks.active) for tasks in three.values()) == [3, 4, 4]


def test_who_has_a_copy_of_the_state_takes_over() -> None:
    kinds = {"0": KINDS["0"]}
    two = assign(_joined(["0", "2"], {}), kinds, 1)
    assert two["2"].standby == two["0"].active
    left = assign(_joined(["2", "4"], {"2": MemberTasks(standby=two["2"].standby)}), kinds, 1)
    assert left["2"].active == two["2"].standby
