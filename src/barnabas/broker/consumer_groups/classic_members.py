"""Members of the classic protocol in groups of the consumer protocol, as when a group moves from one to the
other member by member (KIP-848): the broker assigns to them too, and has them join again to learn of it.

Owns how the classic protocol's requests are answered there, and how a group passes from one protocol to the
other. Must not know requests and responses.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Protocol

from barnabas.broker.classic_groups.consumer_protocol import (
    decoded_assignment,
    decoded_subscription,
    encoded_assignment,
)
from barnabas.broker.classic_groups.coordinator import CONSUMER_TYPE, ClassicGroupCoordinator
from barnabas.broker.classic_groups.join_attempt import JoinAttempt, MemberIdGivenError
from barnabas.broker.cluster import Cluster
from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker.consumer_groups.group import ClassicSide, ConsumerGroup, ConsumerMember, Reconciliation
from barnabas.broker.consumer_groups.records import by_topic
from barnabas.broker.groups.directory import GroupDirectory
from barnabas.broker.groups.group import Group, JoinResult, Member, MemberIdentity
from barnabas.broker.groups.records import encoded_key
from barnabas.broker_errors import (
    CoordinatorNotAvailableError,
    FencedInstanceIdError,
    GroupIdNotFoundError,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    KafkaStorageError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from barnabas.errors import BrokenProtocolError
from barnabas.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from barnabas.protocol.messages.group_metadata_key import GroupMetadataKey


class ConsumerGroups(Protocol):
    """What the coordinator of the consumer protocol does for these members as for its own."""

    def group(self, group_id: str) -> ConsumerGroup: ...

    def add_member(self, group: ConsumerGroup, member: ConsumerMember) -> ConsumerMember: ...

    def replace_member(self, group: ConsumerGroup, old: ConsumerMember, member_id: str) -> ConsumerMember: ...

    def advance(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        owned: frozenset[TopicIdPartition] | None,
        *,
        has_changed: bool,
    ) -> None: ...

    def restart_session(self, group: ConsumerGroup, member: ConsumerMember) -> None: ...

    def begin_deadline(self, group: ConsumerGroup, member: ConsumerMember) -> None: ...

    def end_deadline(self, member: ConsumerMember) -> None: ...

    def remove(self, group: ConsumerGroup, member: ConsumerMember, why: str) -> None: ...

    def stop_timers(self, group: ConsumerGroup) -> None: ...


class ClassicMembers:
    """Every method raises subclasses of BrokerError."""

    def __init__(
        self,
        cluster: Cluster,
        coordinator: ConsumerGroups,
        groups: GroupDirectory,
        classic_groups: ClassicGroupCoordinator,
    ) -> None:
        self._cluster = cluster
        self._coordinator = coordinator
        self._groups = groups
        self._classic_groups = classic_groups

    # Requests

    def join(self, attempt: JoinAttempt) -> JoinResult:
        group = self._coordinator.group(attempt.group_id)
        names = [name for name, _ in attempt.protocols]
        common = group.common_classic_protocols()
        if attempt.protocol_type != CONSUMER_TYPE or not names or (common and common.isdisjoint(names)):
            raise InconsistentGroupProtocolError(
                f"group {group.group_id} has no protocol in common with the new member's "
                f"{attempt.protocol_type} {', '.join(names)}"
            )
        subscription = _subscription(attempt.protocols[0][1])
        member = self._member(group, attempt)
        is_new = member.member_id not in group.target
        has_changed = is_new or member.subscribed_topic_names != frozenset(subscription.topics)
        member.client_id, member.client_host = attempt.client_id, f"/{attempt.client_host}"
        member.rebalance_timeout_ms = attempt.rebalance_timeout_ms
        member.subscribed_topic_names = frozenset(subscription.topics)
        member.subscribed_topic_regex = None
        member.classic = ClassicSide(attempt.session_timeout_ms, list(attempt.protocols))
        owned = self._partitions(
            (topic.topic, index) for topic in subscription.owned_partitions for index in topic.partitions
        )
        self._coordinator.advance(group, member, owned, has_changed=has_changed)
        self._coordinator.begin_deadline(group, member)
        return JoinResult(member.epoch, CONSUMER_TYPE, names[0], "", member.member_id)

    def _member(self, group: ConsumerGroup, attempt: JoinAttempt) -> ConsumerMember:
        instance = attempt.group_instance_id
        if instance is None:
            if not attempt.member_id:
                member_id = f"{attempt.client_id}-{uuid.uuid4()}"
                if attempt.requires_known_member_id:
                    raise MemberIdGivenError(member_id)
                return self._coordinator.add_member(group, ConsumerMember(member_id=member_id))
            known = group.members.get(attempt.member_id)
            return known or self._coordinator.add_member(group, ConsumerMember(member_id=attempt.member_id))
        known_id = group.static_members.get(instance)
        new_id = f"{instance}-{uuid.uuid4()}"
        if known_id is None:
            member = ConsumerMember(member_id=attempt.member_id or new_id, instance_id=instance)
            return self._coordinator.add_member(group, member)
        if not attempt.member_id:
            return self._coordinator.replace_member(group, group.members[known_id], new_id)
        return self._find(group, attempt.member_id, instance)

    def sync(self, identity: MemberIdentity) -> tuple[str, bytes]:
        """The protocol, and the member's part."""
        group, member, side = self._checked(identity)
        is_behind = group.epoch > member.epoch and member.state is not Reconciliation.UNREVOKED_PARTITIONS
        if is_behind:
            self._coordinator.begin_deadline(group, member)
            raise RebalanceInProgressError(f"group {group.group_id} rebalances")
        self._coordinator.end_deadline(member)
        self._coordinator.restart_session(group, member)
        name, metadata = side.protocols[0]
        return name, self._assignment(member.assigned, metadata)

    def heartbeat(self, identity: MemberIdentity) -> None:
        group, member, _ = self._checked(identity)
        self._coordinator.restart_session(group, member)
        is_released = member.state is Reconciliation.UNRELEASED_PARTITIONS and not group.waits_for_others(
            member
        )
        if (
            group.epoch > member.epoch
            or member.epoch != group.assignment_epoch
            or member.state is Reconciliation.UNREVOKED_PARTITIONS
            or is_released
        ):
            if member.rebalance_timer is None:
                self._coordinator.begin_deadline(group, member)
            raise RebalanceInProgressError(f"group {group.group_id} rebalances")

    def leave(self, group_id: str, member_id: str, group_instance_id: str | None) -> None:
        """A member of either protocol may be removed so, as an administrator does."""
        group = self._coordinator.group(group_id)
        if group_instance_id is not None and not member_id:
            member_id = group.static_members.get(group_instance_id, "")
        self._coordinator.remove(group, self._find(group, member_id, group_instance_id), "leaves")

    def _checked(self, identity: MemberIdentity) -> tuple[ConsumerGroup, ConsumerMember, ClassicSide]:
        group = self._coordinator.group(identity.group_id)
        member = self._find(group, identity.member_id, identity.group_instance_id)
        if member.classic is None:
            raise UnknownMemberIdError(f"member {member.member_id} does not speak the classic protocol")
        if identity.generation != member.epoch:
            raise IllegalGenerationError(
                f"member {member.member_id} is in epoch {member.epoch}, not {identity.generation}"
            )
        return group, member, member.classic

    @staticmethod
    def _find(group: ConsumerGroup, member_id: str, group_instance_id: str | None) -> ConsumerMember:
        if group_instance_id is not None:
            known = group.static_members.get(group_instance_id)
            if known is None:
                raise UnknownMemberIdError(f"Instance id {group_instance_id} is unknown.")
            if known != member_id:
                raise FencedInstanceIdError(
                    f"Static member {member_id} with instance id {group_instance_id} was fenced by member "
                    f"{known}."
                )
        return group.find(member_id)

    # From one protocol to the other

    def take_over(self, classic: Group) -> ConsumerGroup:
        """The group that a classic one becomes when a member of the consumer protocol joins it. The classic
        one is as it was."""
        if classic.protocol_type != CONSUMER_TYPE:
            raise GroupIdNotFoundError(f"Group {classic.group_id} is not a consumer group.")
        group = ConsumerGroup(classic.group_id, epoch=classic.generation, assignment_epoch=classic.generation)
        for member in classic.members.values():
            subscription = _subscription(member.protocols[0][1])
            assigned = self._assigned(member.assignment)
            group.add(
                ConsumerMember(
                    member_id=member.member_id,
                    instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=f"/{member.client_host}",
                    rebalance_timeout_ms=member.rebalance_timeout_ms,
                    subscribed_topic_names=frozenset(subscription.topics),
                    epoch=classic.generation,
                    previous_epoch=classic.generation,
                    assigned=assigned,
                    classic=ClassicSide(member.session_timeout_ms, list(member.protocols)),
                )
            )
            group.target[member.member_id] = assigned
        # As if the group had written it, so that it takes it back.
        key = GroupMetadataKey(classic.group_id)
        group.written = {encoded_key(key): (key, b"")}
        return group

    def hand_over(self, group: ConsumerGroup) -> None:
        """Makes a classic group of one that has no other members any more."""
        members = [
            Member(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host.removeprefix("/"),
                member.classic.session_timeout_ms,
                member.rebalance_timeout_ms,
                member.classic.protocols,
                self._assignment(member.assigned, member.classic.protocols[0][1]),
            )
            for member in group.members.values()
            if member.classic is not None
        ]
        self._coordinator.stop_timers(group)
        try:
            self._classic_groups.take_members(self._groups.by_name[group.group_id], group.epoch, members)
        except KafkaStorageError as error:
            raise CoordinatorNotAvailableError(error.context) from error

    # What members tell each other

    def _partitions(self, pairs: Iterable[tuple[str, int]]) -> frozenset[TopicIdPartition]:
        topics = self._cluster.topics
        return frozenset(
            TopicIdPartition(topics[name].topic_id, index) for name, index in pairs if name in topics
        )

    def _assigned(self, assignment: bytes) -> frozenset[TopicIdPartition]:
        if not assignment:
            return frozenset()
        try:
            decoded = decoded_assignment(assignment)
        except BrokenProtocolError as error:
            raise InconsistentGroupProtocolError(f"this is no consumer's assignment: {error}") from None
        return self._partitions(
            (topic.topic, index) for topic in decoded.assigned_partitions for index in topic.partitions
        )

    def _assignment(self, partitions: Iterable[TopicIdPartition], subscription: bytes) -> bytes:
        names = {topic.topic_id: topic.name for topic in self._cluster.topics.values()}
        topics = [
            (names[topic_id], indexes) for topic_id, indexes in by_topic(partitions) if topic_id in names
        ]
        return encoded_assignment(topics, subscription)


def _subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises: InconsistentGroupProtocolError."""
    try:
        return decoded_subscription(metadata)
    except BrokenProtocolError as error:
        raise InconsistentGroupProtocolError(f"this is no consumer's subscription: {error}") from None
