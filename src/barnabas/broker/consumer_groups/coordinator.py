"""The coordinator of groups of the consumer protocol: heartbeats, sessions, rebalance time-outs (KIP-848).

Owns time and the order in which a heartbeat is dealt with, and sees to it that what is answered is on disk
first. Must not know requests and responses, nor how an assignment is made.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from barnabas._kernel import NamePattern
from barnabas.broker.classic_groups.coordinator import ClassicGroupCoordinator
from barnabas.broker.cluster import Cluster
from barnabas.broker.consumer_groups.assignors import ASSIGNORS, TopicIdPartition
from barnabas.broker.consumer_groups.classic_members import ClassicMembers
from barnabas.broker.consumer_groups.group import (
    ConsumerGroup,
    ConsumerMember,
    Reconciliation,
)
from barnabas.broker.consumer_groups.records import entries_of, member_entries, take_up
from barnabas.broker.groups.directory import GroupDirectory
from barnabas.broker.groups.records import ConsumerGroupKey
from barnabas.broker.groups.store import GroupStore
from barnabas.broker.heartbeat_groups.coordinator import (
    GroupKind,
    HeartbeatGroupCoordinator,
    stop_timer,
    stop_timers,
)
from barnabas.broker.heartbeat_groups.group import (
    FIRST_EPOCH,
    JOINING_EPOCH,
    LEAVING_EPOCH,
    STATIC_LEAVING_EPOCH,
)
from barnabas.broker.name_pattern import NamePatternError, name_pattern
from barnabas.broker_errors import (
    CoordinatorNotAvailableError,
    FencedInstanceIdError,
    GroupIdNotFoundError,
    InvalidRegularExpressionError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
)
from barnabas.clock import now_ms

MOST_PATTERNS_KEPT = 1024

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a member says. None, or -1, is what it has not said since it last did."""

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: frozenset[str] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    owned: frozenset[TopicIdPartition] | None = None
    may_see: Callable[[str], bool] | None = None
    """Whether its regular expression may match a topic; None is all."""

    @property
    def says_all(self) -> bool:
        """So that it has to be told all as well."""
        subscribes = self.subscribed_topic_names is not None or self.subscribed_topic_regex is not None
        return self.member_epoch == JOINING_EPOCH or (
            self.rebalance_timeout_ms >= 0 and subscribes and self.owned is not None
        )


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    assigned: frozenset[TopicIdPartition] | None
    """None where the member knows."""


CONSUMER = GroupKind(
    "consumer", get_args(ConsumerGroupKey), ConsumerGroup, entries_of, member_entries, take_up
)


