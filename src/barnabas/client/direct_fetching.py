"""Fetches that go on in the thread that waits in a poll, without the event loop.

Between a broker's answer and a caller that waits for it, the loop's thread would have to get the interpreter
lock, and the caller would have to get it back. So while answers are small and ordinary, a fetch that the
loop has sent is lent to the kernel: the thread that waits reads the answer and sends the next fetch. The loop
hears of it when anything else comes, when what is to be fetched changes, or when nobody waits any more. Then
it takes the fetch under way back as if it had been its own all the time.

Owns what is lent. Must not know which partitions are to be fetched, nor what an extraordinary answer means.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.client.fetch_buffer import FetchBuffer
from barnabas.client.fetch_session import FetchSession
from barnabas.client.fetch_under_way import FetchUnderWay, Wanted
from barnabas.client.waking import LoopWaking
from barnabas.config import ConsumerConfig
from barnabas.net.connection import Connection
from barnabas.net.monitor import RollingWindow
from barnabas.protocol.frame import encode_request
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.types import TopicPartition

if TYPE_CHECKING:
    from barnabas._kernel import DirectFetches

WATCH_SECONDS = 0.25
# A caller that has not waited for so long is busy: the loop fetches ahead for it.
BUSY_AFTER_SECONDS = 0.1
WAITS_WITHIN_SECONDS = 0.02
# A fetch that takes this much longer than a broker may wait for data is for the connection's own time-out.
LATE_SECONDS = 2.0
# A broker whose answers are larger has more to give than a caller waits for.
SMALL_ANSWER_BYTES = 8192
SMALL_ANSWERS_FIRST = 2
# Of Fetch, as the kernel reads and writes it.
LENT_VERSIONS = range(13, 19)


class LentFetch:
    """A fetch under way, and those that follow it. `request` and `sent_at` are of the one under way when it
    was taken back."""

    def __init__(
        self,
        direct: DirectFetching,
        node_id: int,
        connection: Connection,
        session: FetchSession,
        request: FetchUnderWay,
    ) -> None:
        self.node_id = node_id
        self.connection = connection
        self.session = session
        self.request = request
        self.sent_at = time.monotonic()
        self.id = -1
        self._direct = direct

    def take_back(self) -> None:
        """Nothing happens where it was taken back before."""
        self._direct.take_back(self)


class DirectFetching:
    """All but `take_in` belongs to the event loop. `latency_ms` is the fetcher's."""

    def __init__(
        self,
        fetches: DirectFetches,
        buffer: FetchBuffer,
        config: ConsumerConfig,
        latency_ms: RollingWindow,
        *,
        on_change: Callable[[], None],
    ) -> None:
        """`on_change` is called on the loop when there may be something else to fetch."""
        self._fetches = fetches
        self._buffer = buffer
        self._config = config
        self._latency_ms = latency_ms
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._taking_in = threading.Lock()
        self._lent: dict[int, LentFetch] = {}
        self._small_answers: dict[int, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._waking = LoopWaking.of(self._loop, self._take_back_ended, fetches.loop_waker)

    @property
    def lent(self) -> list[LentFetch]:
        return list(self._lent.values())

    def answered(self, node_id: int, size: int) -> None:
        """The loop got an answer with so many bytes of records."""
        is_small = size <= SMALL_ANSWER_BYTES
        self._small_answers[node_id] = self._small_answers.get(node_id, 0) + 1 if is_small else 0

    def lend(
        self, node_id: int, connection: Connection, session: FetchSession, request: FetchUnderWay
    ) -> LentFetch | None:
        """Lends a request that was just sent, if a caller waits for it and nothing speaks against it."""
        if (
            self._waking is None
            or request.version not in LENT_VERSIONS
            or request.is_full
            or not session.session_id
            or self._config.enable_partition_eof
            or self._small_answers.get(node_id, 0) < SMALL_ANSWERS_FIRST
            or self._fetches.seconds_since_wait() > WAITS_WITHIN_SECONDS
        ):
            return None
        lent = LentFetch(self, node_id, connection, session, request)
        loan = connection.lend(lent.take_back)
        if loan is None:
            return None
        partitions = [
            (
                entry,
                partition.topic,
                fetch.topic_id.bytes,
                partition.partition,
                fetch.current_leader_epoch,
                fetch.fetch_offset,
                fetch.last_fetched_epoch,
                fetch.partition_max_bytes,
            )
            for partition, entry in request.wanted.items()
            for fetch in (request.fetches[partition],)
        ]
        message = copy(request.message)
        message.topics = []
        message.forgotten_topics_data = []
        lent.id = self._fetches.lend(
            loan.descriptor,
            encode_request(message, request.version, loan.correlation_id, self._config.client_id),
            partitions,
            check_crcs=self._config.check_crcs,
            reads_committed=self._config.isolation_level == "read_committed",
        )
        self._lent[lent.id] = lent
        if self._timer is None:
            self._timer = self._loop.call_later(WATCH_SECONDS, self._watch)
        return lent

    def take_in(self) -> None:
        """Puts what came into the buffer. Any thread."""
        is_unwanted = False
        with self._taking_in:
            entry: Wanted
            for entry, watermarks, records in self._fetches.arrivals():
                state = entry.state
                if state.epoch != entry.epoch:
                    continue
                state.high_watermark, state.last_stable_offset, state.log_start_offset = watermarks
                if records is not None:
                    reader, fetch_offset, end_offset, size = records
                    self._buffer.take_in(
                        state, entry.epoch, fetch_offset, reader, size, end_offset, entry.leader_epoch
                    )
                is_unwanted = is_unwanted or not self._buffer.wants_more(state)
        if is_unwanted:
            self._loop.call_soon_threadsafe(self._on_change)

    def take_back(self, lent: LentFetch) -> None:
        """The loop goes on with what is under way."""
        taken = self._fetches.take_back(lent.id)
        if taken is None:
            return
        del self._lent[lent.id]
        self.take_in()
        correlation_id, session_epoch, seconds_under_way, received, is_broken, places, figures = taken
        self._count(lent, figures)
        lent.sent_at = time.monotonic() - seconds_under_way
        lent.request = self._gone_on(lent, session_epoch, places)
        lent.connection.take_back(correlation_id, seconds_under_way, received, is_broken=is_broken)

    def close(self) -> None:
        for lent in self.lent:
            lent.take_back()
        if self._waking is not None:
            self._waking.close()
        if self._timer is not None:
            self._timer.cancel()

    def _gone_on(self, lent: LentFetch, session_epoch: int, places: list[tuple[int, int]]) -> FetchUnderWay:
        request = lent.request
        wanted: dict[TopicPartition, Wanted] = {}
        fetches = dict(request.fetches)
        for (partition, entry), (fetch_offset, last_fetched_epoch) in zip(
            request.wanted.items(), places, strict=True
        ):
            wanted[partition] = replace(entry, fetch_offset=fetch_offset)
            fetches[partition] = fetches[partition]._replace(
                fetch_offset=fetch_offset, last_fetched_epoch=last_fetched_epoch
            )
        lent.session.went_on(session_epoch, fetches)
        return replace(request, wanted=wanted, fetches=fetches)

    def _count(self, lent: LentFetch, figures: tuple[int, int, int, float]) -> None:
        answers, bytes_received, bytes_sent, milliseconds = figures
        if not answers:
            return
        monitor = lent.connection.monitor
        monitor.requests += answers
        monitor.requests_by_api[FetchRequest.NAME] += answers
        monitor.responses += answers
        monitor.bytes_received += bytes_received
        monitor.bytes_sent += bytes_sent
        now = time.monotonic()
        monitor.latency_ms.add(now, milliseconds / answers)
        self._latency_ms.add(now, milliseconds / answers)

    def _take_back_ended(self) -> None:
        for lent_id in self._fetches.over():
            lent = self._lent.get(lent_id)
            if lent is not None:
                self._small_answers[lent.node_id] = 0
                lent.take_back()

    def _watch(self) -> None:
        self._timer = None
        is_busy = self._fetches.seconds_since_wait() > BUSY_AFTER_SECONDS
        late = self._config.fetch_max_wait_ms / 1000 + LATE_SECONDS
        for lent_id, seconds, figures in self._fetches.figures():
            lent = self._lent[lent_id]
            self._count(lent, figures)
            if is_busy or seconds > late:
                lent.take_back()
        if self._lent:
            self._timer = self._loop.call_later(WATCH_SECONDS, self._watch)
