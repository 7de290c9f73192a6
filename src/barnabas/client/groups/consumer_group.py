"""Membership in a consumer group by the consumer protocol (KIP-848): the heartbeat that joins, keeps, leaves.

Owns when heartbeats go out, and the names behind the topic ids that the coordinator assigns. What a heartbeat
says is `consumer_group_state`'s. Knows nothing of positions or records.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from barnabas.broker_errors import GroupIdNotFoundError, UnsupportedVersionError
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.groups.consumer_group_state import (
    LEAVE_EPOCH,
    LEAVE_FOR_A_WHILE_EPOCH,
    REGEX_VERSION,
    MemberState,
    PartitionIds,
)
from barnabas.client.groups.group_coordinator import (
    Patience,
    names_of_topics,
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
    KafkaConnectionError,
    KafkaTimeoutError,
    NoCommonVersionError,
)
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from barnabas.settings.table import ConsumerConfig
from barnabas.steps import GroupAssigned, GroupJoined, HeartbeatSent
from barnabas.types import GroupIdentity, TopicPartition

logger = logging.getLogger("barnabas.client")

_NOT_OFFERED = "the brokers do not offer the consumer protocol: set group_protocol to 'auto' or 'classic'"


class ConsumerProtocolMembership(GroupMembership):
    """A member that its coordinator gives its partitions. A rebalance stops nobody but those whose partitions
    move, and those only for these partitions."""

    def __init__(
        self,
        client: KafkaClient,
        config: ConsumerConfig,
        group_id: str,
        *,
        on_change: Callable[[], None],
        on_error: Callable[[BarnabasError], None],
        progress: Callable[[], int],
        on_unsupported: Callable[[], None] | None = None,
    ) -> None:
        """`on_unsupported` is called, in place of an error, when the cluster or the group does not take this
        protocol (group_protocol=auto)."""
        super().__init__(client, config, group_id, on_change=on_change, on_error=on_error, progress=progress)
        self._on_unsupported = on_unsupported
        self._state = MemberState(
            group_id,
            config.group_instance_id,
            config.client_rack,
            config.max_poll_interval_ms,
            config.group_remote_assignor,
        )
        self._topic_ids: dict[str, uuid.UUID] = {}
        self._complaints = 0
        """Heartbeats in a row that were answered with an error that leaves this a member."""
        self._wake = asyncio.Event()

    @property
    def is_cooperative(self) -> bool:
        return True

    @property
    def identity(self) -> GroupIdentity:
        state = self._state
        if not state.is_member:
            return GroupIdentity(self.group_id, group_instance_id=state.group_instance_id)
        return GroupIdentity(self.group_id, state.epoch, state.member_id, state.group_instance_id)

    # Joining

    def start_join(self, subscription: Subscription, owned: Sequence[TopicPartition]) -> None:
        self.needs_join = False
        self._state.subscribe(subscription.topics, subscription.broker_pattern)
        self._state.own(self._by_id(owned))
        if not self._state.is_member:
            self.phase = "joining"
        self._stay()
        self._wake.set()

    def assignment_taken(self, owned: Sequence[TopicPartition], revoked: Sequence[TopicPartition]) -> None:
        self._state.own(self._by_id(owned))
        self._state.acknowledge()
        self._wake.set()

    def _by_id(self, partitions: Iterable[TopicPartition]) -> PartitionIds:
        by_id: defaultdict[uuid.UUID, set[int]] = defaultdict(set)
        for topic, number in partitions:
            if topic in self._topic_ids:
                by_id[self._topic_ids[topic]].add(number)
        return {topic_id: frozenset(numbers) for topic_id, numbers in by_id.items()}

    # Heartbeats

    async def _send_heartbeats(self) -> None:
        failures = 0
        is_member = True
        patience = Patience(self._config.default_api_timeout_ms)
        while is_member:
            self._wake.clear()
            try:
                is_member = await self._send_heartbeat()
                failures = 0
                patience.heard()
            except BarnabasError as error:
                if not error.retriable:
                    self._end_with(error)
                    return
                failures += 1
                self._state.unanswered()
                logger.info("heartbeat to group %r failed, will try again: %s", self.group_id, error)
                if isinstance(error, TimeoutError) and self.phase == "joining" and patience.is_over():
                    self._on_error(error)
            except Exception as error:
                logger.exception("a heartbeat to group %r failed", self.group_id)
                self._end_with(
                    BrokenProtocolError(f"a heartbeat to group {self.group_id!r} failed: {error!r}")
                )
                return
            if is_member:
                await self._wait(failures)

    async def _wait(self, failures: int) -> None:
        """Until the next heartbeat is due, or there is something to tell the coordinator."""
        failures = failures or self._complaints
        if failures:
            await asyncio.sleep(self._client.backoff.delay_ms(failures) / 1000)
            return
        wait_ms: float = self._state.heartbeat_interval_ms
        if self._state.target is not None:
            wait_ms = min(wait_ms, self._config.retry_backoff_max_ms)
        elif self._state.has_news:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_ms / 1000):
                await self._wake.wait()

    async def _send_heartbeat(self) -> bool:
        """Whether this is still a member. Raises: a retriable error of the broker or of the way there."""
        state = self._state
        version = await self._version()
        request = state.request(version)
        if request.subscribed_topic_regex and version < REGEX_VERSION:
            raise NoCommonVersionError(
                f"group {self.group_id!r}: a pattern that is a string is matched by the broker, which takes "
                "Kafka 4.0; give re.compile(pattern) to have it matched here"
            )
        steps = self._client.steps
        if steps:
            steps.emit(HeartbeatSent(self.group_id, state.member_id, state.epoch))
        was_member = state.is_member
        response = await send_to_group_coordinator(self._client, self.group_id, request, max_version=version)
        if response.error_code:
            return self._handle(self._error(response))
        self._complaints = 0
        if was_member:
            # Of one that has only just joined, the next heartbeat may be refused at once.
            self._refusals = 0
        is_news = state.answered(request, response)
        if steps and state.is_member and not was_member:
            assignor = self._config.group_remote_assignor or ""
            steps.emit(GroupJoined(self.group_id, state.member_id, state.epoch, assignor))
        if is_news:
            logger.debug("group %r: epoch %d assigns %s", self.group_id, state.epoch, state.target)
        if state.target is not None:
            await self._offer(state.target)
        elif self.phase == "joining":
            self.phase = "member"
        return True

    async def _version(self) -> int:
        """Raises: NoCommonVersionError where the broker is older than the protocol."""
        node_id = await self._client.coordinators.find(GROUP_COORDINATOR, self.group_id)
        try:
            connection = await self._client.connect(node_id)
        except (KafkaConnectionError, KafkaTimeoutError):
            self._client.coordinators.forget(GROUP_COORDINATOR, self.group_id)
            raise
        try:
            return connection.version_of(ConsumerGroupHeartbeatRequest)
        except NoCommonVersionError as error:
            raise NoCommonVersionError(f"group {self.group_id!r}: {error}; {_NOT_OFFERED}") from error

    def _error(self, response: ConsumerGroupHeartbeatResponse) -> BrokerError:
        is_not_offered = response.error_code == ErrorCode.UNSUPPORTED_VERSION
        return error_for(
            response.error_code,
            f"heartbeat to group {self.group_id!r}",
            response.error_message,
            advice=_NOT_OFFERED if is_not_offered else None,
        )

    def _handle(self, error: BrokerError) -> bool:
        """Whether this is still a member. Raises: the error, if it is one to try again after."""
        note_coordinator_error(self._client, self.group_id, error.code)
        self._tell_refused("heartbeat", error)
        remedy = self._state.refused(error)
        if remedy == "rejoin":
            self._lose(str(error))
            return False
        if remedy == "tell":
            self._complaints += 1
            self._on_error(error)
            return True
        raise error

    def _end_with(self, error: BarnabasError) -> None:
        unsupported = (NoCommonVersionError, UnsupportedVersionError, GroupIdNotFoundError)
        was_member = self._state.is_member
        if self._on_unsupported is not None and not was_member and isinstance(error, unsupported):
            logger.info("group %r takes the classic protocol: %s", self.group_id, error)
            self._on_unsupported()
        elif was_member:
            self._lose_by(error)
        else:
            self._give_up(error)

    # What the coordinator assigns

    async def _offer(self, target: PartitionIds) -> None:
        """Has the consumer take over what is new. Topics whose name is not known yet follow."""
        latest = {name: topic_id for topic_id, name in self._client.metadata.topic_names.items()}
        known = {topic_id: name for name, topic_id in (self._topic_ids | latest).items()}
        names = await names_of_topics(self._client, target, known)
        if self._state.target is not target:
            return
        held = {partition.topic for partition in self._assignment}
        # A topic that was deleted and created again has to be given up before it is taken.
        renewed = {i for i, name in names.items() if name in held and self._topic_ids.get(name) != i}
        for topic_id in renewed:
            del names[topic_id]
        if len(names) == len(target):
            self._state.target = None
        assigned = sorted(
            TopicPartition(names[topic_id], number)
            for topic_id, numbers in target.items()
            if topic_id in names
            for number in numbers
        )
        self._topic_ids |= {name: topic_id for topic_id, name in names.items()}
        if self.phase != "joining" and assigned == self._assignment:
            if self.phase != "assigned":
                self._state.acknowledge()
            return
        self._assignment = assigned
        if self._client.steps:
            member_id, epoch = self._state.member_id, self._state.epoch
            self._client.steps.emit(GroupAssigned(self.group_id, member_id, epoch, tuple(assigned)))
        self.phase = "assigned"
        self._on_change()

    # Ceasing to be a member

    def _forget_membership(self, *, keep_member_id: bool = False) -> None:
        # It keeps its id in any case (KIP-848).
        self._state.forget()
        self._assignment = []

    def _leaving(
        self, reason: str, timeout_ms: float, operation: GroupMembershipOperation
    ) -> Coroutine[Any, Any, object] | None:
        if not self._state.is_member:
            return None
        is_static = self._config.group_instance_id is not None
        epoch = LEAVE_FOR_A_WHILE_EPOCH if is_static and operation != "leave_group" else LEAVE_EPOCH
        request = self._state.leave_request(epoch)
        return send_to_group_coordinator(self._client, self.group_id, request, timeout_ms=timeout_ms)
