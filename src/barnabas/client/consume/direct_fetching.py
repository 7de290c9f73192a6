"""Fetches that go on without the event loop, as long as answers are ordinary.

Between a broker's answer and a caller that waits for it, the loop's thread would have to get the interpreter
lock, and the caller would have to get it back. So a fetch that the loop has sent is lent to the kernel. While
answers are small, the thread that waits reads the answer and sends the next fetch; while they are large, in
bulk, a thread of the kernel's does, ahead of the caller and as far as there is room. The loop hears of it if
anything else comes, when what is to be fetched changes, or, if answers are small, when nobody waits any more.
Then it takes the fetch under way back as if it had been its own all the time.

Owns what is lent. Must not know which partitions are to be fetched, nor what an extraordinary answer means.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from barnabas.client.cluster.waking import LoopWaking
from barnabas.client.consume.fetch_buffer import FetchBuffer
from barnabas.client.consume.fetch_queue import FetchQueue
from barnabas.client.consume.fetch_session import FetchSession
from barnabas.client.consume.fetch_under_way import FetchUnderWay, Wanted
from barnabas.client.unpacking import most_unpacked_bytes
from barnabas.clock import CLOCK
from barnabas.net.answers import Loan
from barnabas.net.connection import Connection
from barnabas.protocol.frame import encode_request
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.settings.table import ConsumerConfig
from barnabas.types import TopicPartition
from barnabas.windows import RollingWindow

if sys.platform != "win32":
    from barnabas._kernel import FetchCredit

if TYPE_CHECKING:
    from barnabas._kernel import DirectFetches, RecordReader, TakenBack

    _ArrivedRecords = tuple[RecordReader, int, int, int, int]

logger = logging.getLogger("barnabas.client")

WATCH_SECONDS = 0.25
# A caller that has not waited for so long is busy: the loop fetches ahead for it.
BUSY_AFTER_SECONDS = 0.1
WAITS_WITHIN_SECONDS = 0.02
# A fetch that takes this much longer than a broker may wait for data is for the connection's own time-out.
LATE_SECONDS = 2.0
# A broker whose answers are larger has more to give than a caller waits for.
SMALL_ANSWER_BYTES = 8192
SMALL_ANSWERS_FIRST = 2
# Less than this is as well received by the loop.
LARGE_ANSWER_BYTES = 128 << 10
LARGE_ANSWERS_FIRST = 1
# After one that was not for the kernel: whatever it was may come again.
LARGE_ANSWERS_AFTER_TROUBLE = 4
# From so much on that is left to fetch, answers are going to be large.
BACKLOG_BYTES = 1 << 20
# Of Fetch, as the kernel reads and writes it.
LENT_VERSIONS = range(13, 19)


def leaves_backlog(size: int, fetch_offset: int, next_fetch_offset: int, end_offset: int) -> bool:
    """Whether there is much to fetch behind what was, `size` bytes, if that goes on as it began."""
    return size * (end_offset - next_fetch_offset) >= BACKLOG_BYTES * (next_fetch_offset - fetch_offset)


class LentFetch:
    """A fetch under way, and those that follow it. `request` and `sent_at` are of the last one that was sent
    when it was taken back."""

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
        self.sent_at = CLOCK.monotonic()
        self.id = 0
        self.is_answered = False
        """Whether nothing was under way when it was taken back."""
        self.credit: FetchCredit | None = None
        """What is fetched within, in bulk."""
        self.partition_bytes = 0
        self.end_offsets: dict[TopicPartition, int] = {}
        """How far it goes, in bulk."""
        self._direct = direct

    @property
    def is_in_bulk(self) -> bool:
        return self.credit is not None

    @property
    def queues(self) -> list[FetchQueue]:
        return [entry.queue for entry in self.request.wanted.values()]

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
        self._reads_committed = config.isolation_level == "read_committed"
        self._loop = asyncio.get_running_loop()
        self._taking_in = threading.Lock()
        self._arrivals: list[tuple[Wanted, tuple[int, int, int], _ArrivedRecords | None]] = []
        self._lent: dict[int, LentFetch] = {}
        self._small_answers: dict[int, int] = {}
        self._large_answers: dict[int, int] = {}
        """In a row."""
        self._waking = LoopWaking.of(self._loop, self._take_back_ended, fetches.loop_waker)
        self._can_lend = self._waking is not None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def lent(self) -> list[LentFetch]:
        return list(self._lent.values())

    def answered(self, node_id: int, connection: Connection, version: int, size: int) -> None:
        """The loop got an answer with so many bytes of records."""
        is_small = size <= SMALL_ANSWER_BYTES
        self._small_answers[node_id] = self._small_answers.get(node_id, 0) + 1 if is_small else 0
        is_large = size >= LARGE_ANSWER_BYTES and connection.lending.is_possible and version in LENT_VERSIONS
        self._large_answers[node_id] = self._large_answers.get(node_id, 0) + 1 if is_large else 0

    def goes_in_bulk(self, node_id: int, queues: Iterable[FetchQueue]) -> bool:
        """Whether the next fetch of these from a broker may be lent in bulk: with all of its partitions, as
        none can be added later."""
        return (
            self._can_lend
            and not self._config.enable_partition_eof
            and self._large_answers.get(node_id, 0) >= LARGE_ANSWERS_FIRST
            and any(queue.has_backlog for queue in queues)
        )

    def lend(
        self, node_id: int, connection: Connection, session: FetchSession, request: FetchUnderWay
    ) -> LentFetch | None:
        """Lends a request that was just sent, if a caller waits for it or there is much to fetch, and nothing
        speaks against it."""
        if (
            not self._can_lend
            or request.version not in LENT_VERSIONS
            or request.is_full
            or not session.session_id
            or self._config.enable_partition_eof
        ):
            return None
        queues = [entry.queue for entry in request.wanted.values()]
        is_in_bulk = self.goes_in_bulk(node_id, queues)
        if not is_in_bulk and (
            self._small_answers.get(node_id, 0) < SMALL_ANSWERS_FIRST
            or self._fetches.seconds_since_wait() > WAITS_WITHIN_SECONDS
        ):
            return None
        lent = LentFetch(self, node_id, connection, session, request)
        loan = connection.lending.lend(lent.take_back)
        if loan is None:
            return None
        try:
            self._lend(lent, loan, is_in_bulk)
        except OSError as error:
            logger.warning("fetches go on in the event loop: %s", error)
            self._can_lend = False
            if lent.credit is not None:
                self._buffer.close_credit(lent.queues, lent.credit)
            connection.close()
            return None
        self._lent[lent.id] = lent
        if self._timer is None:
            self._timer = self._loop.call_later(WATCH_SECONDS, self._watch)
        return lent

    def _lend(self, lent: LentFetch, loan: Loan, is_in_bulk: bool) -> None:
        """Raises: OSError where the system has no more descriptors or threads."""
        request, config = lent.request, self._config
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
        lend = self._fetches.lend
        if is_in_bulk:
            message.max_wait_ms, message.max_bytes = config.fetch_max_wait_ms, config.fetch_max_bytes
            credit = self._buffer.open_credit(lent.queues, FetchCredit)
            lent.credit, lent.partition_bytes = credit, self._buffer.partition_bytes
            lent.end_offsets = {queue.partition: queue.state.end_offset for queue in lent.queues}
            end_offsets = list(lent.end_offsets.values())
            lend = partial(self._fetches.lend_in_bulk, credit=credit, end_offsets=end_offsets)
        lent.id = lend(
            loan.descriptor,
            encode_request(message, request.version, loan.correlation_id, config.client_id),
            partitions,
            check_crcs=config.check_crcs,
            reads_committed=self._reads_committed,
            max_decompressed_bytes=most_unpacked_bytes(config.fetch_max_bytes),
        )

    def take_in(self) -> None:
        """Puts what came into the buffer. Any thread."""
        is_unwanted = False
        with self._taking_in:
            arrivals = self._arrivals
            self._fetches.take_arrivals(arrivals)
            while arrivals:
                is_unwanted |= self._take_in_one(*arrivals[0])
                # Not before: what an interrupt has left here is taken in the next time.
                del arrivals[0]
        if is_unwanted:
            self._loop.call_soon_threadsafe(self._on_change)

    def _take_in_one(
        self,
        entry: Wanted,
        watermarks: tuple[int, int, int],
        records: _ArrivedRecords | None,
    ) -> bool:
        """Whether the partition might be fetched on though it is not to be."""
        queue = entry.queue
        state = queue.state
        if state.epoch != entry.epoch:
            return True
        state.high_watermark, state.last_stable_offset, state.log_start_offset = watermarks
        if records is not None:
            reader, fetch_offset, end_offset, size, leader_epoch = records
            end = state.last_stable_offset if self._reads_committed else state.high_watermark
            queue.has_backlog = leaves_backlog(size, fetch_offset, end_offset, end)
            self._buffer.take_in(queue, entry.epoch, fetch_offset, reader, size, end_offset, leader_epoch)
        return not (self._buffer.wants_more(queue) if queue.credit is None else self._buffer.is_read(queue))

    def take_back(self, lent: LentFetch) -> None:
        """The loop goes on with what is under way."""
        taken = self._fetches.take_back(lent.id)
        if taken is None:
            return
        del self._lent[lent.id]
        if lent.credit is not None:
            self._buffer.close_credit(lent.queues, lent.credit)
        self.take_in()
        self._count(lent, taken.figures)
        lent.is_answered = taken.seconds_under_way is None
        lent.sent_at = CLOCK.monotonic() - (taken.seconds_under_way or 0)
        lent.request = self._gone_on(lent, taken)
        if taken.frame is not None and taken.frame[1] == len(taken.frame[0]):
            self._large_answers[lent.node_id] = LARGE_ANSWERS_FIRST - LARGE_ANSWERS_AFTER_TROUBLE
        lent.connection.lending.take_back(taken, FetchResponse())

    def close(self) -> None:
        for lent in self.lent:
            lent.take_back()
        if self._waking is not None:
            self._waking.close()
        if self._timer is not None:
            self._timer.cancel()

    def _gone_on(self, lent: LentFetch, taken: TakenBack) -> FetchUnderWay:
        request = lent.request
        wanted: dict[TopicPartition, Wanted] = {}
        fetches = dict(request.fetches)
        for (partition, entry), (fetch_offset, last_fetched_epoch) in zip(
            request.wanted.items(), taken.places, strict=True
        ):
            wanted[partition] = replace(entry, fetch_offset=fetch_offset)
            fetches[partition] = fetches[partition]._replace(
                fetch_offset=fetch_offset, last_fetched_epoch=last_fetched_epoch
            )
        known = fetches
        if lent.is_answered:
            # The broker has yet to be told where these go on.
            known = {partition: fetch._replace(fetch_offset=-1) for partition, fetch in fetches.items()}
        lent.session.went_on(taken.session_epoch, known)
        return replace(request, wanted=wanted, fetches=fetches)

    def _count(self, lent: LentFetch, figures: tuple[int, int, int, int, float]) -> None:
        answers, requests, bytes_received, bytes_sent, milliseconds = figures
        latency_ms = lent.connection.monitor.exchanged(
            FetchRequest.NAME,
            requests=requests,
            answers=answers,
            bytes_sent=bytes_sent,
            bytes_received=bytes_received,
            milliseconds=milliseconds,
        )
        if latency_ms is not None:
            self._latency_ms.add(CLOCK.monotonic(), latency_ms)

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
            if seconds > late or (is_busy and not lent.is_in_bulk) or not lent.connection.lending.is_possible:
                lent.take_back()
        if self._lent:
            self._timer = self._loop.call_later(WATCH_SECONDS, self._watch)
