"""Who gets which partitions, as the assignors of a group coordinator do it: `uniform` and `range` (KIP-848).

Pure. Both leave with a member what it has, as far as that is fair, and both give each partition to one member
of those that subscribe to its topic, or to nobody where nobody does. Knows nothing of epochs, or of who has
yet to give something up.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Mapping
from heapq import heapify, heapreplace
from typing import NamedTuple


class TopicIdPartition(NamedTuple):
    topic_id: uuid.UUID
    partition: int


Subscriptions = Mapping[str, frozenset[uuid.UUID]]
"""The ids of the topics of each member."""
Target = dict[str, frozenset[TopicIdPartition]]
"""What each member is to have."""
Assignor = Callable[
    [Subscriptions, Mapping[uuid.UUID, int], Mapping[str, frozenset[TopicIdPartition]]], Target
]
"""From subscriptions, the number of partitions of each topic, and what each member is to have up to now."""


def assign_uniformly(
    subscriptions: Subscriptions,
    partition_counts: Mapping[uuid.UUID, int],
    current: Mapping[str, frozenset[TopicIdPartition]],
) -> Target:
    """As many partitions for each, as far as subscriptions let; what moves is no more than that needs."""
    found: dict[str, set[TopicIdPartition]] = {member: set() for member in sorted(subscriptions)}
    owners: dict[TopicIdPartition, str] = {}
    for member in found:
        for partition in current.get(member, ()):
            is_there = partition.partition < partition_counts.get(partition.topic_id, 0)
            if is_there and partition.topic_id in subscriptions[member] and partition not in owners:
                owners[partition] = member
                found[member].add(partition)
    for topic_id, count in sorted(partition_counts.items()):
        subscribers = [member for member in found if topic_id in subscriptions[member]]
        if subscribers:
            _give_out(topic_id, count, subscribers, found, owners)
    _even_out(subscriptions, found)
    return {member: frozenset(partitions) for member, partitions in found.items()}


def _give_out(
    topic_id: uuid.UUID,
    count: int,
    subscribers: list[str],
    found: dict[str, set[TopicIdPartition]],
    owners: dict[TopicIdPartition, str],
) -> None:
    loads = [(len(found[member]), member) for member in subscribers]
    heapify(loads)
    for index in range(count):
        partition = TopicIdPartition(topic_id, index)
        if partition not in owners:
            load, member = loads[0]
            owners[partition] = member
            found[member].add(partition)
            heapreplace(loads, (load + 1, member))


def _even_out(subscriptions: Subscriptions, found: dict[str, set[TopicIdPartition]]) -> None:
    """Moves partitions from those who have most to those who have least."""
    if not found:
        return
    average = sum(map(len, found.values())) / len(found)
    least, most = math.floor(average), math.ceil(average)
    # Nobody gives more than what is above the average, else it would get some back from others.
    for kept in (most, least):
        _move_each(subscriptions, found, _down_to(found, kept, least))
    # What is still uneven is so by subscriptions: each move makes the difference between two smaller.
    while _move_each(subscriptions, found, lambda rich, poor: (len(found[rich]) - len(found[poor])) // 2):
        pass


def _down_to(found: dict[str, set[TopicIdPartition]], kept: int, least: int) -> Callable[[str, str], int]:
    return lambda rich, poor: min(len(found[rich]) - kept, least - len(found[poor]))


def _move_each(
    subscriptions: Subscriptions,
    found: dict[str, set[TopicIdPartition]],
    count: Callable[[str, str], int],
) -> bool:
    """Moves so many partitions from the one to the other of each two members; whether any was."""
    has_moved = False
    poorest_first = sorted(found, key=lambda member: (len(found[member]), member))
    if len(found[poorest_first[-1]]) <= len(found[poorest_first[0]]) + 1:
        return False
    for poor in poorest_first:
        for rich in reversed(poorest_first):
            if (needed := count(rich, poor)) <= 0:
                continue
            movable = [p for p in found[rich] if p.topic_id in subscriptions[poor]]
            moving = sorted(movable, reverse=True)[:needed]
            found[rich].difference_update(moving)
            found[poor].update(moving)
            has_moved = has_moved or bool(moving)
    return has_moved


def assign_by_range(
    subscriptions: Subscriptions,
    partition_counts: Mapping[uuid.UUID, int],
    current: Mapping[str, frozenset[TopicIdPartition]],
) -> Target:
    """Of each topic, neighbouring partitions: the same ones of topics with as many partitions and the same
    members, so that what is keyed alike is read by one member."""
    found: dict[str, set[TopicIdPartition]] = {member: set() for member in subscriptions}
    order = _range_order(subscriptions, current)
    for topic_id, count in partition_counts.items():
        members = [member for member in order if topic_id in subscriptions[member]]
        if not members:
            continue
        each, more = divmod(count, len(members))
        start = 0
        for place, member in enumerate(members):
            end = start + each + (place < more)
            found[member].update(TopicIdPartition(topic_id, index) for index in range(start, end))
            start = end
    return {member: frozenset(partitions) for member, partitions in found.items()}


def _range_order(
    subscriptions: Subscriptions, current: Mapping[str, frozenset[TopicIdPartition]]
) -> list[str]:
    """Those who have ranges keep their order, so that few partitions move; newcomers come behind."""
    firsts = {
        member: min((partition.partition for partition in current.get(member, ())), default=None)
        for member in subscriptions
    }
    return sorted(subscriptions, key=lambda member: (firsts[member] is None, firsts[member] or 0, member))


ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniformly, "range": assign_by_range}
"""By name, the default first."""
