"""The ShareConsumer for asyncio: a member of a share group (KIP-932), and what its fronts have in common.

Owns the hand-out of records and the callback. What there is to fetch and to acknowledge is the core's.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from types import TracebackType
from typing import Generic, Self, Unpack

from barnabas.client.arguments import as_limit, as_timeout_ms, check_callbacks, check_seconds
from barnabas.client.cluster.lifetimes import seconds_to_close
from barnabas.client.cluster.loop_lifetimes import OwnedByLoop
from barnabas.client.cluster.observed import Observed
from barnabas.client.share.core import CLOSE_TIMEOUT_MS, AcknowledgementCallback, ShareCore
from barnabas.client.share.records import AcknowledgeType, ShareRecord
from barnabas.errors import BarnabasError
from barnabas.settings.keywords import ShareConsumerSettings
from barnabas.settings.table import ShareConsumerConfig, load
from barnabas.stats import ClientStats
from barnabas.types import K, TopicPartition, V

# How often an iteration comes back to see whether the consumer was closed.
ITERATION_POLL_SECONDS = 1.0


class ShareConsumerFront(Observed, Generic[K, V]):
    """The part that `barnabas.ShareConsumer` and `barnabas.aio.ShareConsumer` share."""

    config: ShareConsumerConfig
    _core: ShareCore
    _callback: AcknowledgementCallback | None

    def _doing(self) -> str:
        topics = ", ".join(sorted(self._core.topics)) or "no topics"
        return f"in share group {self.config.group_id!r}, reads {topics}"

    def subscription(self) -> set[str]:
        """The topics that are subscribed to."""
        return set(self._core.topics)

    def acknowledge(self, record: ShareRecord[K, V], acknowledge_type: AcknowledgeType = "accept") -> None:
        """Decides what becomes of a record of the last poll: "accept", "release" (to be delivered again),
        "reject" (never again) or "renew" (the lock starts again, and the next poll returns the record again;
        KIP-1222). It is sent with the next poll or commit; until then it can be changed.

        Raises: MisuseError with share_acknowledgement_mode="implicit", or where the record is not in hand.
        """
        self._core.acknowledge(record, acknowledge_type)

    def set_acknowledgement_commit_callback(self, callback: AcknowledgementCallback | None) -> None:
        """`callback(partition, offsets, error)` is called inside of a later poll, commit or close, for what
        was acknowledged together: `error` is None, or says why. Without a callback failures are logged."""
        check_callbacks(callback=callback)
        self._callback = callback
        self._core.keeps_results = callback is not None

    def acquisition_lock_timeout_ms(self) -> int | None:
        """How long a record is lent for, in milliseconds, as brokers last said; None before the first fetch.
        The group's setting share.record.lock.duration.ms."""
        return self._core.acquisition_lock_timeout_ms()

    def stats(self) -> ClientStats:
        """Figures of the consumer and its brokers, as they are now."""
        return self._client.stats()

    def _limit(self, max_records: int | None) -> int | None:
        return None if max_records is None else as_limit(max_records)

    def _run_callback(self) -> None:
        if self._callback is not None:
            while (result := self._core.take_result()) is not None:
                self._callback(result.partition, result.offsets, result.error)


