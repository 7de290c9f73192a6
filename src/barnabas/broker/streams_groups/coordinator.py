"""The coordinator of Streams groups: heartbeats, sessions, rebalance time-outs (KIP-1071).

Owns time and the order in which a heartbeat is dealt with, and sees to it that what is answered is on disk
first. Must not know requests and responses, nor who creates the topics that are missing.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from barnabas.broker.cluster import Cluster
from barnabas.broker.groups.directory import GroupDirectory
from barnabas.broker.groups.records import StreamsGroupKey
from barnabas.broker.groups.store import GroupStore
from barnabas.broker.heartbeat_groups.coordinator import (
    GroupKind,
    HeartbeatGroupCoordinator,
    log_not_written,
    stop_timer,
)
from barnabas.broker.heartbeat_groups.group import JOINING_EPOCH, LEAVING_EPOCH, STATIC_LEAVING_EPOCH
from barnabas.broker.streams_groups.assignor import Candidate, TaskKind, assign
from barnabas.broker.streams_groups.group import (
    NO_TOPOLOGY_EPOCH,
    StreamsGroup,
    StreamsMember,
    TaskReconciliation,
)
from barnabas.broker.streams_groups.records import entries_of, member_entries, take_up
from barnabas.broker.streams_groups.tasks import MemberTasks, TaskSet
from barnabas.broker.streams_groups.topology import (
    ConfiguredTopology,
    InternalTopic,
    Problem,
    Status,
    Topology,
    configure,
    required_topics,
)
from barnabas.broker_errors import (
    CoordinatorNotAvailableError,
    GroupIdNotFoundError,
    InvalidRequestError,
)
from barnabas.clock import now_ms

logger = logging.getLogger(__name__)

STANDBY_SETTING = "num.standby.replicas"


@dataclass(frozen=True, slots=True)
class StreamsHeartbeat:
    """What a member says. None, or -1, is what it has not said since it last did."""

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    endpoint_epoch: int = 0
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    owned: MemberTasks | None = None
    process_id: str | None = None
    endpoint: tuple[str, int] | None = None
    client_tags: Mapping[str, str] | None = None
    shuts_down: bool = False
    """It asks for the end of the whole application."""


@dataclass(frozen=True, slots=True)
class EndpointPartitions:
    """Where a member answers queries, and for which partitions of the topics that its tasks read."""

    endpoint: tuple[str, int]
    active: Mapping[str, Sequence[int]]
    standby: Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class StreamsAnswer:
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    status: list[Problem] = field(default_factory=list[Problem])
    assigned: MemberTasks | None = None
    """None where the member knows."""
    endpoint_epoch: int = 0
    endpoints: Sequence[EndpointPartitions] | None = None
    missing: Collection[InternalTopic] = ()
    """Topics to be created, so that the group can begin."""


STREAMS = GroupKind("streams", get_args(StreamsGroupKey), StreamsGroup, entries_of, member_entries, take_up)


class StreamsGroupCoordinator(HeartbeatGroupCoordinator[StreamsGroup, StreamsMember]):
    """A new group waits for a while for more members."""

    def __init__(self, cluster: Cluster, store: GroupStore, groups: GroupDirectory) -> None:
        super().__init__(STREAMS, cluster, store, groups)

    def _resume(self, group: StreamsGroup) -> None:
        for member in group.members.values():
            self._watch_rebalance(group, member)

    def _hand_on(self, group: StreamsGroup, before: StreamsGroup) -> None:
        group.endpoint_epoch, group.shut_down_by = before.endpoint_epoch, before.shut_down_by
        if before.delay_timer is not None:
            left_ms = round((before.delay_timer.when() - self._loop.time()) * 1000)
            group.delay_timer = self.later(left_ms, lambda: self._end_delay(group))

    def stop_timers(self, group: StreamsGroup) -> None:
        super().stop_timers(group)
        stop_timer(group.delay_timer)

    def _forget(self, group_id: str) -> None:
        group = self.groups.pop(group_id, None)
        if group is not None:
            stop_timer(group.delay_timer)

    # Heartbeats

    def heartbeat(self, beat: StreamsHeartbeat) -> StreamsAnswer:
        """Raises: BrokerError."""
        if beat.member_epoch in (LEAVING_EPOCH, STATIC_LEAVING_EPOCH):
            return self._leave(beat)
        joins = beat.member_epoch == JOINING_EPOCH
        group = self._group_of(beat)
        is_new = group.group_id not in self.groups
        if joins:
            self.check_room(group)
            member = group.members.get(beat.member_id) or StreamsMember(member_id=beat.member_id)
        else:
            member = group.find(beat.member_id)
        member.check_epoch(beat.member_epoch, beat.owned)
        topology = group.topology_with(beat.topology)
        metadata_hash = self._metadata_hash(topology)
        configured = group.configured
        if configured is None or metadata_hash != group.metadata_hash:
            configured = configure(topology, self._partition_counts(topology))
        if configured.is_ready and beat.owned is not None:
            _check_tasks(configured, beat.owned)
        # Nothing has changed until here, so that whatever is refused leaves all as it was.
        was_empty, before, epoch_before = group.is_empty, member.assigned, member.epoch
        if member.member_id not in group.members:
            self._add(group, member)
        has_changed = _take_in(member, beat) | self._take_topics(group, topology, metadata_hash, configured)
        status = _staleness(group, member)
        is_assigned = self._assign(group, status, was_empty=was_empty, has_changed=has_changed)
        group.reconcile(member, beat.owned)
        self.restart_session(group, member)
        self._watch_rebalance(group, member, goes_on=member.epoch != epoch_before)
        self.write(group, None if is_assigned or has_changed else member)
        if beat.shuts_down and group.shut_down_by is None:
            group.shut_down_by = member.member_id
        if configured.problem is not None:
            status.append(configured.problem)
        if group.shut_down_by is not None:
            status.append(
                Problem(
                    Status.SHUTDOWN_APPLICATION,
                    f"Streams group member {group.shut_down_by} encountered a fatal error and requested a "
                    "shutdown for the entire application.",
                )
            )
        assigned = member.assigned if joins or member.assigned != before else None
        if assigned is not None and member.endpoint is not None:
            group.endpoint_epoch += 1
        endpoints = self._endpoints(group) if group.endpoint_epoch != beat.endpoint_epoch else None
        if is_new:
            # As Kafka counts: whoever makes the group is told 0, and told again with its next tasks.
            group.endpoint_epoch = 0
        return StreamsAnswer(
            member.member_id,
            member.epoch,
            self.settings(group.group_id).number("streams.heartbeat.interval.ms"),
            status,
            assigned,
            group.endpoint_epoch,
            endpoints,
            configured.missing,
        )

    def _group_of(self, beat: StreamsHeartbeat) -> StreamsGroup:
        shared = self._groups.by_name.get(beat.group_id)
        if beat.member_epoch != JOINING_EPOCH:
            if shared is None:
                raise GroupIdNotFoundError(f"Streams group {beat.group_id} not found.")
            return self.group(beat.group_id)
        if shared is None or (shared.consumers is None and not shared.members):
            return StreamsGroup(beat.group_id)
        return self.group(beat.group_id)

    def _add(self, group: StreamsGroup, member: StreamsMember) -> None:
        group.members[member.member_id] = member
        logger.info("group %s: member %s joins", group.group_id, member.member_id)

    def _take_topics(
        self, group: StreamsGroup, topology: Topology, metadata_hash: int, configured: ConfiguredTopology
    ) -> bool:
        """Whether the topology, its topics, or how to assign are other than before."""
        validated = topology.epoch if configured.is_ready else NO_TOPOLOGY_EPOCH
        standbys = self.settings(group.group_id).number(f"streams.{STANDBY_SETTING}")
        after = metadata_hash, validated, {STANDBY_SETTING: str(standbys)}
        before = group.metadata_hash, group.validated_topology_epoch, group.assignment_settings
        has_changed = group.topology is None or before != after
        group.topology, group.configured = topology, configured
        group.metadata_hash, group.validated_topology_epoch, group.assignment_settings = after
        return has_changed

    def _metadata_hash(self, topology: Topology) -> int:
        """Other topics, or other numbers of partitions, have another."""
        topics = self._cluster.topics
        digest = hashlib.blake2b(digest_size=8)
        found = sorted(name for name in required_topics(topology) if name in topics)
        for name in found:
            digest.update(f"{name} {topics[name].topic_id} {len(topics[name].partitions)}\n".encode())
        return int.from_bytes(digest.digest(), "big", signed=True) if found else 0

    def _partition_counts(self, topology: Topology) -> dict[str, int]:
        topics = self._cluster.topics
        return {name: len(topics[name].partitions) for name in required_topics(topology) if name in topics}

    # Assigning

    def _assign(
        self, group: StreamsGroup, status: list[Problem], *, was_empty: bool, has_changed: bool
    ) -> bool:
        """Whether there was anything to assign anew, and its time had come."""
        if has_changed:
            group.epoch += 1
        settings = self.settings(group.group_id)
        delay_ms = settings.number("streams.initial.rebalance.delay.ms")
        if was_empty and delay_ms and group.delay_timer is None:
            group.delay_timer = self.later(delay_ms, lambda: self._end_delay(group))
        if group.delay_timer is not None:
            detail = "Assignment delayed due to the configured initial rebalance delay."
            status.append(Problem(Status.ASSIGNMENT_DELAYED, detail))
            return False
        if group.epoch <= group.assignment_epoch:
            return False
        interval_ms = settings.number("streams.assignment.interval.ms")
        if group.assigned_ms and now_ms() < group.assigned_ms + interval_ms:
            detail = "Assignment delayed due to the configured assignment interval."
            status.append(Problem(Status.ASSIGNMENT_DELAYED, detail))
            return False
        self._assign_now(group)
        return True

    def _assign_now(self, group: StreamsGroup) -> None:
        configured = group.configured
        if configured is None or not configured.is_ready:
            group.target = {member_id: MemberTasks() for member_id in group.members}
        else:
            group.target = assign(
                {
                    member.member_id: Candidate(
                        member.process_id, group.target.get(member.member_id, MemberTasks())
                    )
                    for member in group.members.values()
                },
                {
                    name: TaskKind(part.task_count, part.is_stateful)
                    for name, part in configured.subtopologies.items()
                },
                int(group.assignment_settings[STANDBY_SETTING]),
            )
        group.assignment_epoch, group.assigned_ms = group.epoch, now_ms()

    def _end_delay(self, group: StreamsGroup) -> None:
        group.delay_timer = None
        if group.is_empty or group.configured is None or group.epoch <= group.assignment_epoch:
            return
        self._assign_now(group)
        try:
            self.write(group)
        except CoordinatorNotAvailableError as error:
            log_not_written(group.group_id, error)

    def _endpoints(self, group: StreamsGroup) -> list[EndpointPartitions]:
        return [
            EndpointPartitions(
                member.endpoint,
                self._partitions_of(group, member.assigned.active),
                self._partitions_of(group, member.assigned.standby),
            )
            for member in group.members.values()
            if member.endpoint is not None
        ]

    def _partitions_of(self, group: StreamsGroup, tasks: TaskSet) -> dict[str, list[int]]:
        """What tasks read: a topic with fewer partitions than there are tasks is read by the first ones."""
        found: dict[str, list[int]] = {}
        configured = group.configured or ConfiguredTopology()
        for name, part in configured.subtopologies.items():
            indexes = sorted(task.partition for task in tasks if task.subtopology_id == name)
            for topic in part.all_source_topics if indexes else ():
                there = self._cluster.topics.get(topic)
                count = 0 if there is None else len(there.partitions)
                found[topic] = indexes[:count] if count < len(indexes) else indexes
        return found

    # Leaving

    def _leave(self, beat: StreamsHeartbeat) -> StreamsAnswer:
        group = self.group(beat.group_id)
        if beat.shuts_down and group.shut_down_by is None:
            group.shut_down_by = beat.member_id
        self.remove(group, group.find(beat.member_id), "leaves")
        return StreamsAnswer(beat.member_id, beat.member_epoch)

    # Time

    def _watch_rebalance(self, group: StreamsGroup, member: StreamsMember, *, goes_on: bool = True) -> None:
        """A member has its rebalance_timeout_ms, in each epoch, to give up what it is to."""
        is_late = member.state is TaskReconciliation.UNREVOKED_TASKS
        if goes_on or not is_late:
            stop_timer(member.rebalance_timer)
            member.rebalance_timer = None
        if is_late and member.rebalance_timer is None:
            timeout_ms = member.rebalance_timeout_ms
            member.rebalance_timer = self.later(
                timeout_ms,
                lambda: self.expel(group, member, f"did not give up its tasks within {timeout_ms} ms"),
            )


def _take_in(member: StreamsMember, beat: StreamsHeartbeat) -> bool:
    """Whether the member says something else than before."""
    before = member.description
    member.client_id, member.client_host = beat.client_id, beat.client_host
    if beat.rack_id is not None:
        member.rack_id = beat.rack_id
    if beat.rebalance_timeout_ms >= 0:
        member.rebalance_timeout_ms = beat.rebalance_timeout_ms
    if beat.topology is not None:
        member.topology_epoch = beat.topology.epoch
    if beat.process_id is not None:
        member.process_id = beat.process_id
    if beat.endpoint is not None:
        member.endpoint = beat.endpoint
    if beat.client_tags is not None:
        member.client_tags = dict(beat.client_tags)
    return member.description != before


def _staleness(group: StreamsGroup, member: StreamsMember) -> list[Problem]:
    if group.topology is None or member.topology_epoch >= group.topology.epoch:
        return []
    detail = (
        f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch "
        f"{group.topology.epoch}."
    )
    return [Problem(Status.STALE_TOPOLOGY, detail)]


def _check_tasks(configured: ConfiguredTopology, owned: MemberTasks) -> None:
    """Raises: InvalidRequestError."""
    for name, index in sorted(owned.any_role):
        part = configured.subtopologies.get(name)
        if part is None:
            raise InvalidRequestError(f"Subtopology {name} does not exist in the topology.")
        if not 0 <= index < part.task_count:
            raise InvalidRequestError(
                f"Task {index} for subtopology {name} is invalid. Number of tasks for this subtopology: "
                f"{part.task_count}"
            )
