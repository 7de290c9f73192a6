"""How far moves of replicas are."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from barnabas import TopicPartition
from barnabas.cli.reassign.plans import Replicas
from barnabas.client.admin.replica_moves import bytes_left_of
from barnabas.client.admin.types import LogDirDescription, PartitionReassignment
from barnabas.errors import BarnabasError
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Admin

State = Literal["done", "moving", "elsewhere", "missing"]
_LOOKS = 5
_SECONDS_BETWEEN_LOOKS = 0.2


@frozen
class ReplicaMoveState:
    """`replicas` is None for a partition that is not there, and `bytes_left` where nothing moves, or where
    brokers do not tell."""

    replicas: list[int] | None
    wanted: list[int]
    state: State
    bytes_left: int | None


def states_of(
    admin: Admin, wanted: Replicas, under_way: Mapping[TopicPartition, PartitionReassignment]
) -> dict[TopicPartition, ReplicaMoveState]:
    """Whether the replicas of partitions are where they are wanted."""
    now = _settled(admin, wanted, under_way)
    left = bytes_left(admin, {tp: move for tp, move in under_way.items() if tp in wanted})
    return {
        tp: ReplicaMoveState(now.get(tp), replicas, _state_of(tp, replicas, now, under_way), left.get(tp))
        for tp, replicas in sorted(wanted.items())
    }


def _settled(
    admin: Admin, wanted: Replicas, under_way: Mapping[TopicPartition, PartitionReassignment]
) -> Replicas:
    """Where the replicas are now. The controller says which moves are under way, and brokers hear from it a
    little later that one has ended: where that would make a difference, they are asked again."""
    topics = {tp.topic for tp in wanted}
    for _ in range(_LOOKS - 1):
        now = _replicas_there(admin, topics)
        if all(_state_of(tp, wanted[tp], now, under_way) != "elsewhere" for tp in wanted):
            return now
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return _replicas_there(admin, topics)


def _replicas_there(admin: Admin, topics: set[str]) -> Replicas:
    described = admin.describe_topics(sorted(topics & set(admin.list_topics(internal=True))))
    return {
        TopicPartition(topic.name, info.partition): list(info.replicas)
        for topic in described.values()
        for info in topic.partitions
    }


def _state_of(
    tp: TopicPartition,
    wanted: list[int],
    now: Replicas,
    under_way: Mapping[TopicPartition, PartitionReassignment],
) -> State:
    if tp in under_way:
        return "moving"
    if tp not in now:
        return "missing"
    return "done" if now[tp] == wanted else "elsewhere"


def targets_of(move: PartitionReassignment) -> list[int]:
    return [replica for replica in move.replicas if replica not in move.removing_replicas]


def bytes_left(
    admin: Admin, moves: Mapping[TopicPartition, PartitionReassignment]
) -> dict[TopicPartition, int]:
    """What the new replicas do not have yet, all together, by the sizes of logs on disk. Partitions are left
    out of which no broker tells."""
    if not moves:
        return {}
    folders: Mapping[int, Mapping[str, LogDirDescription]]
    try:
        folders = admin.describe_log_dirs(partitions=moves)
    except BarnabasError as error:
        # One broker that does not answer is no reason to tell nothing of the others.
        folders = error.outcome.results if error.outcome is not None else {}
    return bytes_left_of(moves, folders)


def are_done(states: Iterable[ReplicaMoveState]) -> bool:
    return all(each.state == "done" for each in states)
