"""The commits of a consumer: one after the other in the order of calls, in the background or waited for.

Owns which refusals a rebalance explains, so that another attempt can help. Knows nothing of fetching, nor of
when to commit.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from uuid import UUID

from barnabas.broker_errors import IllegalGenerationError, RebalanceInProgressError, StaleMemberEpochError
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.tasks import Tasks
from barnabas.client.groups.group_observer import GroupObserver
from barnabas.client.groups.offsets import commit_offsets, membership_error
from barnabas.client.groups.subscription import Subscription
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, BrokerError, KafkaTimeoutError
from barnabas.settings.table import ConsumerConfig
from barnabas.types import GroupIdentity, OffsetAndMetadata, TopicPartition
from barnabas.wording import time_limit

logger = logging.getLogger("barnabas.client")

# Another attempt can help.
_OF_REBALANCES = (StaleMemberEpochError, RebalanceInProgressError, IllegalGenerationError)

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
TopicIds = Mapping[TopicPartition, UUID]
CommitCallback = Callable[[Offsets, BarnabasError | None], None]


class OffsetCommits:
    """Of one consumer, whose group may change its protocol."""

    def __init__(
        self,
        client: KafkaClient,
        config: ConsumerConfig,
        subscription: Subscription,
        observer: GroupObserver,
        *,
        identity: Callable[[], GroupIdentity],
        is_rejoining: Callable[[], bool],
        on_refused: Callable[[BrokerError], None],
        on_finished: Callable[[], None],
    ) -> None:
        """`is_rejoining`: whether an answer to JoinGroup is under way. `on_refused`: the coordinator has
        refused a commit of the member as it is now. `on_finished`: there is a callback to run."""
        self._client = client
        self._config = config
        self._subscription = subscription
        self._observer = observer
        self._identity = identity
        self._is_rejoining = is_rejoining
        self._on_refused = on_refused
        self._on_finished = on_finished
        self._lock = asyncio.Lock()
        self._tasks = Tasks[None]()
        self._finished: deque[tuple[CommitCallback, Offsets, BarnabasError | None]] = deque()

    async def wait(self, timeout_ms: float) -> None:
        """For those that are under way."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=timeout_ms / 1000)

    async def end(self) -> None:
        """Cancels those that are under way."""
        await self._tasks.end()

    def take_finished(self) -> list[tuple[CommitCallback, Offsets, BarnabasError | None]]:
        """Callbacks of asynchronous commits to run now, with their arguments. Any thread."""
        finished: list[tuple[CommitCallback, Offsets, BarnabasError | None]] = []
        while self._finished:
            finished.append(self._finished.popleft())
        return finished

    def start(
        self,
        offsets: Offsets,
        timeout_ms: float,
        on_commit: CommitCallback | None = None,
        *,
        topic_ids: TopicIds | None = None,
        is_last: bool = False,
    ) -> asyncio.Task[None]:
        """`topic_ids`: see `commit_offsets`; `is_last`: of partitions that are about to be given up, so that
        there is no other chance."""
        return self._tasks.start(
            self._commit_in_background(
                offsets, timeout_ms, on_commit, topic_ids=topic_ids, waits_for_rebalance=is_last
            )
        )

    async def _commit_in_background(
        self,
        offsets: Offsets,
        timeout_ms: float,
        on_commit: CommitCallback | None,
        *,
        topic_ids: TopicIds | None,
        waits_for_rebalance: bool,
    ) -> None:
        error: BarnabasError | None = None
        try:
            await self.commit(
                offsets,
                timeout_ms,
                topic_ids=topic_ids,
                retries_unknown=False,
                waits_for_rebalance=waits_for_rebalance,
            )
        except BarnabasError as raised:
            error = raised
        if on_commit is not None:
            self._finished.append((on_commit, offsets, error))
            self._on_finished()
        elif error is not None and not self._client.events.are_logged:
            logger.warning("committing offsets in the background failed: %s", error)

    async def commit(
        self,
        offsets: Offsets,
        timeout_ms: float,
        *,
        topic_ids: TopicIds | None = None,
        retries_unknown: bool = True,
        waits_for_rebalance: bool = False,
    ) -> None:
        """Commits in the order of calls. `topic_ids`, `retries_unknown`: see `commit_offsets`;
        `waits_for_rebalance`: see `_commit_as_member`."""
        if not offsets:
            return
        identity = self._identity()
        if self._subscription.is_automatic and identity.generation < 0:
            # A broker takes a stranger's commit when the group is empty: it could undo a later one.
            raise membership_error(identity.group_id)
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._lock.acquire()
        except TimeoutError:
            default_ms = self._config.default_api_timeout_ms
            limit = time_limit(timeout_ms, "default_api_timeout_ms", default_ms)
            raise KafkaTimeoutError(
                f"an earlier commit of group {identity.group_id!r} still runs after {limit}"
            ) from None
        started_at = CLOCK.monotonic()
        error: BarnabasError | None = None
        try:
            await self._commit_as_member(
                offsets,
                deadline,
                topic_ids=topic_ids or {},
                retries_unknown=retries_unknown,
                waits_for_rebalance=waits_for_rebalance,
            )
        except BarnabasError as raised:
            error = raised
            raise
        finally:
            self._lock.release()
            self._observer.committed(offsets, started_at, error)
        for interceptor in self._config.interceptors:
            try:
                interceptor.on_commit(offsets)
            except Exception:
                logger.exception("on_commit of interceptor %r failed", interceptor)

    async def _commit_as_member(
        self,
        offsets: Offsets,
        deadline: float,
        *,
        topic_ids: TopicIds,
        retries_unknown: bool,
        waits_for_rebalance: bool,
    ) -> None:
        """`waits_for_rebalance`: a member that joins again owns what it owned before, until it hears what it
        is assigned, but its coordinator takes no commit meanwhile."""
        failures = 0
        while True:
            identity = self._identity()
            remaining_ms = max(0, deadline - CLOCK.monotonic()) * 1000
            try:
                await commit_offsets(
                    self._client,
                    identity,
                    offsets,
                    timeout_ms=remaining_ms,
                    topic_ids=topic_ids,
                    retries_unknown=retries_unknown,
                )
                return
            except BrokerError as error:
                # The answer to a heartbeat (KIP-848) or to JoinGroup has the new epoch or generation, and is
                # under way or has just come.
                has_news = self._is_rejoining() or self._identity() != identity
                if not has_news:
                    self._on_refused(error)
                if not isinstance(error, _OF_REBALANCES):
                    raise
                if isinstance(error, IllegalGenerationError) and not has_news:
                    raise
                if not (waits_for_rebalance or isinstance(error, StaleMemberEpochError)):
                    raise
                failures += 1
                delay_ms = self._client.backoff.delay_ms(failures)
                if delay_ms >= remaining_ms or self._identity().generation < 0:
                    raise
                await asyncio.sleep(delay_ms / 1000)