class ShareConsumer(OwnedByLoop, ShareConsumerFront[K, V]):
    """Works through records of topics together with the other members of a share group (KIP-932): every
    record is lent to one of them at a time, in no order that is promised, until one accepts or rejects it.
    Made on a running event loop; used with `async with` and `async for`, or closed by `close`. For one
    coroutine at a time, except for `wakeup`.

    With share_acknowledgement_mode "implicit" a poll or commit accepts what the last poll returned, and an
    iteration each record when the next one is asked for; with "explicit" `acknowledge` decides. What was not
    acknowledged is released by `close`, or when its acquisition lock expires. A group begins at the latest
    record unless its setting share.auto.offset.reset says otherwise. Settings:
    `barnabas.settings.table.ShareConsumerConfig`. Takes Kafka 4.1 or later.

    Raises: UnknownSettingError, InvalidSettingError.
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        *,
        group_id: str,
        topics: Iterable[str] | None = None,
        **settings: Unpack[ShareConsumerSettings[K, V]],
    ) -> None:
        self.config = load(
            ShareConsumerConfig, {"bootstrap_servers": bootstrap_servers, "group_id": group_id, **settings}
        )
        self._loop = asyncio.get_running_loop()
        self._callback = None
        self._core = ShareCore(self.config)
        self._client = self._core.client
        self._begin_life(f"share consumer {self.config.client_id!r}")
        if topics is not None:
            self.subscribe(topics)

    def subscribe(self, topics: Iterable[str]) -> None:
        """Reads these topics in place of those before. Raises: MisuseError, ClosedError."""
        self._core.subscribe(topics)

    async def unsubscribe(self) -> None:
        """Tells brokers what was acknowledged, releases the rest and leaves the group."""
        await self._core.unsubscribe(self.config.default_api_timeout_ms)
        self._run_callback()

    async def poll(self, timeout: float = 1.0, max_records: int | None = None) -> list[ShareRecord[K, V]]:
        """The next records; waits up to `timeout` seconds for the first. An empty list when none came, or
        after `wakeup`. `max_records` at most: what was lent beyond that waits for the next poll. Without it,
        max_poll_records or so, since what a broker has lent together comes together.

        Raises: MisuseError where a record of the last poll is to be acknowledged and was not, or without
        topics; CorruptBatchError (once; the batch is rejected), BrokerError such as
        GroupAuthorizationFailedError, NoCommonVersionError on brokers before Kafka 4.1, ClosedError, and what
        the callback raises.
        """
        await self._poll(timeout, max_records)
        return self._core.records.hand_out()

    async def __aiter__(self) -> AsyncIterator[ShareRecord[K, V]]:
        """Records without end; `wakeup` and `close` end it."""
        core = self._core
        while not core.is_closed:
            if await self._poll(ITERATION_POLL_SECONDS, None) is None:
                return
            while core.records.offers:
                yield core.records.hand_out_next()
                if core.is_closed:
                    return
                core.accept_handed()

    async def _poll(self, timeout: float, max_records: int | None) -> int | None:
        """As `ShareCore.poll`."""
        check_seconds(timeout)
        count = await self._core.poll(timeout, self._limit(max_records))
        self._run_callback()
        return count

    async def commit(self, *, timeout: float | None = None) -> dict[TopicPartition, BarnabasError | None]:
        """Tells brokers what was acknowledged, with "implicit" that all of the last poll is accepted, and
        waits for what they say: None for each partition, or the first error. `timeout` in seconds
        (default_api_timeout_ms). Raises: KafkaTimeoutError, ClosedError, and what the callback raises.
        """
        outcome = await self._core.commit(as_timeout_ms(timeout, self.config.default_api_timeout_ms))
        self._run_callback()
        return outcome

    def commit_async(self) -> None:
        """`commit` without waiting: the callback gets what brokers say. Raises: ClosedError."""
        self._core.commit_async()

    async def client_instance_id(self, *, timeout: float | None = None) -> uuid.UUID:
        """The id that the brokers know this client by in its telemetry (KIP-714). `timeout` in seconds,
        default default_api_timeout_ms.

        Raises: MisuseError (enable_metrics_push is off), NoCommonVersionError (the brokers take no
        telemetry), KafkaTimeoutError, BootstrapError.
        """
        self._core.check_open()
        timeout_ms = as_timeout_ms(timeout, self.config.default_api_timeout_ms)
        return await self._client.telemetry.client_instance_id(timeout_ms)

    def wakeup(self) -> None:
        """Has a `poll` that waits now, or the next one, return at once with nothing. Any thread."""
        self._loop.call_soon_threadsafe(self._core.wakeup)

    async def close(self, timeout: float | None = None) -> None:
        """Tells brokers what was acknowledged, releases the rest, leaves the group and closes the
        connections, within `timeout` seconds (30). May be called twice."""
        await self._core.close(as_timeout_ms(seconds_to_close(timeout), CLOSE_TIMEOUT_MS))
        self._end_life()
        self._run_callback()

    @property
    def _remains(self) -> ShareCore:
        return self._core

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
