"""The coordinator of share groups: heartbeats and sessions (KIP-932).

Owns time and the way of a heartbeat, and sees to it that what is answered is on disk first. Must not know
requests and responses, nor what members have in hand.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from barnabas.broker.cluster import Cluster
from barnabas.broker.configs.group_settings import GroupSettings
from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker.coordinator import GroupCoordinator
from barnabas.broker.group_journal import GroupJournal, note_written
from barnabas.broker.group_records import ShareGroupKey
from barnabas.broker.group_store import GroupStore, KeptEntry
from barnabas.broker.log.manager import now_ms
from barnabas.broker.share_groups.assignor import assign_simply
from barnabas.broker.share_groups.group import JOINING_EPOCH, LEAVING_EPOCH, ShareGroup, ShareMember
from barnabas.broker.share_groups.records import entries_of, member_entries, take_up
from barnabas.broker.state_topic import KeptEnd
from barnabas.broker_errors import (
    CoordinatorNotAvailableError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
)

logger = logging.getLogger(__name__)

# As Kafka counts: the first member is in epoch 2.
FIRST_EPOCH = 1


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


class ShareGroupCoordinator:
    """Belongs to one event loop; every method finishes at once. The `Group` of the same name that
    `GroupCoordinator` has holds the name."""

    def __init__(self, cluster: Cluster, store: GroupStore, groups: GroupCoordinator) -> None:
        self._cluster = cluster
        self._journal = GroupJournal(store)
        self._groups = groups
        self._loop = asyncio.get_running_loop()
        self.groups: dict[str, ShareGroup] = {}
        self.on_group_gone: list[Callable[[str], None]] = []
        """Called with the name of each group that was deleted."""
        self.on_partitions: list[Callable[[str, Iterable[TopicIdPartition]], None]] = []
        """Called with the name of a group and the partitions that its members are to fetch."""
        groups.on_consumers_gone.append(self._forget)

    def load(self, entries: Iterable[KeptEntry | KeptEnd]) -> None:
        """Takes up the groups that were written down; their members stay, if they are heard of in time."""
        there = set(self.groups)
        for kept in entries:
            if isinstance(kept, KeptEnd) or not isinstance(key := kept.key, ShareGroupKey):
                continue
            group = self.groups.setdefault(key.group_id, ShareGroup(key.group_id))
            take_up(group, key, kept.value)
            note_written(group, key, kept.value)
        for group in [group for name, group in self.groups.items() if name not in there]:
            if not group.written:
                del self.groups[group.group_id]
                continue
            self._groups.attach(group)
            group.partition_counts = self._partition_counts(self._subscriptions(group))
            for member in group.members.values():
                self._restart_session(group, member)

    def unload(self, group_ids: Iterable[str]) -> None:
        """Lets go of groups that another node coordinates from now on."""
        for group_id in group_ids:
            group = self.groups.pop(group_id, None)
            if group is not None:
                for member in group.members.values():
                    _stop_timer(member)

    def close(self) -> None:
        """Stops all timers."""
        for group in self.groups.values():
            for member in group.members.values():
                _stop_timer(member)

    def group(self, group_id: str) -> ShareGroup:
        """Raises: GroupIdNotFoundError."""
        group = self.groups.get(group_id)
        if group is None:
            is_other = group_id in self._groups.groups
            raise GroupIdNotFoundError(
                f"Group {group_id} is not a share group." if is_other else f"Group {group_id} not found."
            )
        return group

    def group_to_change(self, group_id: str) -> ShareGroup:
        """The group, which is made if there is none of the name.

        Raises: GroupIdNotFoundError, CoordinatorNotAvailableError.
        """
        if group_id in self._groups.groups:
            return self.group(group_id)
        group = ShareGroup(group_id, epoch=FIRST_EPOCH)
        self._journal.write(group, entries_of(group), are_all=True)
        self._attach(group)
        return group

    def _attach(self, group: ShareGroup) -> None:
        self.groups[group.group_id] = group
        self._groups.attach(group)

    def settings(self, group_id: str) -> GroupSettings:
        return GroupSettings(self._cluster.group_settings.of(group_id), self._cluster.settings)

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
        if has_changed or self._partition_counts(self._subscriptions(group)) != group.partition_counts:
            group.epoch += 1
        is_assigned = self._assign(group)
        if member.epoch != group.assignment_epoch:
            member.previous_epoch, member.epoch = member.epoch, group.assignment_epoch
        member.assigned = group.target.get(member.member_id, frozenset())
        self._restart_session(group, member)
        are_all = is_assigned or group.is_behind
        entries = entries_of(group) if are_all else member_entries(group, member)
        self._journal.write(group, entries, are_all=are_all)
        says_all = beat.member_epoch == JOINING_EPOCH or beat.subscribed_topic_names is not None
        return ShareHeartbeatAnswer(
            member.member_id,
            member.epoch,
            self.settings(group.group_id).number("share.heartbeat.interval.ms"),
            member.assigned if says_all or member.assigned != before else None,
        )

    def _group_of(self, beat: ShareHeartbeat) -> ShareGroup:
        if beat.member_epoch == JOINING_EPOCH and beat.group_id not in self._groups.groups:
            return ShareGroup(beat.group_id, epoch=FIRST_EPOCH)
        if beat.group_id not in self._groups.groups:
            raise GroupIdNotFoundError(f"Share group {beat.group_id} not found.")
        return self.group(beat.group_id)

    def _member(self, group: ShareGroup, beat: ShareHeartbeat) -> ShareMember:
        if beat.member_epoch != JOINING_EPOCH or beat.member_id in group.members:
            member = group.find(beat.member_id)
            member.check_epoch(beat.member_epoch)
            return member
        room = self._cluster.settings.number("group.share.max.size")
        if len(group.members) >= room:
            raise GroupMaxSizeReachedError(
                f"The share group has reached its maximum capacity of {room} members."
            )
        member = group.members[beat.member_id] = ShareMember(beat.member_id)
        self._attach(group)
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

    def _assign(self, group: ShareGroup) -> bool:
        """Whether there was anything to assign anew, and its time had come."""
        if group.epoch <= group.assignment_epoch:
            return False
        subscriptions = self._subscriptions(group)
        group.partition_counts = self._partition_counts(subscriptions)
        interval_ms = self.settings(group.group_id).number("share.assignment.interval.ms")
        if group.assigned_ms and now_ms() < group.assigned_ms + interval_ms:
            return False
        group.target = dict(assign_simply(subscriptions, group.partition_counts, group.target))
        group.assignment_epoch, group.assigned_ms = group.epoch, now_ms()
        wanted = frozenset[TopicIdPartition]().union(*group.target.values())
        for notify in self.on_partitions:
            notify(group.group_id, wanted)
        return True

    # Leaving

    def _leave(self, beat: ShareHeartbeat) -> ShareHeartbeatAnswer:
        group = self.group(beat.group_id)
        self._remove(group, group.find(beat.member_id), "leaves")
        return ShareHeartbeatAnswer(beat.member_id, beat.member_epoch, 0, None)

    def _remove(self, group: ShareGroup, member: ShareMember, why: str) -> None:
        """Raises: CoordinatorNotAvailableError."""
        logger.info("group %s: member %s %s", group.group_id, member.member_id, why)
        _stop_timer(member)
        group.remove(member)
        group.epoch += 1
        self._groups.tell_state(group)
        self._journal.write(group, entries_of(group), are_all=True)

    def _expel(self, group: ShareGroup, member: ShareMember, why: str) -> None:
        try:
            self._remove(group, member, why)
        except CoordinatorNotAvailableError as error:
            logger.error("group %s cannot be written down, to be tried again: %s", group.group_id, error)

    def _restart_session(self, group: ShareGroup, member: ShareMember) -> None:
        _stop_timer(member)
        timeout_ms = self.settings(group.group_id).number("share.session.timeout.ms")
        member.session_timer = self._loop.call_later(
            timeout_ms / 1000,
            lambda: self._expel(group, member, f"was not heard of for {timeout_ms} ms"),
        )


def _stop_timer(member: ShareMember) -> None:
    if member.session_timer is not None:
        member.session_timer.cancel()
        member.session_timer = None
