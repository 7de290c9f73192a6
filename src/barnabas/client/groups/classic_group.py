"""Membership in a consumer group by the classic protocol: join, sync, heartbeat, leave.

Owns the member's identity and the requests that keep it. Knows nothing of positions or records.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from barnabas.assignor import NO_GENERATION, NO_RACKS, Assignor, PartitionRacks
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR
from barnabas.client.cluster.error_table import NO_MEMBER
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.client.groups.assignors import make_assignors
from barnabas.client.groups.classic_messages import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from barnabas.client.groups.group_coordinator import (
    Patience,
    joining_connection,
    leave_group,
    note_coordinator_error,
    send_to_group_coordinator,
)
from barnabas.client.groups.membership import GroupMembership, GroupMembershipOperation
from barnabas.client.groups.subscription import Subscription
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    BrokerError,
)
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.settings.table import ConsumerConfig
from barnabas.steps import GroupAssigned, GroupJoined, GroupJoinSent, HeartbeatSent
from barnabas.types import GroupIdentity, TopicPartition

logger = logging.getLogger("barnabas.client")

PROTOCOL_TYPE = "consumer"
# A broker answers JoinGroup within the rebalance timeout; the rest is for the way.
JOIN_MARGIN_MS = 5_000


class ClassicMembership(GroupMembership):
    """A member that its group's leader gives its partitions (KIP-62, 345, 394, 429)."""

    def __init__(
        self,
        client: KafkaClient,
        config: ConsumerConfig,
        group_id: str,
        *,
        on_change: Callable[[], None],
        on_error: Callable[[BarnabasError], None],
        progress: Callable[[], int],
    ) -> None:
        super().__init__(client, config, group_id, on_change=on_change, on_error=on_error, progress=progress)
        self._assignors = make_assignors(config.partition_assignment_strategy)
        self._pool = client.new_pool()
        self._generation = NO_GENERATION
        self._member_id = ""
        self._owned_before: tuple[list[TopicPartition], int] = ([], NO_GENERATION)
        """What the last assignment was and in which generation, for the sticky assignors."""
        self._led_counts: dict[str, int] | None = None
        """As leader: the partition counts that the present assignment was made from."""
        client.add_metadata_listener(self._on_metadata)

    @property
    def is_cooperative(self) -> bool:
        """If every assignor can do it (KIP-429)."""
        return all(assignor.cooperative for assignor in self._assignors)

    @property
    def identity(self) -> GroupIdentity:
        if self._generation == NO_GENERATION:
            return GroupIdentity(self.group_id, group_instance_id=self._config.group_instance_id)
        return GroupIdentity(self.group_id, self._generation, self._member_id, self._config.group_instance_id)

    # Joining

    def start_join(self, subscription: Subscription, owned: Sequence[TopicPartition]) -> None:
        self.needs_join = False
        self.phase = "joining"
        self._tasks.start_in_background(
            self._join(sorted(subscription.topics), owned), self._client, "joining the group"
        )

    def assignment_taken(self, owned: Sequence[TopicPartition], revoked: Sequence[TopicPartition]) -> None:
        if revoked:
            # KIP-429: they can be given to others when this member has joined without them.
            self.request_join()

    async def _join(self, topics: list[str], owned: Sequence[TopicPartition]) -> None:
        failures = ids_given = 0
        patience = Patience(self._config.default_api_timeout_ms)
        while True:
            try:
                assignment = await self._join_once(topics, owned)
            except BrokerError as error:
                patience.heard()
                self._tell_refused("joining", error)
                note_coordinator_error(self._client, self.group_id, error.code)
                if error.code == ErrorCode.MEMBER_ID_REQUIRED:
                    if not ids_given:
                        ids_given += 1
                        continue
                elif error.code in NO_MEMBER:
                    if owned:
                        self._lose(f"{error}")
                        return
                    self._end_membership(keep_member_id=error.code == ErrorCode.ILLEGAL_GENERATION)
                elif error.code != ErrorCode.REBALANCE_IN_PROGRESS and not error.retriable:
                    if owned:
                        self._lose_by(error)
                    else:
                        self._give_up(error)
                    return
            except BarnabasError as error:
                if not error.retriable:
                    self._give_up(error)
                    return
                logger.info("joining group %r failed, will try again: %s", self.group_id, error)
                self._client.coordinators.forget(GROUP_COORDINATOR, self.group_id)
                if isinstance(error, TimeoutError) and patience.is_over():
                    self._on_error(error)
            except Exception as error:
                logger.exception("joining group %r failed", self.group_id)
                self._give_up(BrokenProtocolError(f"joining group {self.group_id!r} failed: {error!r}"))
                return
            else:
                self._assignment = assignment
                self._owned_before = (assignment, self._generation)
                self._refusals = 0
                self.phase = "assigned"
                self.polls.note_progress()
                self._on_change()
                return
            failures += 1
            await asyncio.sleep(self._client.backoff.delay_ms(failures) / 1000)

    async def _join_once(self, topics: list[str], owned: Sequence[TopicPartition]) -> list[TopicPartition]:
        config = self._config
        owned_before, generation_before = self._owned_before
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=config.session_timeout_ms,
            rebalance_timeout_ms=config.max_poll_interval_ms,
            member_id=self._member_id,
            group_instance_id=config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            reason=self._join_reason or None,
            protocols=[
                JoinGroupRequest.JoinGroupRequestProtocol(
                    name=assignor.name,
                    metadata=encode_subscription(
                        topics,
                        owned,
                        self._generation,
                        assignor.user_data(owned_before, generation_before),
                        config.client_rack,
                    ),
                )
                for assignor in self._assignors
            ],
        )
        connection = await joining_connection(self._client, self._pool, self.group_id)
        steps = self._client.steps
        if steps:
            steps.emit(GroupJoinSent(self.group_id, self._member_id, tuple(topics)))
        timeout_ms = config.max_poll_interval_ms + JOIN_MARGIN_MS
        response = await connection.send(request, timeout_ms=timeout_ms)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = response.member_id
        self._raise(response.error_code, "joining")
        self._member_id = response.member_id
        self._generation = response.generation_id
        assignor = next((a for a in self._assignors if a.name == response.protocol_name), None)
        if assignor is None:
            raise BrokenProtocolError(
                f"group {self.group_id!r} chose assignor {response.protocol_name!r}, which was not offered"
            )
        if steps:
            members = tuple(member.member_id for member in response.members)
            joined = (self._member_id, response.generation_id, assignor.name, response.leader, members)
            steps.emit(GroupJoined(self.group_id, *joined))
        assignments: dict[str, bytes] = {}
        self._led_counts = None
        if response.leader == response.member_id and not response.skip_assignment:
            assignments = await self._lead(assignor, response)
        sync = await connection.send(
            SyncGroupRequest(
                group_id=self.group_id,
                generation_id=response.generation_id,
                member_id=self._member_id,
                group_instance_id=config.group_instance_id,
                protocol_type=PROTOCOL_TYPE,
                protocol_name=assignor.name,
                assignments=[
                    SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                    for member_id, assignment in assignments.items()
                ],
            ),
            timeout_ms=timeout_ms,
        )
        self._raise(sync.error_code, "synchronizing")
        self._stay()
        assignment = decode_assignment(sync.assignment)
        assignor.on_assignment(assignment, response.generation_id)
        if steps:
            steps.emit(
                GroupAssigned(self.group_id, self._member_id, response.generation_id, tuple(assignment))
            )
        return assignment

    async def _lead(self, assignor: Assignor, response: JoinGroupResponse) -> dict[str, bytes]:
        """The encoded assignment of each member."""
        members = [
            decode_subscription(member.member_id, member.group_instance_id, member.metadata)
            for member in response.members
        ]
        topics = {topic for member in members for topic in member.topics}
        if topics - set(self._client.metadata.topics):
            await self._client.refresh_metadata(topics)
        self._led_counts = _partition_counts(self._client.metadata, topics)
        racks = _partition_racks(self._client.metadata, topics) if any(m.rack for m in members) else NO_RACKS
        assignment = assignor.assign(self._led_counts, members, racks)
        return {member_id: encode_assignment(partitions) for member_id, partitions in assignment.items()}

    def _raise(self, code: int, action: str) -> None:
        if code:
            raise error_for(code, f"{action} group {self.group_id!r}")

    def _on_metadata(self, metadata: ClusterMetadata) -> None:
        if self._led_counts is None or self.phase not in ("assigned", "member"):
            return
        if _partition_counts(metadata, self._led_counts) != self._led_counts:
            logger.info("group %r: partitions were added or removed, the group rebalances", self.group_id)
            self._led_counts = None
            self.request_join()

    # Staying a member

    async def _send_heartbeats(self) -> None:
        failures = 0
        while True:
            interval_ms = self._config.heartbeat_interval_ms
            pause_ms = min(self._client.backoff.delay_ms(failures), interval_ms) if failures else interval_ms
            await asyncio.sleep(pause_ms / 1000)
            if self.phase not in ("assigned", "member"):
                continue
            try:
                await self._send_heartbeat()
                failures = 0
            except BarnabasError as error:
                failures += 1
                logger.info("heartbeat to group %r failed, will try again: %s", self.group_id, error)
                if not error.retriable:
                    self._on_error(error)
            if self._generation == NO_GENERATION:
                return

    async def _send_heartbeat(self) -> None:
        generation = self._generation
        if self._client.steps:
            self._client.steps.emit(HeartbeatSent(self.group_id, self._member_id, generation))
        response = await send_to_group_coordinator(
            self._client,
            self.group_id,
            HeartbeatRequest(
                group_id=self.group_id,
                generation_id=generation,
                member_id=self._member_id,
                group_instance_id=self._config.group_instance_id,
            ),
            timeout_ms=self._config.session_timeout_ms,
        )
        code = response.error_code
        if not code or generation != self._generation or self.phase not in ("assigned", "member"):
            return
        error = error_for(code, f"heartbeat to group {self.group_id!r}")
        self._tell_refused("heartbeat", error)
        note_coordinator_error(self._client, self.group_id, code)
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.request_join()
        elif code in NO_MEMBER:
            self._lose(str(error))
        elif code == ErrorCode.FENCED_INSTANCE_ID:
            self._lose_by(error)
        else:
            raise error

    # Ceasing to be a member

    def _forget_membership(self, *, keep_member_id: bool = False) -> None:
        self._generation = NO_GENERATION
        self._led_counts = None
        if not keep_member_id:
            self._member_id = ""

    async def close(self) -> None:
        await super().close()
        await self._pool.close()

    def _leaving(
        self, reason: str, timeout_ms: float, operation: GroupMembershipOperation
    ) -> Coroutine[Any, Any, object] | None:
        instance_id = self._config.group_instance_id
        if not self._member_id or (instance_id is not None and operation != "leave_group"):
            return None
        return leave_group(
            self._client,
            self.group_id,
            LeaveGroupRequest.MemberIdentity(
                member_id=self._member_id, group_instance_id=instance_id, reason=reason
            ),
            timeout_ms,
        )


def _partition_counts(metadata: ClusterMetadata, topics: Iterable[str]) -> dict[str, int]:
    return {topic: len(metadata.partitions_for(topic)) for topic in topics}


def _partition_racks(metadata: ClusterMetadata, topics: Iterable[str]) -> PartitionRacks:
    racks = {node_id: node.rack for node_id, node in metadata.nodes.items()}
    return {
        TopicPartition(topic, info.partition): frozenset(
            rack for node_id in info.replicas if (rack := racks.get(node_id)) is not None
        )
        for topic in topics
        for info in metadata.partitions_for(topic)
    }