class ConsumerGroupCoordinator(HeartbeatGroupCoordinator[ConsumerGroup, ConsumerMember]):
    """Members may speak the classic protocol: those are with `ClassicMembers`."""

    def __init__(
        self,
        cluster: Cluster,
        store: GroupStore,
        groups: GroupDirectory,
        classic_groups: ClassicGroupCoordinator,
    ) -> None:
        super().__init__(CONSUMER, cluster, store, groups)
        self._classic_groups = classic_groups
        self._matched: dict[str, list[str]] = {}
        self._matched_at = 0
        self.classic_members = ClassicMembers(cluster, self, groups, classic_groups)
        classic_groups.mixed_groups = self.classic_members

    def _resume(self, group: ConsumerGroup) -> None:
        group.partition_counts = self._partition_counts(self._subscriptions(group))
        for member in group.members.values():
            if member.classic is None:
                self._watch_rebalance(group, member)

    def _hand_on(self, group: ConsumerGroup, before: ConsumerGroup) -> None:
        group.partition_counts = before.partition_counts
        for member in group.members.values():
            if member.member_id in before.members:
                member.may_see = before.members[member.member_id].may_see

    # Heartbeats

    def heartbeat(self, beat: Heartbeat) -> HeartbeatAnswer:
        """Raises: BrokerError."""
        if beat.member_epoch in (LEAVING_EPOCH, STATIC_LEAVING_EPOCH):
            return self._leave(beat)
        joins = beat.member_epoch == JOINING_EPOCH
        group = self._group_to_join(beat.group_id) if joins else self._joined_group(beat.group_id)
        if beat.subscribed_topic_regex is not None:
            _compiled(beat.subscribed_topic_regex)
        member = self._static_member(group, beat) if beat.instance_id else self._dynamic_member(group, beat)
        before = member.assigned
        self.advance(group, member, beat.owned, has_changed=self._take_in(group, member, beat))
        return HeartbeatAnswer(
            member.member_id,
            member.epoch,
            self.settings(group.group_id).number("consumer.heartbeat.interval.ms"),
            member.assigned if beat.says_all or member.assigned != before else None,
        )

    def _joined_group(self, group_id: str) -> ConsumerGroup:
        try:
            return self.group(group_id)
        except GroupIdNotFoundError:
            shared = self._groups.by_name.get(group_id)
            if shared is not None and shared.consumers is not None:
                raise
            raise GroupIdNotFoundError(f"Consumer group {group_id} not found.") from None

    def advance(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        owned: frozenset[TopicIdPartition] | None,
        *,
        has_changed: bool,
    ) -> None:
        """Takes a member that was heard of as far as may be. `has_changed`: members or subscriptions.

        Raises: CoordinatorNotAvailableError.
        """
        subscriptions = self._subscriptions(group)
        counts = self._partition_counts(subscriptions)
        is_new_epoch = has_changed or counts != group.partition_counts
        if is_new_epoch:
            group.epoch += 1
        is_assigned = self._assign(group, subscriptions, counts)
        group.reconcile(member, owned)
        self.restart_session(group, member)
        if member.classic is None:
            self._watch_rebalance(group, member)
        self.write(group, None if is_new_epoch or is_assigned else member)
        # Not before: with the next heartbeat an epoch that could not be written begins again.
        group.partition_counts = counts

    def _group_to_join(self, group_id: str) -> ConsumerGroup:
        group = self.groups.get(group_id)
        if group is not None:
            return group
        classic = self._groups.by_name.get(group_id)
        if classic is not None and classic.consumers is not None:
            raise GroupIdNotFoundError(f"Group {group_id} is not a consumer group.")
        if classic is not None and classic.members:
            group = self.classic_members.take_over(classic)
            self.write_first(group)
            self._classic_groups.give_up_members(classic)
            self.attach(group)
            return group
        return ConsumerGroup(group_id, epoch=FIRST_EPOCH)

    def _dynamic_member(self, group: ConsumerGroup, beat: Heartbeat) -> ConsumerMember:
        if beat.member_epoch != JOINING_EPOCH or beat.member_id in group.members:
            member = group.find(beat.member_id)
            member.check_epoch(beat.member_epoch, beat.owned)
            return member
        return self.add_member(group, ConsumerMember(member_id=beat.member_id or str(uuid.uuid4())))

    def add_member(self, group: ConsumerGroup, member: ConsumerMember) -> ConsumerMember:
        self.check_room(group)
        group.add(member)
        logger.info("group %s: member %s joins", group.group_id, member.member_id)
        return member

    def _static_member(self, group: ConsumerGroup, beat: Heartbeat) -> ConsumerMember:
        known = group.static_members.get(beat.instance_id or "")
        if beat.member_epoch != JOINING_EPOCH:
            if known is None:
                raise UnknownMemberIdError(f"Instance id {beat.instance_id} is unknown.")
            self._check_instance(group, beat, known)
            member = group.find(known)
            member.check_epoch(beat.member_epoch, beat.owned)
            return member
        if known is None:
            member_id = beat.member_id or str(uuid.uuid4())
            return self.add_member(group, ConsumerMember(member_id=member_id, instance_id=beat.instance_id))
        member = group.members[known]
        if beat.member_id == known:
            member.check_epoch(beat.member_epoch, beat.owned)
            return member
        if member.epoch != STATIC_LEAVING_EPOCH:
            raise UnreleasedInstanceIdError(
                f"Static member {beat.member_id} with instance id {beat.instance_id} cannot join the "
                f"group because the instance id is owned by {known} member."
            )
        return self.replace_member(group, member, beat.member_id or str(uuid.uuid4()))

    @staticmethod
    def _check_instance(group: ConsumerGroup, beat: Heartbeat, known: str) -> None:
        if known != beat.member_id:
            raise FencedInstanceIdError(
                f"Static member {beat.member_id} with instance id {beat.instance_id} was fenced by member "
                f"{known}."
            )

    def replace_member(self, group: ConsumerGroup, old: ConsumerMember, member_id: str) -> ConsumerMember:
        """A static member has come back, under a new id: it takes over what the old one had."""
        stop_timers(old)
        target = group.target.get(old.member_id)
        group.remove(old)
        member = ConsumerMember(
            member_id=member_id,
            instance_id=old.instance_id,
            rack_id=old.rack_id,
            rebalance_timeout_ms=old.rebalance_timeout_ms,
            subscribed_topic_names=old.subscribed_topic_names,
            subscribed_topic_regex=old.subscribed_topic_regex,
            server_assignor=old.server_assignor,
            previous_epoch=old.previous_epoch,
            assigned=old.assigned,
        )
        group.add(member)
        if target is not None:
            group.target[member_id] = target
        # The old one's records are to go.
        group.has_replaced_member = True
        return member

    def _take_in(self, group: ConsumerGroup, member: ConsumerMember, beat: Heartbeat) -> bool:
        """Whether members or what they subscribe to are other than before."""
        names, regex = member.subscribed_topic_names, member.subscribed_topic_regex
        is_new = member.member_id not in group.target and member.epoch == JOINING_EPOCH
        member.client_id, member.client_host = beat.client_id, beat.client_host
        member.may_see = beat.may_see
        if beat.rebalance_timeout_ms >= 0:
            member.rebalance_timeout_ms = beat.rebalance_timeout_ms
        if beat.rack_id is not None:
            member.rack_id = beat.rack_id
        if beat.server_assignor is not None:
            member.server_assignor = beat.server_assignor
        if beat.subscribed_topic_names is not None:
            member.subscribed_topic_names = beat.subscribed_topic_names
        if beat.subscribed_topic_regex is not None:
            member.subscribed_topic_regex = beat.subscribed_topic_regex or None
        return is_new or (names, regex) != (member.subscribed_topic_names, member.subscribed_topic_regex)

    # Assigning

    def _subscriptions(self, group: ConsumerGroup) -> dict[str, frozenset[uuid.UUID]]:
        topics = self._cluster.topics
        patterns = {member.subscribed_topic_regex for member in group.members.values()}
        resolved = {pattern: self._matching(pattern) for pattern in patterns if pattern is not None}
        return {
            member_id: frozenset(topics[name].topic_id for name in names if name in topics)
            for member_id, names in group.subscribed_topics(resolved).items()
        }

    def _matching(self, pattern: str) -> list[str]:
        """The topics that a regular expression matches, which are looked for again when topics come or go."""
        if self._matched_at != self._cluster.topics_changes or len(self._matched) > MOST_PATTERNS_KEPT:
            self._matched.clear()
            self._matched_at = self._cluster.topics_changes
        found = self._matched.get(pattern)
        if found is None:
            matches = _compiled(pattern).matches
            found = self._matched[pattern] = [name for name in self._cluster.topics if matches(name)]
        return found

    def _partition_counts(self, subscriptions: dict[str, frozenset[uuid.UUID]]) -> dict[uuid.UUID, int]:
        wanted = frozenset[uuid.UUID]().union(*subscriptions.values())
        return {topic_id: len(self._cluster.topic_by_id(topic_id).partitions) for topic_id in wanted}

    def _assign(
        self,
        group: ConsumerGroup,
        subscriptions: dict[str, frozenset[uuid.UUID]],
        counts: dict[uuid.UUID, int],
    ) -> bool:
        """Whether there was anything to assign anew, and its time had come."""
        if group.epoch <= group.assignment_epoch:
            return False
        interval_ms = self.settings(group.group_id).number("consumer.assignment.interval.ms")
        if group.assigned_ms and now_ms() < group.assigned_ms + interval_ms:
            return False
        assign = ASSIGNORS[group.assignor_name]
        group.target = dict(assign(subscriptions, counts, group.target))
        group.assignment_epoch, group.assigned_ms = group.epoch, now_ms()
        return True

    # Leaving

    def _leave(self, beat: Heartbeat) -> HeartbeatAnswer:
        group = self.group(beat.group_id)
        if beat.instance_id is None:
            member = group.find(beat.member_id)
        else:
            known = group.static_members.get(beat.instance_id)
            if known is None:
                raise UnknownMemberIdError(f"Instance id {beat.instance_id} is unknown.")
            self._check_instance(group, beat, known)
            member = group.members[known]
        if beat.member_epoch == STATIC_LEAVING_EPOCH:
            member.previous_epoch, member.epoch = member.epoch, STATIC_LEAVING_EPOCH
            member.pending_revocation = frozenset()
            self.write(group)
        else:
            self.remove(group, member, "leaves")
        return HeartbeatAnswer(beat.member_id, beat.member_epoch, 0, None)

    def _go_on(self, group: ConsumerGroup) -> None:
        if group.has_classic_members_alone:
            # In the same epoch: what members commit meanwhile holds.
            try:
                self.classic_members.hand_over(group)
            except CoordinatorNotAvailableError:
                self.restore(group)
                raise
        else:
            super()._go_on(group)

    # Time

    def _session_timeout_ms(self, group: ConsumerGroup, member: ConsumerMember) -> int:
        if member.classic is not None:
            return member.classic.session_timeout_ms
        return super()._session_timeout_ms(group, member)

    def _watch_rebalance(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """A member has its rebalance_timeout_ms to give up what it is to."""
        if member.state is not Reconciliation.UNREVOKED_PARTITIONS:
            self.end_deadline(member)
        elif member.rebalance_timer is None:
            self.begin_deadline(group, member)

    def begin_deadline(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """The member has its rebalance_timeout_ms for its part in a rebalance."""
        self.end_deadline(member)
        timeout_ms = member.rebalance_timeout_ms
        member.rebalance_timer = self.later(
            timeout_ms, lambda: self.expel(group, member, f"did not take its part within {timeout_ms} ms")
        )

    @staticmethod
    def end_deadline(member: ConsumerMember) -> None:
        stop_timer(member.rebalance_timer)
        member.rebalance_timer = None


def _compiled(pattern: str) -> NamePattern:
    """Raises: InvalidRegularExpressionError."""
    try:
        return name_pattern(pattern)
    except NamePatternError as error:
        raise InvalidRegularExpressionError(
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}."
        ) from None
