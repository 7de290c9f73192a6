"""Membership protocols: by which strategy the members of a group divide a topic's partitions.

Owns pykafka's two protocols and the order that both put partitions in, which every member must have the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from barnabas.compat.pykafka._balance.shapes import GroupPartition
from barnabas.compat.pykafka._balance.shares import range_share, round_robin_share
from barnabas.compat.pykafka.protocol import ConsumerGroupProtocolMetadata

__all__ = [
    "GroupMembershipProtocol",
    "RangeProtocol",
    "RoundRobinProtocol",
    "decide_partitions_range",
    "decide_partitions_roundrobin",
]

log = logging.getLogger("pykafka.membershipprotocol")

Decide = Callable[[Iterable[bytes], Mapping[int, GroupPartition], bytes], set[GroupPartition]]


class GroupMembershipProtocol(NamedTuple):
    """A strategy, and the name and data under which a member offers it to its group."""

    protocol_type: bytes
    protocol_name: bytes
    metadata: ConsumerGroupProtocolMetadata
    decide_partitions: Decide


def decide_partitions_range(
    participants: Iterable[bytes], partitions: Mapping[int, GroupPartition], consumer_id: bytes
) -> set[GroupPartition]:
    """The partitions of `consumer_id`, where each participant gets a run of them.

    Raises: ValueError if `consumer_id` does not participate.
    """
    return _decided(range_share, participants, partitions, consumer_id)


def decide_partitions_roundrobin(
    participants: Iterable[bytes], partitions: Mapping[int, GroupPartition], consumer_id: bytes
) -> set[GroupPartition]:
    """The partitions of `consumer_id`, where participants take them in turn."""
    return _decided(round_robin_share, participants, partitions, consumer_id)


def _decided(
    share: Callable[[Iterable[bytes], list[GroupPartition], bytes], list[GroupPartition]],
    participants: Iterable[bytes],
    partitions: Mapping[int, GroupPartition],
    consumer_id: bytes,
) -> set[GroupPartition]:
    members = list(participants)
    ordered = sorted(partitions.values(), key=_place)
    own = set(share(members, ordered, consumer_id))
    log.info(
        "%s: Balancing %i participants for %i partitions. Owning %i partitions.",
        consumer_id,
        len(members),
        len(ordered),
        len(own),
    )
    return own


def _place(partition: GroupPartition) -> str:
    """Where a partition stands among the others: by these texts, so that 10 comes before 2."""
    return f"{partition.topic.name}-{partition.leader.id}-{partition.id}"


RangeProtocol = GroupMembershipProtocol(
    b"consumer", b"range", ConsumerGroupProtocolMetadata(), decide_partitions_range
)
RoundRobinProtocol = GroupMembershipProtocol(
    b"consumer", b"roundrobin", ConsumerGroupProtocolMetadata(), decide_partitions_roundrobin
)
