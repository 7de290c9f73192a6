"""The coordinator of share groups: heartbeats and sessions (KIP-932).

Owns time and the way of a heartbeat, and sees to it that what is answered is on disk first. Must not know
requests and responses, nor what members have in hand.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import get_args

from barnabas.broker.cluster import Cluster
from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker.groups.directory import GroupDirectory
from barnabas.broker.groups.records import ShareGroupKey
from barnabas.broker.groups.store import GroupStore
from barnabas.broker.heartbeat_groups.coordinator import GroupKind, HeartbeatGroupCoordinator
from barnabas.broker.heartbeat_groups.group import FIRST_EPOCH, JOINING_EPOCH, LEAVING_EPOCH
from barnabas.broker.share_groups.assignor import assign_simply
from barnabas.broker.share_groups.group import ShareGroup, ShareMember
from barnabas.broker.share_groups.records import entries_of, member_entries, take_up
from barnabas.broker_errors import GroupIdNotFoundError
from barnabas.clock import now_ms

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ShareHeartbeat:
    """What a member says. None is what it has not said since it last did."""

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    rack_id: str | None = None
    subscribed_topic_names: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ShareHeartbeatAnswer:
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    assigned: frozenset[TopicIdPartition] | None
    """None where the member knows."""


SHARE = GroupKind("share", get_args(ShareGroupKey), ShareGroup, entries_of, member_entries, take_up)


class ShareGroupCoordinator(HeartbeatGroupCoordinator[ShareGroup, ShareMember]):
    """Partitions may be several members'."""

    def __init__(self, cluster: Cluster, store: GroupStore, groups: GroupDirectory) -> None:
        super().__init__(SHARE, cluster, store, groups)
        self.on_group_gone: list[Callable[[str], None]] = []
        """Called with the name of each group that was deleted."""
        self.on_partitions: list[Callable[[str, Iterable[TopicIdPartition]], None]] = []
        """Called with the name of a group and the partitions that its members are to fetch."""

    def _resume(self, group: ShareGroup) -> None:
        group.partition_counts = self._partition_counts(self._subscriptions(group))

    def _hand_on(self, group: ShareGroup, before: ShareGroup) -> None:
        group.partition_counts = before.partition_counts

    def group_to_change(self, group_id: str) -> ShareGroup:
        """The group, which is made if there is none of the name.

        Raises: GroupIdNotFoundError, CoordinatorNotAvailableError.
        """
        if group_id in self._groups.by_name:
            return self.group(group_id)
        group = ShareGroup(group_id, epoch=FIRST_EPOCH)
        self.write(group)
        return group

    def _forget(self, group_id: str) -> None:
        if self.groups.pop(group_id, None) is not None:
            for notify in self.on_group_gone:
                notify(group_id)

    # Heartbeats

    def heartbeat(self, beat: ShareHeartbeat) -> ShareHeartbeatAnswer:
        """Raises: BrokerError."""
        if beat.member_epoch == LEAVING_EPOCH:
            return self._leave(beat)
        group = self._group_of(beat)
        member = self._member(group, beat)
        before = member.assigned
        has_changed = self._take_in(group, member, beat)
        subscriptions = self._subscriptions(group)
        counts = self._partition_counts(subscriptions)
        is_new_epoch = has_changed or counts != group.partition_counts
        if is_new_epoch:
            group.epoch += 1
        is_assigned = self._assign(group, subscriptions, counts)
        if member.epoch != group.assignment_epoch:
            member.previous_epoch, member.epoch = member.epoch, group.assignment_epoch
        member.assigned = group.target.get(member.member_id, frozenset())
        self.restart_session(group, member)
        self.write(group, None if is_new_epoch or is_assigned else member)
        # Not before: with the next heartbeat an epoch that could not be written begins again.
        group.partition_counts = counts
        says_all = beat.member_epoch == JOINING_EPOCH or beat.subscribed_topic_names is not None
        return ShareHeartbeatAnswer(
            member.member_id,
            member.epoch,
            self.settings(group.group_id).number("share.heartbeat.interval.ms"),
            member.assigned if says_all or member.assigned != before else None,
        )

    def _group_of(self, beat: ShareHeartbeat) -> ShareGroup:
        if beat.member_epoch == JOINING_EPOCH and beat.group_id not in self._groups.by_name:
            return ShareGroup(beat.group_id, epoch=FIRST_EPOCH)
        if beat.group_id not in self._groups.by_name:
            raise GroupIdNotFoundError(f"Share group {beat.group_id} not found.")
        return self.group(beat.group_id)

    def _member(self, group: ShareGroup, beat: ShareHeartbeat) -> ShareMember:
        if beat.member_epoch != JOINING_EPOCH or beat.member_id in group.members:
            member = group.find(beat.member_id)
            member.check_epoch(beat.member_epoch)
            return member
        self.check_room(group)
        member = group.members[beat.member_id] = ShareMember(member_id=beat.member_id)
        logger.info("group %s: member %s joins", group.group_id, member.member_id)
        return member

    @staticmethod
    def _take_in(group: ShareGroup, member: ShareMember, beat: ShareHeartbeat) -> bool:
        """Whether members or what they subscribe to are other than before."""
        before = member.subscribed_topic_names
        member.client_id, member.client_host = beat.client_id, beat.client_host
        if beat.rack_id is not None:
            member.rack_id = beat.rack_id
        if beat.subscribed_topic_names is not None:
            member.subscribed_topic_names = beat.subscribed_topic_names
        is_new = member.member_id not in group.target and member.epoch == JOINING_EPOCH
        return is_new or before != member.subscribed_topic_names

    def _subscriptions(self, group: ShareGroup) -> dict[str, frozenset[uuid.UUID]]:
        topics = self._cluster.topics
        return {
            member.member_id: frozenset(
                topics[name].topic_id for name in member.subscribed_topic_names if name in topics
            )
            for member in group.members.values()
        }

    def _partition_counts(self, subscriptions: dict[str, frozenset[uuid.UUID]]) -> dict[uuid.UUID, int]:
        wanted = frozenset[uuid.UUID]().union(*subscriptions.values())
        return {topic_id: len(self._cluster.topic_by_id(topic_id).partitions) for topic_id in wanted}

    def _assign(
        self,
        group: ShareGroup,
        subscriptions: dict[str, frozenset[uuid.UUID]],
        counts: dict[uuid.UUID, int],
    ) -> bool:
        """Whether there was anything to assign anew, and its time had come."""
        if group.epoch <= group.assignment_epoch:
            return False
        interval_ms = self.settings(group.group_id).number("share.assignment.interval.ms")
        if group.assigned_ms and now_ms() < group.assigned_ms + interval_ms:
            return False
        group.target = dict(assign_simply(subscriptions, counts, group.target))
        group.assignment_epoch, group.assigned_ms = group.epoch, now_ms()
        wanted = frozenset[TopicIdPartition]().union(*group.target.values())
        for notify in self.on_partitions:
            notify(group.group_id, wanted)
        return True

    # Leaving

    def _leave(self, beat: ShareHeartbeat) -> ShareHeartbeatAnswer:
        group = self.group(beat.group_id)
        self.remove(group, group.find(beat.member_id), "leaves")
        return ShareHeartbeatAnswer(beat.member_id, beat.member_epoch, 0, None)
