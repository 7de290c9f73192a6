"""Tasks of a Streams group (KIP-1071): a part of the topology, on one partition of its topics.

Pure values. Must not know groups, topics or records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class TaskId(NamedTuple):
    subtopology_id: str
    partition: int


TaskSet = frozenset[TaskId]


class TasksOfSubtopology(Protocol):
    """As messages and records have them."""

    subtopology_id: str
    partitions: list[int]


@dataclass(frozen=True, slots=True)
class MemberTasks:
    """Tasks by what is done with them: worked on, kept as a copy of the state, or made ready to be moved."""

    active: TaskSet = frozenset()
    standby: TaskSet = frozenset()
    warmup: TaskSet = frozenset()

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)

    def __and__(self, other: MemberTasks) -> MemberTasks:
        return MemberTasks(
            self.active & other.active, self.standby & other.standby, self.warmup & other.warmup
        )

    def __or__(self, other: MemberTasks) -> MemberTasks:
        return MemberTasks(
            self.active | other.active, self.standby | other.standby, self.warmup | other.warmup
        )

    def __sub__(self, other: MemberTasks) -> MemberTasks:
        return MemberTasks(
            self.active - other.active, self.standby - other.standby, self.warmup - other.warmup
        )

    @property
    def any_role(self) -> TaskSet:
        return self.active | self.standby | self.warmup


def by_subtopology(tasks: Iterable[TaskId]) -> list[tuple[str, list[int]]]:
    """In the order of subtopologies and partitions."""
    found: dict[str, list[int]] = {}
    for task in sorted(tasks):
        found.setdefault(task.subtopology_id, []).append(task.partition)
    return list(found.items())


def tasks_of(parts: Iterable[TasksOfSubtopology]) -> TaskSet:
    return frozenset(_each(parts))


def _each(parts: Iterable[TasksOfSubtopology]) -> Iterator[TaskId]:
    for part in parts:
        for partition in part.partitions:
            yield TaskId(part.subtopology_id, partition)
