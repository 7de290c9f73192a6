"""Membership in a share group (KIP-932): the heartbeat that joins, keeps and leaves, and what it assigns.

Owns when heartbeats go out, and the time between polls. Assignments of share groups overlap and change hands
without ceremony, so there is nothing to give up. Knows nothing of records or acknowledgements.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import uuid
from collections.abc import Callable, Iterable

from barnabas.client.cluster.error_table import NO_MEMBER
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.tasks import Tasks
from barnabas.client.groups.group_coordinator import (
    names_of_topics,
    note_coordinator_error,
    say_goodbye,
    send_to_group_coordinator,
)
from barnabas.client.groups.poll_watch import PollWatch
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import BarnabasError, BrokenProtocolError
from barnabas.events import PollIntervalExceeded
from barnabas.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from barnabas.settings.table import ShareConsumerConfig
from barnabas.steps import GroupAssigned, GroupLeft, HeartbeatSent
from barnabas.types import TopicPartition

logger = logging.getLogger("barnabas.client")

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
FIRST_HEARTBEAT_INTERVAL_MS = 5_000

PartitionIds = dict[uuid.UUID, frozenset[int]]


def new_member_id() -> str:
    """As Kafka writes its own ids: base64, and without a dash in front."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text


class ShareMembership:
    """One member of one share group. All but `polls` belongs to the event loop."""

    def __init__(
        self,
        client: KafkaClient,
        config: ShareConsumerConfig,
        member_id: str,
        *,
        on_assigned: Callable[[], None],
        on_error: Callable[[BarnabasError], None],
    ) -> None:
        """`on_assigned`: `assignment` has changed. `on_error`: the caller has to be told."""
        self.assignment: dict[TopicPartition, uuid.UUID] = {}
        """What the group has given this member, with topic ids."""
        self.rebalances = 0
        """How often the assignment has changed."""
        self._client = client
        self._config = config
        self._member_id = member_id
        self._on_assigned = on_assigned
        self._on_error = on_error
        self._epoch = JOIN_EPOCH
        self._topics: frozenset[str] = frozenset()
        self._told_topics: frozenset[str] | None = None
        self._heartbeat_interval_ms = FIRST_HEARTBEAT_INTERVAL_MS
        self._target: PartitionIds | None = None
        self._refusals = 0
        """Heartbeats in a row that were answered with an error that only the broker's side can mend."""
        self._wake = asyncio.Event()
        self._heartbeats: asyncio.Task[None] | None = None
        self._poll_watch: asyncio.Task[None] | None = None
        self._tasks = Tasks[None]()
        self._goodbyes = Tasks[None]()
        self.polls = PollWatch(config.max_poll_interval_ms)

    def subscribe(self, topics: Iterable[str]) -> None:
        self._topics = frozenset(topics)
        self.keep()
        self._wake.set()

    def keep(self) -> None:
        """Joins again, if membership has ended though there is a subscription."""
        if not self._topics:
            return
        if self._heartbeats is None or self._heartbeats.done():
            self._heartbeats = self._tasks.start_in_background(
                self._send_heartbeats(), self._client, "staying in the group"
            )
        if self._poll_watch is None or self._poll_watch.done():
            self._poll_watch = self._tasks.start_in_background(
                self._watch_polls(), self._client, "watching whether the caller polls"
            )

    def unsubscribe(self) -> None:
        """Leaves without waiting. Whoever subscribes meanwhile joins when that is done."""
        self._topics = frozenset()
        for task in self._tasks:
            task.cancel()
        self._leave_soon()

    async def leave(self, timeout_ms: float) -> None:
        """Ends the membership and the background work. Never raises for what the broker says."""
        await self._tasks.end()
        self._topics = frozenset()
        self._leave_soon(timeout_ms)
        if self._goodbyes:
            await asyncio.wait(self._goodbyes, timeout=timeout_ms / 1000)

    async def end(self) -> None:
        """Ends the background work. The group is not told."""
        await self._tasks.end()
        await self._goodbyes.end()
        self._forget()

    def _leave_soon(self, timeout_ms: float | None = None) -> None:
        """Forgets the membership at once, and tells the group, if this was a member."""
        was_member = self._epoch != JOIN_EPOCH
        self._heartbeats = self._poll_watch = None
        self._forget()
        if not was_member:
            return
        if self._client.steps:
            self._client.steps.emit(GroupLeft(self._config.group_id, self._member_id, "leaving"))
        limit_ms = self._config.request_timeout_ms
        timeout_ms = limit_ms if timeout_ms is None else min(timeout_ms, limit_ms)
        request = ShareGroupHeartbeatRequest(
            group_id=self._config.group_id, member_id=self._member_id, member_epoch=LEAVE_EPOCH
        )
        leaving = send_to_group_coordinator(
            self._client, self._config.group_id, request, timeout_ms=timeout_ms
        )
        self._goodbyes.start_in_background(
            say_goodbye(self._config.group_id, leaving, timeout_ms), self._client, "leaving the group"
        )

    def _forget(self) -> None:
        self._epoch = JOIN_EPOCH
        self._told_topics = None
        self._target = None
        self.assignment = {}
        self._on_assigned()

    async def _watch_polls(self) -> None:
        await self.polls.until_overdue()
        if self._heartbeats is None or self._heartbeats.done():
            return
        logger.warning(
            "share group %r: no poll for max_poll_interval_ms (%d ms), so this member leaves the group until "
            "the next one; poll more often, or raise max_poll_interval_ms",
            self._config.group_id,
            self._config.max_poll_interval_ms,
        )
        self._client.events.emit(
            PollIntervalExceeded(
                self._config.client_id,
                self._config.group_id,
                self._config.max_poll_interval_ms,
                round(-self.polls.overdue_in_ms()),
            )
        )
        self._heartbeats.cancel()
        self._leave_soon()

    # Heartbeats

    async def _send_heartbeats(self) -> None:
        group_id = self._config.group_id
        failures = 0
        if self._goodbyes:
            # It would take us for the member that has joined since.
            await asyncio.wait(self._goodbyes)
        while True:
            self._wake.clear()
            try:
                await self._send_heartbeat()
                failures = 0
            except BarnabasError as error:
                if not error.retriable:
                    # Its cause may go away.
                    self._forget()
                    self._on_error(error)
                failures += 1
                # Whether the coordinator heard of the subscription is not known.
                self._told_topics = None
                logger.info("heartbeat to share group %r failed, will try again: %s", group_id, error)
            except Exception as error:
                logger.exception("a heartbeat to share group %r failed", group_id)
                self._forget()
                self._on_error(BrokenProtocolError(f"a heartbeat to group {group_id!r} failed: {error!r}"))
                return
            await self._wait(failures)

    async def _wait(self, failures: int) -> None:
        failures = failures or self._refusals
        if failures:
            await asyncio.sleep(self._client.backoff.delay_ms(failures) / 1000)
            return
        if self._epoch == JOIN_EPOCH or self._topics != self._told_topics:
            return
        wait_ms: float = self._heartbeat_interval_ms
        if self._target is not None:
            wait_ms = min(wait_ms, self._config.retry_backoff_max_ms)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_ms / 1000):
                await self._wake.wait()

    async def _send_heartbeat(self) -> None:
        """Raises: BrokerError, and what the way to the coordinator raises."""
        topics = self._topics
        request = ShareGroupHeartbeatRequest(
            group_id=self._config.group_id,
            member_id=self._member_id,
            member_epoch=self._epoch,
            rack_id=self._config.client_rack if self._told_topics is None else None,
            subscribed_topic_names=None if topics == self._told_topics else sorted(topics),
        )
        steps = self._client.steps
        if steps:
            steps.emit(HeartbeatSent(self._config.group_id, self._member_id, self._epoch))
        response = await send_to_group_coordinator(self._client, self._config.group_id, request)
        if response.error_code:
            self._handle(response)
            return
        if self._epoch != JOIN_EPOCH:
            # Of one that has only just joined, the next heartbeat may be refused at once.
            self._refusals = 0
        self._told_topics = topics
        self._epoch = response.member_epoch
        if response.heartbeat_interval_ms > 0:
            self._heartbeat_interval_ms = response.heartbeat_interval_ms
        if response.assignment is not None:
            self._target = {t.topic_id: frozenset(t.partitions) for t in response.assignment.topic_partitions}
        if self._target is not None:
            await self._take_over(self._target)

    def _handle(self, response: ShareGroupHeartbeatResponse) -> None:
        """Raises: the error, unless the next heartbeat deals with it."""
        code, group_id = response.error_code, self._config.group_id
        error = error_for(code, f"heartbeat to share group {group_id!r}", response.error_message)
        note_coordinator_error(self._client, group_id, code)
        if code in NO_MEMBER:
            logger.info("share group %r: joining again: %s", group_id, error)
            self._forget()
            self._refusals += 1
        elif code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            # It may be granted yet.
            self._refusals += 1
            self._on_error(error)
        else:
            raise error

    # What the coordinator assigns

    async def _take_over(self, target: PartitionIds) -> None:
        """Topics whose name is not known yet follow with a later heartbeat."""
        names = await names_of_topics(self._client, target, self._client.metadata.topic_names)
        if len(names) == len(target):
            self._target = None
        before = self.assignment
        self.assignment = {
            TopicPartition(names[topic_id], index): topic_id
            for topic_id, indexes in target.items()
            if topic_id in names
            for index in sorted(indexes)
        }
        if self.assignment != before:
            self.rebalances += 1
            if self._client.steps:
                assigned = (self._member_id, self._epoch, tuple(self.assignment))
                self._client.steps.emit(GroupAssigned(self._config.group_id, *assigned))
        logger.debug("share group %r assigns %s", self._config.group_id, list(self.assignment))
        self._on_assigned()
