"""Membership in a consumer group by the classic protocol: join, sync, heartbeat, leave.

Owns the member's identity and the requests that keep it. The consumer decides when to join, since that is
when partitions change hands and callbacks run; joining itself and the heartbeats go on in the background,
whether or not the caller polls. Knows nothing of positions or records.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.assignors import ASSIGNORS, NO_GENERATION, Assignor, GroupMember
from barnabas.client.client import GROUP_COORDINATOR, HIGHEST_CONNECTION_ID, KafkaClient
from barnabas.client.connections import ConnectionPool
from barnabas.client.metadata import ClusterMetadata
from barnabas.client.offsets import GroupIdentity, note_coordinator_error, send_to_group_coordinator
from barnabas.config import ConsumerConfig
from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    BrokerError,
    KafkaConnectionError,
    KafkaTimeoutError,
)
from barnabas.net.connection import Connection
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from barnabas.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.types import TopicPartition

logger = logging.getLogger("barnabas.client")

PROTOCOL_TYPE = "consumer"
SUBSCRIPTION_VERSION = ConsumerProtocolSubscription.VERSIONS[1]
ASSIGNMENT_VERSION = ConsumerProtocolAssignment.VERSIONS[1]
LEAVE_VERSION_WITH_MEMBERS = 3
# A broker answers JoinGroup within the rebalance timeout; the rest is for the way.
JOIN_MARGIN_MS = 5_000

_VERSION = struct.Struct(">h")

Phase = Literal["outside", "joining", "assigned", "member"]
"""`assigned`: the group has settled, but the consumer has not taken its new partitions over yet."""


class GroupMembership:
    """One member of one group (KIP-62, 345, 394, 429). All but `poll_began` and `poll_ended` belongs to the
    event loop."""

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
        """`on_change`: the consumer has something to do (see `is_lost`, `needs_join`, `phase`). `on_error`:
        the caller has to be told. `progress` changes whenever the caller works through what a poll gave."""
        self.group_id = group_id
        self.phase: Phase = "outside"
        self.needs_join = False
        self.is_lost = False
        """Membership ended without our doing; the partitions may be another member's already."""
        self._client = client
        self._config = config
        self._on_change = on_change
        self._on_error = on_error
        self._progress = progress
        self._assignors: list[Assignor] = [ASSIGNORS[name]() for name in config.partition_assignment_strategy]
        self._pool = ConnectionPool(config)
        self._generation = NO_GENERATION
        self._member_id = ""
        self._assignment: list[TopicPartition] = []
        self._owned_before: tuple[list[TopicPartition], int] = ([], NO_GENERATION)
        """What the last assignment was and in which generation, for the sticky assignors."""
        self._led_counts: dict[str, int] | None = None
        """As leader: the partition counts that the present assignment was made from."""
        self._join_task: asyncio.Task[None] | None = None
        self._heartbeat_task: asyncio.Task[None] | None = None
        self._polled_at = time.monotonic()
        self._is_polling = False
        self._last_progress = 0
        client.add_metadata_listener(self._on_metadata)

    @property
    def is_cooperative(self) -> bool:
        """Whether members keep their partitions during a rebalance (KIP-429): if every assignor can do it."""
        return all(assignor.cooperative for assignor in self._assignors)

    @property
    def identity(self) -> GroupIdentity:
        """What a commit of this member is signed with; that of a stranger while it is none."""
        if self._generation == NO_GENERATION:
            return GroupIdentity(self.group_id, group_instance_id=self._config.group_instance_id)
        return GroupIdentity(self.group_id, self._generation, self._member_id, self._config.group_instance_id)

    def poll_began(self) -> None:
        self._is_polling = True

    def poll_ended(self) -> None:
        self._polled_at = time.monotonic()
        self._is_polling = False

    def request_join(self) -> None:
        """The subscription or the cluster has changed: the consumer should join again."""
        if not self.needs_join:
            self.needs_join = True
            self._on_change()

    # Joining

    def start_join(self, topics: Iterable[str], owned: Sequence[TopicPartition]) -> None:
        """Joins in the background, as the owner of these partitions. `phase` tells when it is done."""
        self.needs_join = False
        self.phase = "joining"
        self._join_task = asyncio.create_task(self._join(sorted(topics), owned))

    def take_assignment(self) -> list[TopicPartition]:
        """The partitions that the group gave this member; to be called once in phase `assigned`."""
        self.phase = "member"
        return self._assignment

    async def _join(self, topics: list[str], owned: Sequence[TopicPartition]) -> None:
        failures = 0
        while True:
            try:
                assignment = await self._join_once(topics, owned)
            except BrokerError as error:
                note_coordinator_error(self._client, self.group_id, error.code)
                if error.code == ErrorCode.MEMBER_ID_REQUIRED:
                    continue
                if error.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
                    if owned:
                        self._lose(f"{error}")
                        return
                    self._forget_membership(keep_member_id=error.code == ErrorCode.ILLEGAL_GENERATION)
                elif error.code != ErrorCode.REBALANCE_IN_PROGRESS and not error.retriable:
                    self._give_up(error)
                    return
            except BarnabasError as error:
                if not error.retriable:
                    self._give_up(error)
                    return
                logger.info("joining group %r failed, will try again: %s", self.group_id, error)
                self._client.forget_coordinator(GROUP_COORDINATOR, self.group_id)
                if isinstance(error, TimeoutError):
                    self._on_error(error)
            except Exception as error:
                logger.exception("joining group %r failed", self.group_id)
                self._give_up(BrokenProtocolError(f"joining group {self.group_id!r} failed: {error!r}"))
                return
            else:
                self._assignment = assignment
                self._owned_before = (assignment, self._generation)
                self.phase = "assigned"
                self._polled_at = max(self._polled_at, time.monotonic())
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
        connection = await self._join_connection()
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
        if self._heartbeat_task is None or self._heartbeat_task.done():
            self._heartbeat_task = asyncio.create_task(self._send_heartbeats())
        return decode_assignment(sync.assignment)

    async def _join_connection(self) -> Connection:
        """A connection to the coordinator for JoinGroup and SyncGroup alone: it answers nothing else on it
        until all members have joined, and neither commits nor a LeaveGroup may wait for that."""
        connection_id = await self._client.coordinator(GROUP_COORDINATOR, self.group_id)
        try:
            node = self._client.metadata.nodes.get(HIGHEST_CONNECTION_ID - connection_id)
            if node is None:
                return await self._client.connect(connection_id)
            return await self._pool.get(node.node_id, node)
        except (KafkaConnectionError, KafkaTimeoutError):
            self._client.forget_coordinator(GROUP_COORDINATOR, self.group_id)
            raise

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
        assignment = assignor.assign(self._led_counts, members)
        return {member_id: encode_assignment(partitions) for member_id, partitions in assignment.items()}

    def _raise(self, code: int, action: str) -> None:
        if code:
            raise error_for(code, f"{action} group {self.group_id!r}")

    def _give_up(self, error: BarnabasError) -> None:
        """The error does not go away by itself: the next poll raises it, the one after that tries again."""
        self._forget_membership()
        self.phase = "outside"
        self.needs_join = True
        self._on_error(error)

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
            if self._is_overdue():
                await self._leave_overdue()
                return
            if self.phase not in ("assigned", "member"):
                continue
            try:
                await self._send_heartbeat()
                failures = 0
            except BarnabasError as error:
                failures += 1
                logger.info("heartbeat to group %r failed, will try again: %s", self.group_id, error)
            if self._generation == NO_GENERATION:
                return

    async def _send_heartbeat(self) -> None:
        generation = self._generation
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
        note_coordinator_error(self._client, self.group_id, code)
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.request_join()
        elif code in (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID):
            self._lose(str(error))
        elif error.retriable:
            raise error
        else:
            self._lose(str(error))
            self._on_error(error)

    def _is_overdue(self) -> bool:
        progress = self._progress()
        if progress != self._last_progress or self._is_polling:
            self._last_progress = progress
            self._polled_at = time.monotonic()
        return (time.monotonic() - self._polled_at) * 1000 > self._config.max_poll_interval_ms

    async def _leave_overdue(self) -> None:
        limit_ms = self._config.max_poll_interval_ms
        logger.warning(
            "group %r: no poll for max_poll_interval_ms (%d ms), so this member leaves the group; poll more "
            "often, take fewer records a poll (max_poll_records), or raise max_poll_interval_ms",
            self.group_id,
            limit_ms,
        )
        await self._send_leave("no poll within max_poll_interval_ms")
        self._lose("no poll within max_poll_interval_ms")

    # Ceasing to be a member

    def _lose(self, reason: str) -> None:
        logger.info("group %r: membership lost: %s", self.group_id, reason)
        if self._join_task is not None and self._join_task is not asyncio.current_task():
            self._join_task.cancel()
        self._forget_membership()
        self.phase = "outside"
        self.is_lost = True
        self.needs_join = True
        self._on_change()

    def _forget_membership(self, *, keep_member_id: bool = False) -> None:
        self._generation = NO_GENERATION
        self._led_counts = None
        if not keep_member_id:
            self._member_id = ""

    async def close(self) -> None:
        """Ends the background work without telling the group."""
        await self._stop_tasks()
        await self._pool.close()

    async def leave(self, reason: str, timeout_ms: float) -> None:
        """Ends the membership. A static member stays in the group, to find its partitions when it is back
        within session_timeout_ms (KIP-345)."""
        await self._stop_tasks()
        await self._send_leave(reason, timeout_ms)
        self._forget_membership()
        self.phase = "outside"
        self.needs_join = False
        self.is_lost = False

    async def _stop_tasks(self) -> None:
        tasks = [task for task in (self._join_task, self._heartbeat_task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._join_task = self._heartbeat_task = None

    async def _send_leave(self, reason: str, timeout_ms: float | None = None) -> None:
        if not self._member_id or self._config.group_instance_id is not None:
            return
        timeout_ms = self._config.request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                node_id = await self._client.coordinator(GROUP_COORDINATOR, self.group_id)
                connection = await self._client.connect(node_id)
                version = connection.version_of(LeaveGroupRequest)
                request = LeaveGroupRequest(group_id=self.group_id)
                if version >= LEAVE_VERSION_WITH_MEMBERS:
                    member = LeaveGroupRequest.MemberIdentity(member_id=self._member_id, reason=reason)
                    request.members = [member]
                else:
                    request.member_id = self._member_id
                await self._client.send(node_id, request, timeout_ms, max_version=version)
        except (BarnabasError, TimeoutError) as error:
            logger.info("leaving group %r failed, it will notice by itself: %s", self.group_id, error)


def _partition_counts(metadata: ClusterMetadata, topics: Iterable[str]) -> dict[str, int]:
    return {topic: len(metadata.partitions_for(topic)) for topic in topics}


def encode_subscription(
    topics: Sequence[str],
    owned: Iterable[TopicPartition],
    generation: int,
    user_data: bytes | None,
    rack: str | None,
) -> bytes:
    """What a member tells the leader of itself, in the newest version that Java's members read."""
    message = ConsumerProtocolSubscription(
        topics=list(topics),
        user_data=user_data,
        owned_partitions=[
            ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=partitions)
            for topic, partitions in _by_topic(owned).items()
        ],
        generation_id=generation,
        rack_id=rack,
    )
    return _VERSION.pack(SUBSCRIPTION_VERSION) + encode(message, SUBSCRIPTION_VERSION)


def decode_subscription(member_id: str, group_instance_id: str | None, metadata: bytes) -> GroupMember:
    """Raises: BrokenProtocolError."""
    message = decode(ConsumerProtocolSubscription, *_versioned(metadata, SUBSCRIPTION_VERSION))
    return GroupMember(
        member_id,
        tuple(message.topics),
        group_instance_id,
        tuple(TopicPartition(t.topic, p) for t in message.owned_partitions for p in t.partitions),
        message.generation_id,
        None if message.user_data is None else bytes(message.user_data),
    )


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """What the leader tells a member, in the oldest version, which all members read."""
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in _by_topic(partitions).items()
        ]
    )
    return _VERSION.pack(0) + encode(message, 0)


def decode_assignment(assignment: bytes) -> list[TopicPartition]:
    """No bytes mean no partitions: the leader did not know this member. Raises: BrokenProtocolError."""
    if not assignment:
        return []
    message = decode(ConsumerProtocolAssignment, *_versioned(assignment, ASSIGNMENT_VERSION))
    return [TopicPartition(t.topic, p) for t in message.assigned_partitions for p in t.partitions]


def _versioned(data: bytes, newest: int) -> tuple[int, bytes]:
    """A newer version than ours is read as the newest we know: later versions only add fields."""
    if len(data) < _VERSION.size:
        raise BrokenProtocolError("a member's metadata is cut short")
    return max(0, min(_VERSION.unpack_from(data)[0], newest)), data[_VERSION.size :]


def _by_topic(partitions: Iterable[TopicPartition]) -> Mapping[str, list[int]]:
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in sorted(partitions):
        by_topic[topic].append(partition)
    return by_topic
