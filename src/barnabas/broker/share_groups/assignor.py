"""Who fetches which partitions in a share group, as Kafka's `simple` assignor does it (KIP-932).

Pure. Every partition is somebody's, several members' where there are more of them than partitions, and
members have as many as each other; who has a partition keeps it as far as that lets.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from barnabas.broker.consumer_groups.assignors import Subscriptions, Target, TopicIdPartition

NAME = "simple"


def assign_simply(
    subscriptions: Subscriptions,
    partition_counts: Mapping[uuid.UUID, int],
    current: Mapping[str, frozenset[TopicIdPartition]],
) -> Target:
    found: dict[str, set[TopicIdPartition]] = {member: set() for member in sorted(subscriptions)}
    if len(set(subscriptions.values())) == 1:
        _share(list(found), _partitions(partition_counts), current, found)
    else:
        for topic_id, count in sorted(partition_counts.items()):
            members = [member for member in found if topic_id in subscriptions[member]]
            _share(members, _partitions({topic_id: count}), current, found)
    return {member: frozenset(partitions) for member, partitions in found.items()}


def _partitions(partition_counts: Mapping[uuid.UUID, int]) -> list[TopicIdPartition]:
    return [
        TopicIdPartition(topic_id, index)
        for topic_id, count in sorted(partition_counts.items())
        for index in range(count)
    ]


def _share(
    members: Sequence[str],
    partitions: Sequence[TopicIdPartition],
    current: Mapping[str, Collection[TopicIdPartition]],
    found: Mapping[str, set[TopicIdPartition]],
) -> None:
    """Adds what members get of these partitions to what is found."""
    if not members or not partitions:
        return
    sharers = -(-len(members) // len(partitions))
    loans = sharers * len(partitions)
    bounds = [-(-loans * place // len(members)) for place in range(len(members) + 1)]
    room = {member: bounds[place + 1] - bounds[place] for place, member in enumerate(members)}
    counts: Counter[TopicIdPartition] = Counter()
    wanted = set(partitions)
    for member in members:
        for partition in sorted(wanted.intersection(current.get(member, ()))):
            if room[member] and counts[partition] < sharers:
                _give(member, partition, room, counts, found)
    for partition in partitions:
        # Those with most room first, so that nobody is left with partitions that it has already.
        for member in sorted(members, key=lambda member: -room[member]):
            if counts[partition] < sharers and room[member] and partition not in found[member]:
                _give(member, partition, room, counts, found)


def _give(
    member: str,
    partition: TopicIdPartition,
    room: dict[str, int],
    counts: Counter[TopicIdPartition],
    found: Mapping[str, set[TopicIdPartition]],
) -> None:
    found[member].add(partition)
    room[member] -= 1
    counts[partition] += 1
