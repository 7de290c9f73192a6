"""The ShareConsumer for plain calls. Everything but the hand-out of records and the callback is done on the
event loop's thread, which is crossed once for each poll.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Unpack

from barnabas.client.arguments import as_timeout_ms, check_seconds
from barnabas.client.cluster.lifetimes import Lifetime, closed_on_error, is_handling_ctrl_c
from barnabas.client.share.consumer import ITERATION_POLL_SECONDS, ShareConsumerFront
from barnabas.client.share.core import CLOSE_TIMEOUT_MS, ShareCore
from barnabas.client.share.records import ShareRecord
from barnabas.errors import BarnabasError
from barnabas.fork import generation
from barnabas.loop_thread import Steps, loop_thread
from barnabas.settings.keywords import ShareConsumerSettings
from barnabas.settings.table import ShareConsumerConfig, load
from barnabas.sync.crossing import OnLoopThread
from barnabas.types import K, TopicPartition, V


class ShareConsumer(ShareConsumerFront[K, V], OnLoopThread):
    """Works through records of topics together with the other members of a share group (KIP-932): every
    record is lent to one of them at a time, in no order that is promised, until one accepts or rejects it.
    Used with `with` and `for`, or closed by `close`. For one thread at a time, except for `wakeup`.

    With share_acknowledgement_mode "implicit" a poll or commit accepts what the last poll returned, and an
    iteration each record when the next one is asked for; with "explicit" `acknowledge` decides. What was not
    acknowledged is released by `close`, or when its acquisition lock expires. A group begins at the latest
    record unless its setting share.auto.offset.reset says otherwise. Settings:
    `barnabas.settings.table.ShareConsumerConfig`. Takes Kafka 4.1 or later.

    Raises: UnknownSettingError, InvalidSettingError.
    """

    _what = "share consumer"

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
        self._generation = generation()
        self._loop = loop_thread()
        self._callback = None

        async def make_core() -> ShareCore:
            return ShareCore(self.config)

        self._core = self._run(make_core())
        self._client = self._core.client
        self._life = Lifetime(
            self._steps_at_exit, f"share consumer {self.config.client_id!r}", self._loop, self._core
        )
        if topics is not None:
            with closed_on_error(self):
                self.subscribe(topics)

    def wakeup(self) -> None:
        """Has a `poll` that waits now, or the next one, return at once with nothing. Any thread."""
        self._loop.call(self._core.wakeup)

    def close(self, timeout: float | None = None) -> None:
        """Tells brokers what was acknowledged, releases the rest, leaves the group and closes the
        connections, within `timeout` seconds (30). May be called twice."""
        if self._core.is_closed or self._generation != generation():
            return
        steps = self._closing(as_timeout_ms(timeout, CLOSE_TIMEOUT_MS))
        if timeout is None and is_handling_ctrl_c():
            self._life.close_in_moments(steps)
        else:
            self._loop.run_steps(steps, what=self._what)

    def _steps_at_exit(self) -> Steps:
        """When the interpreter ends."""
        return self._closing(CLOSE_TIMEOUT_MS)

    def _closing(self, timeout_ms: float) -> Steps:
        try:
            yield self._core.close(timeout_ms)
        finally:
            self._life.end()
        self._run_callback()

    # From here on made by codegen/plain_calls.py, of barnabas/client/share/consumer.py

    def subscribe(self, topics: Iterable[str]) -> None:
        """Reads these topics in place of those before. Raises: MisuseError, ClosedError."""
        self._on_loop(self._core.subscribe, topics)

    def unsubscribe(self) -> None:
        """Tells brokers what was acknowledged, releases the rest and leaves the group."""
        self._run(self._core.unsubscribe(self.config.default_api_timeout_ms))
        self._run_callback()

    def poll(self, timeout: float = 1.0, max_records: int | None = None) -> list[ShareRecord[K, V]]:
        """The next records; waits up to `timeout` seconds for the first. An empty list when none came, or
        after `wakeup`. `max_records` at most: what was lent beyond that waits for the next poll. Without it,
        max_poll_records or so, since what a broker has lent together comes together.

        Raises: MisuseError where a record of the last poll is to be acknowledged and was not, or without
        topics; CorruptBatchError (once; the batch is rejected), BrokerError such as
        GroupAuthorizationFailedError, NoCommonVersionError on brokers before Kafka 4.1, ClosedError, and what
        the callback raises.
        """
        self._poll(timeout, max_records)
        return self._core.records.hand_out()

    def __iter__(self) -> Iterator[ShareRecord[K, V]]:
        """Records without end; `wakeup` and `close` end it."""
        core = self._core
        while not core.is_closed:
            if self._poll(ITERATION_POLL_SECONDS, None) is None:
                return
            while core.records.offers:
                yield core.records.hand_out_next()
                if core.is_closed:
                    return
                core.accept_handed()

    def _poll(self, timeout: float, max_records: int | None) -> int | None:
        """As `ShareCore.poll`."""
        check_seconds(timeout)
        count = self._run(self._core.poll(timeout, self._limit(max_records)))
        self._run_callback()
        return count

    def commit(self, *, timeout: float | None = None) -> dict[TopicPartition, BarnabasError | None]:
        """Tells brokers what was acknowledged, with "implicit" that all of the last poll is accepted, and
        waits for what they say: None for each partition, or the first error. `timeout` in seconds
        (default_api_timeout_ms). Raises: KafkaTimeoutError, ClosedError, and what the callback raises.
        """
        outcome = self._run(self._core.commit(as_timeout_ms(timeout, self.config.default_api_timeout_ms)))
        self._run_callback()
        return outcome

    def commit_async(self) -> None:
        """`commit` without waiting: the callback gets what brokers say. Raises: ClosedError."""
        self._on_loop(self._core.commit_async)

    def client_instance_id(self, *, timeout: float | None = None) -> uuid.UUID:
        """The id that the brokers know this client by in its telemetry (KIP-714). `timeout` in seconds,
        default default_api_timeout_ms.

        Raises: MisuseError (enable_metrics_push is off), NoCommonVersionError (the brokers take no
        telemetry), KafkaTimeoutError, BootstrapError.
        """
        self._core.check_open()
        timeout_ms = as_timeout_ms(timeout, self.config.default_api_timeout_ms)
        return self._run(self._client.telemetry.client_instance_id(timeout_ms))
