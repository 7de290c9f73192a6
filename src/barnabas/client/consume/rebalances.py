"""How a consumer's partitions change hands: with its group, or with the partitions of its topics.

Owns the membership, the order of commits and callbacks while partitions change hands, and whether records
may be taken meanwhile. Everything here runs on the event loop unless it says otherwise. Must not know how
callbacks are run, nor what is fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.consume.fetch_buffer import FetchBuffer
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.client.groups.consumer_group import ConsumerProtocolMembership
from barnabas.client.groups.group_observer import GroupObserver
from barnabas.client.groups.membership import GroupMembership, GroupMembershipOperation
from barnabas.client.groups.offset_commits import OffsetCommits
from barnabas.client.groups.subscription import ListenerCall, PartitionsCallback, Subscription
from barnabas.clock import CLOCK
from barnabas.errors import BrokerError
from barnabas.settings.table import ConsumerConfig
from barnabas.types import TopicPartition


class Rebalances:
    """Of one consumer. Its callbacks are given one by one, to whoever asks for the `next_call`."""

    def __init__(
        self,
        client: KafkaClient,
        config: ConsumerConfig,
        subscription: Subscription,
        partitions: SubscriptionState,
        buffer: FetchBuffer,
        observer: GroupObserver,
        commits: OffsetCommits,
        *,
        attend: Callable[[], None],
        progress: Callable[[], int],
        knows_topics: Callable[[], bool],
    ) -> None:
        """`attend` is called when `next_call` should be asked. `progress` changes whenever the caller works
        through what a poll gave. `knows_topics`: whether those of a pattern are known."""
        self._client = client
        self._config = config
        self._subscription = subscription
        self._partitions = partitions
        self._buffer = buffer
        self._observer = observer
        self._commits = commits
        self._attend = attend
        self._progress = progress
        self._knows_topics = knows_topics
        self._steps: AsyncGenerator[ListenerCall | None] | None = None
        self._is_giving_up = False
        self.is_holding = False
        """While partitions are about to change hands nothing may be taken, so that what was committed stays
        what was returned."""
        self.group: GroupMembership | None = None
        if config.group_id is not None:
            self.group = self._make_group(config.group_id)

    @property
    def is_rejoining(self) -> bool:
        """Whether an answer to JoinGroup is under way."""
        return self.group is not None and self.group.phase == "joining"

    @property
    def is_cooperative(self) -> bool:
        """Whether the group moves partitions one by one, and the caller keeps the others meanwhile."""
        return self.group is not None and self._subscription.is_automatic and self.group.is_cooperative

    @property
    def commits_automatically(self) -> bool:
        return self.group is not None and self._config.enable_auto_commit

    # What is due

    async def next_call(self) -> ListenerCall | None:
        """The next callback that is due; None when there is none at present."""
        goes_on = self._steps is not None
        call = await self._next_step(self._rebalance)
        if goes_on and self._steps is None:
            # What has changed since these steps began, they may have passed by.
            call = await self._next_step(self._rebalance)
        return call

    async def next_call_of_giving_up(
        self, reason: str, *, commit: bool, timeout_ms: float, operation: GroupMembershipOperation
    ) -> ListenerCall | None:
        """Like `next_call`, on the way out of the group: None when nothing is assigned any more."""
        if not self._is_giving_up:
            self._is_giving_up = True
            self._steps = None
        call = await self._next_step(
            lambda: self._give_up_all(reason, commit=commit, timeout_ms=timeout_ms, operation=operation)
        )
        self._is_giving_up = call is not None
        return call

    async def _next_step(
        self, begin: Callable[[], AsyncGenerator[ListenerCall | None]]
    ) -> ListenerCall | None:
        if self._steps is None:
            self._steps = begin()
        try:
            call = await anext(self._steps)
        except StopAsyncIteration:
            self._steps = None
            return None
        except BaseException:
            self._steps = None
            self.is_holding = False
            raise
        return call

    async def _rebalance(self) -> AsyncGenerator[ListenerCall | None]:
        """Callbacks that are due, in order; None where the caller has to come back later."""
        if not self._subscription.is_automatic:
            return
        group = self.group
        if group is None:
            for call in self._take_all_partitions():
                yield call
            return
        if group.is_lost:
            group.is_lost = False
            lost = self._partitions.assignment
            self._observer.lost(lost)
            listener = self._subscription.listener
            for call in self._calls(listener.on_lost or listener.on_revoked, lost):
                yield call
            self._partitions.remove(lost)
        if group.phase == "assigned":
            assigned = group.take_assignment()
            owned = self._partitions.assignment
            revoked = sorted(set(owned) - set(assigned))
            if revoked:
                async for step in self._revoke(revoked):
                    yield step
            if self._is_gone(group):
                self._attend()
                return
            added = sorted(set(assigned) - set(owned))
            self._partitions.add(added)
            self._observer.assigned(added)
            group.assignment_taken(self._partitions.assignment, revoked)
            if self._subscription.listener.on_assigned is not None:
                yield ListenerCall(self._subscription.listener.on_assigned, added)
        if group.needs_join and group.phase != "joining" and self._knows_topics():
            owned = self._partitions.assignment
            kept: list[TopicPartition] = []
            if group.is_cooperative:
                kept = [p for p in owned if self._subscription.takes(p.topic)]
            revoked = sorted(set(owned) - set(kept))
            if revoked:
                async for step in self._revoke(revoked):
                    yield step
            if self._is_gone(group):
                self._attend()
                return
            self._observer.joins()
            group.start_join(self._subscription, kept)

    def _is_gone(self, group: GroupMembership) -> bool:
        """Whether membership ended while callbacks ran."""
        return group.is_lost or group is not self.group

    def _take_all_partitions(self) -> list[ListenerCall]:
        """Without a group a subscription means every partition of its topics."""
        metadata, listener = self._client.metadata, self._subscription.listener
        wanted = [
            TopicPartition(topic, info.partition)
            for topic in sorted(self._subscription.topics)
            for info in metadata.partitions_for(topic)
        ]
        owned = self._partitions.assignment
        added = [p for p in wanted if p not in owned]
        removed = [p for p in owned if p.topic not in self._subscription.topics]
        calls = self._calls(listener.on_revoked, removed) + self._calls(listener.on_assigned, added)
        self._partitions.remove(removed)
        if added:
            self._partitions.add(added)
        return calls

    async def _revoke(self, partitions: list[TopicPartition]) -> AsyncGenerator[ListenerCall | None]:
        """Commits what was returned, tells the caller, and forgets the partitions."""
        self.is_holding = True
        try:
            if self.commits_automatically:
                timeout_ms = self._config.default_api_timeout_ms
                commit = self._commit_positions(timeout_ms)
                commit.add_done_callback(lambda _: self._attend())
                while not commit.done():
                    yield None
            self._observer.revoked(partitions)
            for call in self._calls(self._subscription.listener.on_revoked, partitions):
                yield call
            self._partitions.remove(partitions)
        finally:
            self.is_holding = False

    async def _give_up_all(
        self, reason: str, *, commit: bool, timeout_ms: float, operation: GroupMembershipOperation
    ) -> AsyncGenerator[ListenerCall | None]:
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        group = self.group
        self.is_holding = True
        try:
            if commit and self.commits_automatically:
                await asyncio.wait([self._commit_positions(timeout_ms)])
            await self._commits.wait(max(0, deadline - CLOCK.monotonic()) * 1000)
            if self._subscription.is_automatic and group is not None:
                listener = self._subscription.listener
                if gone := self._partitions.assignment:
                    (self._observer.lost if group.is_lost else self._observer.revoked)(gone)
                on_gone = (listener.on_lost if group.is_lost else None) or listener.on_revoked
                for call in self._calls(on_gone, self._partitions.assignment):
                    yield call
                remaining_ms = max(0, deadline - CLOCK.monotonic()) * 1000
                await group.leave(reason, remaining_ms, operation)
            self._partitions.remove(self._partitions.assignment)
            self._subscription.clear()
        finally:
            self.is_holding = False

    def _calls(
        self, callback: PartitionsCallback | None, partitions: list[TopicPartition]
    ) -> list[ListenerCall]:
        return [ListenerCall(callback, partitions)] if callback is not None and partitions else []

    def _commit_positions(self, timeout_ms: float) -> asyncio.Task[None]:
        """Of partitions that are given up then."""
        topic_ids, positions = self._partitions.topic_ids(), self._partitions.positions()
        return self._commits.start(positions, timeout_ms, topic_ids=topic_ids, is_last=True)

    # The membership

    def _make_group(self, group_id: str) -> GroupMembership:
        if self._config.group_protocol == "classic":
            return self._make_classic_group(group_id)
        is_auto = self._config.group_protocol == "auto"
        return ConsumerProtocolMembership(
            self._client,
            self._config,
            group_id,
            on_change=self._group_changed,
            on_error=self._partitions.failures.raise_later,
            progress=self._progress,
            on_unsupported=self._use_classic_protocol if is_auto else None,
        )

    def _make_classic_group(self, group_id: str) -> GroupMembership:
        # Here and not above: a Kafka of today needs it only where a program asks for it.
        from barnabas.client.groups.classic_group import ClassicMembership

        return ClassicMembership(
            self._client,
            self._config,
            group_id,
            on_change=self._group_changed,
            on_error=self._partitions.failures.raise_later,
            progress=self._progress,
        )

    def _use_classic_protocol(self) -> None:
        """The cluster or the group does not take the consumer protocol."""
        assert self.group is not None
        self.group = self._make_classic_group(self.group.group_id)
        if self._subscription.broker_pattern is not None:
            self._subscription.match_here()
            self._client.track_topics(None)
            self._client.request_metadata_update()
        self.group.request_join()

    def commit_refused(self, error: BrokerError) -> None:
        if self.group is not None:
            self.group.commit_refused(error)

    def _group_changed(self) -> None:
        group = self.group
        if group is not None and group.is_overdue:
            self._buffer.is_held = True
            if group.polls.overdue_in_ms() > 0:
                # A poll began meanwhile, and may not have seen it.
                self.release(group)
            else:
                self._join_without_caller(group)
        self._attend()

    def _join_without_caller(self, group: GroupMembership) -> None:
        """A caller that is overdue does not keep the group waiting where it can keep all that it has."""
        if (
            group.needs_join
            and group.phase == "member"
            and not group.is_lost
            and group.is_cooperative
            and self._steps is None
            and self._knows_topics()
            and all(self._subscription.takes(p.topic) for p in self._partitions.assignment)
        ):
            self._observer.joins()
            group.start_join(self._subscription, self._partitions.assignment)

    def release(self, group: GroupMembership) -> None:
        """The caller of a group that it kept waiting polls again. Any thread."""
        group.is_overdue = False
        self._buffer.release()
