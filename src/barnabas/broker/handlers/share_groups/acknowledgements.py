"""What ShareFetch and ShareAcknowledge have in common: acknowledgements, as requests have them.

Owns how they are read. Knows nothing of either request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call
from barnabas.broker.handlers.nodes import Endpoint, endpoint
from barnabas.broker.replication.acknowledgement import Written
from barnabas.broker.replication.registration import NO_LEADER
from barnabas.broker.share_groups.share_partition import Acknowledgement, RecordDecision
from barnabas.broker.share_groups.share_state_store import ShareKey
from barnabas.broker_errors import (
    CoordinatorNotAvailableError,
    InvalidRequestError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from barnabas.errors import BrokerError

LONGEST_MEMBER_ID = 36


class LeaderNamed(Protocol):
    leader_id: int
    leader_epoch: int


def name_leader(call: Call, key: ShareKey, leader: LeaderNamed) -> Endpoint | None:
    """Tells who leads the partition; where that node is, if one does."""
    topic = call.parts.cluster.topic_by_id(key.topic_id)
    registration = topic.partitions[key.partition].registration
    leader.leader_id, leader.leader_epoch = registration.leader, registration.leader_epoch
    return None if registration.leader == NO_LEADER else endpoint(call, registration.leader)


class BatchSaidOf(Protocol):
    """`acknowledge_types` has one for each record, or one for all."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


def check_names(group_id: str | None, member_id: str | None) -> tuple[str, str]:
    """Raises: InvalidRequestError."""
    if not group_id or not member_id or len(member_id) > LONGEST_MEMBER_ID:
        raise InvalidRequestError
    return group_id, member_id


def decisions_of(batches: Iterable[BatchSaidOf], *, may_renew: bool) -> list[RecordDecision]:
    """Raises: InvalidRequestError."""
    found: list[RecordDecision] = []
    before = -1
    for batch in batches:
        first, last, kinds = batch.first_offset, batch.last_offset, batch.acknowledge_types
        if first > last or first <= before or len(kinds) not in (1, last - first + 1):
            raise InvalidRequestError
        highest = Acknowledgement.RENEW if may_renew else Acknowledgement.REJECT
        if not all(Acknowledgement.GAP <= kind <= highest for kind in kinds):
            raise InvalidRequestError
        before = last
        found.extend(_runs(first, last, kinds))
    return found


def _runs(first: int, last: int, kinds: Sequence[int]) -> Iterable[RecordDecision]:
    """Neighbours of which the same is said, as one."""
    start = 0
    for place in range(1, len(kinds) + 1):
        if place == len(kinds) or kinds[place] != kinds[start]:
            end = last if place == len(kinds) else first + place - 1
            yield RecordDecision(first + start, end, Acknowledgement(kinds[start]))
            start = place


def acknowledge(call: Call, key: ShareKey, member_id: str, decisions: Sequence[RecordDecision]) -> None:
    """Raises: BrokerError."""
    cluster = call.parts.cluster
    try:
        topic = cluster.topic_by_id(key.topic_id)
    except UnknownTopicIdError:
        raise UnknownTopicIdError from None
    if not 0 <= key.partition < len(topic.partitions):
        raise UnknownTopicOrPartitionError
    call.parts.authorizer.require(call, Operation.READ, ResourceKind.TOPIC, topic.name)
    call.parts.share_lending.decide(key, call.node, member_id, decisions)


async def until_kept(call: Call, key: ShareKey) -> None:
    """Waits, among several nodes, until what is written of a share partition outlives the coordinator's.

    Raises: CoordinatorNotAvailableError.
    """
    cluster = call.parts.cluster
    if cluster.has_one_node:
        return
    state = call.parts.share_states.topic.partition_for(key.text)
    try:
        await Written.all_of(state).until_replicated(
            cluster.settings.number("share.coordinator.write.timeout.ms")
        )
    except BrokerError as error:
        raise CoordinatorNotAvailableError(str(error)) from None
