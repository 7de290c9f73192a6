"""Kafka's sticky assignor of tasks (KIP-1071): tasks stay where they were, if that is as fair.

Pure. Must not know topics, groups or time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.broker.streams_groups.tasks import MemberTasks, TaskId, TaskSet


@dataclass(frozen=True, slots=True)
class TaskKind:
    """A subtopology: how many tasks, and whether they have state, so that there can be copies of it."""

    task_count: int
    is_stateful: bool


class Candidate(NamedTuple):
    """A member: in which process, and what it was to have until now."""

    process_id: str
    target: MemberTasks


@dataclass(slots=True, eq=False)
class _Process:
    """Members of one process do not have a task and its copy both."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    """Tasks by member."""
    has: set[TaskId] = field(default_factory=set[TaskId])

    @property
    def load(self) -> float:
        return sum(self.counts.values()) / len(self.counts)

    def least_loaded(self) -> str:
        return min(self.counts, key=self.counts.__getitem__)


class _Share:
    """How many tasks each member may have, as long as others have to get theirs."""

    def __init__(self, task_count: int, member_count: int) -> None:
        self._tasks, self._members = task_count, member_count
        self.each = self._ceiling()

    def _ceiling(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0

    def note(self, count: int) -> None:
        """A member has so many now: with `each` it takes part no more."""
        if count == self.each:
            self._members -= 1
            self._tasks -= count
            self.each = self._ceiling()


def assign(
    members: Mapping[str, Candidate], kinds: Mapping[str, TaskKind], standby_count: int
) -> dict[str, MemberTasks]:
    """What each member is to have. `standby_count`: copies of the state of each task."""
    return _Assignment(members, kinds, standby_count).made() if members else {}


class _Assignment:
    def __init__(
        self, members: Mapping[str, Candidate], kinds: Mapping[str, TaskKind], standby_count: int
    ) -> None:
        self._members = members
        self._standby_count = standby_count
        self._tasks = [
            TaskId(name, index) for name in sorted(kinds) for index in range(kinds[name].task_count)
        ]
        self._stateful = [task for task in self._tasks if kinds[task.subtopology_id].is_stateful]
        total = len(self._tasks) + len(self._stateful) * standby_count
        self._active_share = _Share(len(self._tasks), len(members))
        self._share = _Share(total, len(members))
        self._processes: dict[str, _Process] = {}
        self._active_before: dict[TaskId, str] = {}
        self._standby_before: dict[TaskId, list[str]] = {}
        for member_id, (process_id, target) in members.items():
            self._processes.setdefault(process_id, _Process()).counts[member_id] = 0
            self._active_before.update(dict.fromkeys(target.active, member_id))
            for task in target.standby:
                self._standby_before.setdefault(task, []).append(member_id)
        self._active: dict[str, set[TaskId]] = {member_id: set() for member_id in members}
        self._standby: dict[str, set[TaskId]] = {member_id: set() for member_id in members}

    def made(self) -> dict[str, MemberTasks]:
        self._assign_active()
        if self._standby_count:
            self._assign_standby()
        return {
            member_id: MemberTasks(
                frozenset(self._active[member_id]), frozenset(self._standby[member_id]), TaskSet()
            )
            for member_id in self._members
        }

    def _process(self, member_id: str) -> _Process:
        return self._processes[self._members[member_id].process_id]

    def _count(self, member_id: str) -> int:
        return self._process(member_id).counts[member_id]

    def _give(self, member_id: str, task: TaskId, *, is_active: bool) -> None:
        process = self._process(member_id)
        process.counts[member_id] += 1
        process.has.add(task)
        (self._active if is_active else self._standby)[member_id].add(task)
        if is_active:
            self._active_share.note(process.counts[member_id])
        self._share.note(process.counts[member_id])

    def _assign_active(self) -> None:
        """To whoever had it, else to one that has a copy of its state, else to whoever has least to do."""
        by_partition = sorted(self._tasks, key=lambda task: (task.partition, task.subtopology_id))
        rest: list[TaskId] = []
        for task in by_partition:
            before = self._active_before.get(task)
            if before is not None and self._count(before) < self._active_share.each:
                self._give(before, task, is_active=True)
            else:
                rest.append(task)
        left: list[TaskId] = []
        for task in rest:
            before = self._least_loaded(self._standby_before.get(task, ()))
            if before is not None and self._count(before) < self._active_share.each:
                self._give(before, task, is_active=True)
            else:
                left.append(task)
        for task in sorted(left):
            process = min(self._processes.values(), key=lambda process: process.load)
            self._give(process.least_loaded(), task, is_active=True)

    def _assign_standby(self) -> None:
        by_partition = sorted(
            self._stateful, key=lambda task: (task.partition, task.subtopology_id), reverse=True
        )
        rest: list[tuple[TaskId, int]] = []
        for task in by_partition:
            for given in range(self._standby_count):
                member_id = self._standby_as_before(task)
                if member_id is None:
                    rest.append((task, self._standby_count - given))
                    break
                self._give(member_id, task, is_active=False)
        for task, count in sorted(rest, reverse=True):
            for _ in range(count):
                free = [process for process in self._processes.values() if task not in process.has]
                if not free:
                    break
                process = min(free, key=lambda process: process.load)
                self._give(process.least_loaded(), task, is_active=False)

    def _standby_as_before(self, task: TaskId) -> str | None:
        """One that worked on the task, or had a copy of its state, and has neither now."""
        active = self._active_before.get(task)
        copied = self._least_loaded(self._standby_before.get(task, ()), task)
        for member_id in (active, copied):
            if (
                member_id is not None
                and task not in self._process(member_id).has
                and self._count(member_id) < self._share.each
            ):
                return member_id
        return None

    def _least_loaded(self, member_ids: Iterable[str], task: TaskId | None = None) -> str | None:
        """Of those whose process does not have the task."""
        free = [each for each in member_ids if task is None or task not in self._process(each).has]
        return min(free, key=lambda each: (self._process(each).load, self._count(each)), default=None)
