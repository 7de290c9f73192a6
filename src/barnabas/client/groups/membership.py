"""What a consumer needs of its membership in a group, whichever protocol keeps it.

Owns the phase of the membership and the watch over the time between polls (`max_poll_interval_ms`). The
consumer decides when to join and when to take partitions over, since that is when callbacks run; joining
itself and the heartbeats go on in the background, whether or not the caller polls. Must not know positions,
records, or the requests of either protocol: `classic_group` and `consumer_group` know those.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

from barnabas.broker_errors import FencedInstanceIdError
from barnabas.client.cluster.error_table import NO_MEMBER
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.tasks import Tasks
from barnabas.client.groups.group_coordinator import say_goodbye
from barnabas.client.groups.poll_watch import PollWatch
from barnabas.client.groups.subscription import Subscription
from barnabas.error_codes import ErrorCode
from barnabas.errors import BarnabasError, BrokerError
from barnabas.events import PollIntervalExceeded
from barnabas.settings.table import ConsumerConfig
from barnabas.steps import GroupLeft, GroupRefused, MemberPhaseChanged, RejoinRequested
from barnabas.types import GroupIdentity, TopicPartition

logger = logging.getLogger("barnabas.client")

Phase = Literal["outside", "joining", "assigned", "member"]
"""`assigned`: the group has given this member partitions that the consumer has not taken over yet."""

GroupMembershipOperation = Literal["default", "leave_group", "remain_in_group"]
"""What becomes of the membership when a consumer closes (KIP-1092). `default`: a static member remains, any
other leaves."""


class GroupMembership(ABC):
    """One member of one group. All but `polls` belongs to the event loop."""

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
        """`on_change`: the consumer has something to do (see `is_lost`, `needs_join`, `is_overdue`, `phase`).
        `on_error`: the caller has to be told. `progress` changes whenever the caller works through what a
        poll gave."""
        self.group_id = group_id
        self._phase: Phase = "outside"
        self.needs_join = False
        self.is_lost = False
        """Membership ended without our doing; the partitions may be another member's already."""
        self.is_overdue = False
        """The caller has not polled within max_poll_interval_ms, and the member stays ("pause")."""
        self._join_reason = ""
        self._refusals = 0
        self._identity_before: GroupIdentity | None = None
        """How often in a row the group has refused this member, or ended its membership."""
        self._fenced_by: FencedInstanceIdError | None = None
        """Another member has taken over this one's group_instance_id: nothing ends that."""
        self._pause: asyncio.Task[None] | None = None
        """Before this member tries again to join."""
        self._client = client
        self._config = config
        self._on_change = on_change
        self._on_error = on_error
        self.polls = PollWatch(config.max_poll_interval_ms, progress)
        self._assignment: list[TopicPartition] = []
        self._tasks = Tasks[None]()
        self._heartbeats: asyncio.Task[None] | None = None
        self._poll_watch: asyncio.Task[None] | None = None

    @property
    def phase(self) -> Phase:
        return self._phase

    @phase.setter
    def phase(self, phase: Phase) -> None:
        if self._client.steps and phase != self._phase:
            self._client.steps.emit(MemberPhaseChanged(self.group_id, self._phase, phase))
        self._phase = phase

    @property
    @abstractmethod
    def is_cooperative(self) -> bool:
        """Whether members keep their partitions during a rebalance (KIP-429, KIP-848)."""

    @property
    @abstractmethod
    def identity(self) -> GroupIdentity:
        """What a commit of this member is signed with; that of a stranger while it is none."""

    @abstractmethod
    def start_join(self, subscription: Subscription, owned: Sequence[TopicPartition]) -> None:
        """Joins in the background, as the owner of these partitions, or tells the group of a subscription
        that has changed. `phase` tells when it is done."""

    def take_assignment(self) -> list[TopicPartition]:
        """The partitions that the group gave this member; to be called once in phase `assigned`."""
        self.phase = "member"
        return self._assignment

    @abstractmethod
    def assignment_taken(self, owned: Sequence[TopicPartition], revoked: Sequence[TopicPartition]) -> None:
        """The consumer has given up `revoked` for the assignment that it took, and now owns `owned`."""

    @abstractmethod
    async def _send_heartbeats(self) -> None:
        """Keeps the membership until it ends."""

    @abstractmethod
    def _leaving(
        self, reason: str, timeout_ms: float, operation: GroupMembershipOperation
    ) -> Coroutine[Any, Any, object] | None:
        """Tells the group, when awaited, that who is a member now goes. None if there is nothing to tell, as
        `operation` has it."""

    @property
    def last_identity(self) -> GroupIdentity:
        """`identity`, or while that is a stranger's, that of the membership that ended last. By it a
        transaction with records that were read then is refused (KIP-447); a stranger's offsets are taken."""
        identity = self.identity
        return self._identity_before if self._identity_before and not identity.member_id else identity

    def _end_membership(self, *, keep_member_id: bool = False) -> None:
        """See `_forget_membership`."""
        identity = self.identity
        if identity.member_id:
            self._identity_before = identity
        self._forget_membership(keep_member_id=keep_member_id)

    @abstractmethod
    def _forget_membership(self, *, keep_member_id: bool = False) -> None:
        """What is remembered of the group has no meaning any more. `keep_member_id`: but for who this member
        is, which the group may still know."""

    def request_join(self, reason: str = "") -> None:
        """The subscription or the cluster has changed: the consumer should join again. `reason`: for the
        broker's log."""
        if self._fenced_by is not None:
            self._on_error(self._fenced_by)
        elif not self.needs_join:
            if self._client.steps:
                self._client.steps.emit(RejoinRequested(self.group_id, reason))
            self.needs_join = True
            self._join_reason = reason
            self._on_change()

    def commit_refused(self, error: BrokerError) -> None:
        """The coordinator has refused a commit of this member as it is now. That may tell of a rebalance
        earlier than the next heartbeat does; until the member knows, it returns records of partitions that
        are another's."""
        if self.phase not in ("assigned", "member"):
            return
        if error.code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.request_join("a commit was refused since the group rebalances")
        elif error.code in NO_MEMBER:
            self._lose(str(error))

    # Staying a member

    def _stay(self) -> None:
        """Has heartbeats sent, and the caller's polls watched."""
        if self._heartbeats is None or self._heartbeats.done():
            self._heartbeats = self._tasks.start_in_background(
                self._send_heartbeats(), self._client, "staying in the group"
            )
        if self._poll_watch is None or self._poll_watch.done():
            self._poll_watch = self._tasks.start_in_background(
                self._watch_polls(), self._client, "watching whether the caller polls"
            )

    async def _watch_polls(self) -> None:
        """Leaves the group when the caller is overdue. With max_poll_interval_action="pause" this member
        stays, and the consumer is told."""
        while True:
            await self.polls.until_overdue()
            if self.phase == "outside":
                return
            if self._config.max_poll_interval_action == "leave":
                await self._leave_overdue()
                return
            logger.info(
                "group %r: no poll for max_poll_interval_ms (%d ms); nothing is fetched until the next one",
                self.group_id,
                self._config.max_poll_interval_ms,
            )
            self.is_overdue = True
            self._on_change()
            await self.polls.until_back()

    async def _leave_overdue(self) -> None:
        limit_ms = self._config.max_poll_interval_ms
        if not self._client.events.are_logged:
            logger.warning(
                "group %r: no poll for max_poll_interval_ms (%d ms), so this member leaves the group; poll "
                "more often, take fewer records a poll (max_poll_records), raise max_poll_interval_ms, or "
                "set max_poll_interval_action to 'pause'",
                self.group_id,
                limit_ms,
            )
        overdue_ms = round(-self.polls.overdue_in_ms())
        self._client.events.emit(
            PollIntervalExceeded(self._config.client_id, self.group_id, limit_ms, overdue_ms)
        )
        reason = "no poll within max_poll_interval_ms"
        timeout_ms = self._config.request_timeout_ms
        leaving = self._leaving(reason, timeout_ms, "default")
        # Before the coordinator answers: it may give the partitions to others as soon as it hears of it.
        self._lose(reason)
        if leaving is not None:
            await say_goodbye(self.group_id, leaving, timeout_ms)

    # Ceasing to be a member

    def _lose(self, reason: str, *, keep_member_id: bool = False) -> None:
        logger.info("group %r: membership lost: %s", self.group_id, reason)
        self._tell_left(reason)
        self._tasks.cancel_others()
        self._heartbeats = self._poll_watch = None
        self._end_membership(keep_member_id=keep_member_id)
        self.phase = "outside"
        self.is_lost = True
        self._join_reason = reason
        # Once at once: most memberships that end are wanted back.
        self._join_after(self._client.backoff.delay_ms(self._refusals))
        self._refusals += 1
        self._on_change()

    def _lose_by(self, error: BarnabasError) -> None:
        """Membership is lost by what the caller has to know: the next poll raises it."""
        self._note_fencing(error)
        # Under a new id a static member would fence another one that took its place meanwhile.
        self._lose(str(error), keep_member_id=True)
        self._on_error(error)

    def _give_up(self, error: BarnabasError) -> None:
        """The group does not take this member: the next poll raises the error. Its cause may go away, so this
        joins again at back-off's pace."""
        self._note_fencing(error)
        self._end_membership(keep_member_id=True)
        self.phase = "outside"
        self._refusals += 1
        self._join_after(self._client.backoff.delay_ms(self._refusals))
        self._on_error(error)

    def _note_fencing(self, error: BarnabasError) -> None:
        if isinstance(error, FencedInstanceIdError):
            self._fenced_by = error

    def _join_after(self, delay_ms: float) -> None:
        """Never for a fenced member: it would fence the one that has taken its place (KIP-345)."""
        if self._pause is not None:
            self._pause.cancel()
        self.needs_join = self._fenced_by is None and delay_ms == 0
        if self._fenced_by is None and delay_ms:
            self._pause = self._tasks.start_in_background(
                self._pause_and_join(delay_ms), self._client, "waiting to join the group"
            )

    async def _pause_and_join(self, delay_ms: float) -> None:
        await asyncio.sleep(delay_ms / 1000)
        if self.phase == "outside" and not self.needs_join:
            self.needs_join = True
            self._on_change()

    async def leave(
        self, reason: str, timeout_ms: float, operation: GroupMembershipOperation = "default"
    ) -> None:
        """Ends the membership. A static member stays in the group, to find its partitions when it is back
        within the session's time-out (KIP-345), unless `operation` says otherwise."""
        await self._tasks.end()
        self._tell_left(reason)
        if operation != "remain_in_group" or self._config.group_instance_id is not None:
            # One request, which nobody waits for longer than for any other, however long closing may take.
            timeout_ms = min(timeout_ms, self._config.request_timeout_ms)
            leaving = self._leaving(reason, timeout_ms, operation)
            if leaving is not None:
                await say_goodbye(self.group_id, leaving, timeout_ms)
        self._end_membership()
        self.phase = "outside"
        self.needs_join = False
        self.is_lost = False

    def _tell_left(self, reason: str) -> None:
        if self._client.steps:
            identity = self.identity
            self._client.steps.emit(GroupLeft(self.group_id, identity.member_id, reason))

    def _tell_refused(self, action: str, error: BarnabasError) -> None:
        if self._client.steps:
            self._client.steps.emit(GroupRefused(self.group_id, action, error))

    async def close(self) -> None:
        """Ends the background work without telling the group."""
        await self._tasks.end()
