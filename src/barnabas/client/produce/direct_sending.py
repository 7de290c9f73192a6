"""Batches that leave in the thread that hands the record over, or that flushes, without the event loop.

With linger 0 and nothing on its way to a partition, all that the loop would do for a record is to write it.
That the loop has to be woken for it, and to get the interpreter lock, takes many times longer. So when all
that was sent is answered, the leaders' connections are lent to the kernel, which sends the next batches by
itself, if they are small: those of the partitions that were sent to before. The loop hears of it when the
answer comes, or when it needs the connection, and then goes on as if it had sent the batch.

Once a batch has left so, and nobody had to be told in Python of what became of it, the kernel reads the
answers as well, and goes on with the next batches: what is handed over while others are under way gathers
for a moment, and leaves as one. Then the loop only counts, now and then.

With a longer linger the connection is lent to whoever flushes after every few records: a record then waits
without the loop, and the flush sends it. As long as it is lent, the loop looks in time after what nobody
flushes; without a flush for a while it takes the connection back.

Owns what is lent. Knows nothing of what an answer means.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sys
import threading
from collections.abc import Callable, Container, Iterable
from functools import partial
from uuid import UUID

from barnabas._kernel import Accumulator, ProducerBatch
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.metadata import NO_TOPIC_ID
from barnabas.client.cluster.topics_in_use import TopicsInUse
from barnabas.client.produce.batches.partition_queue import PartitionQueue
from barnabas.client.produce.batches.unended_steps import UnendedSteps
from barnabas.client.produce.counters import SenderStats
from barnabas.client.produce.produce_requests import HIGHEST_VERSION_WITH_NAMES, produce_request
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError
from barnabas.net.answers import AnswerTo, SentElsewhere
from barnabas.net.connection import Connection
from barnabas.protocol.frame import encode_request
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse
from barnabas.settings.table import ProducerConfig
from barnabas.types import TopicPartition
from barnabas.values import frozen, mutable

if sys.platform != "win32":
    from barnabas._kernel import DirectTarget, Exchanges

logger = logging.getLogger("barnabas.producer")

# Of Produce, as the kernel writes it and reads its answers.
VERSIONS = range(9, 14)
# Within two of these the loop hears of a batch that is not answered, whose time-outs it then watches.
WATCH_SECONDS = 0.25
# What nobody uses for so long is taken back, and nothing wakes the loop any more.
UNUSED_SECONDS = 10.0
# The same where the loop has to look in every few milliseconds whether something lingers.
UNUSED_LINGER_SECONDS = 0.25


# Of these partitions batches leave so: those that were sent to last. Each costs a moment in every loan.
MOST_PARTITIONS = 64


@frozen
class _Seat:
    """A partition in a loan."""

    queue: PartitionQueue
    target: DirectTarget
    version: int
    place: tuple[int, int, int]


@frozen
class _Lent:
    connection: Connection
    seats: list[_Seat]


@mutable
class _Known:
    """A partition that was sent to, and what its requests were made for."""

    queue: PartitionQueue
    version: int = -1
    topic_id: UUID = NO_TOPIC_ID
    target: DirectTarget | None = None


OnSent = Callable[[int, PartitionQueue, ProducerBatch, int], AnswerTo[ProduceResponse]]


class DirectSending:
    """`on_sent(leader_id, queue, batch, size)` is called with a batch that has left and is not answered, and
    gives who wants the answer; `wake` is called when time-outs are to be watched. `stats` is what delivered
    batches are counted in. Belongs to the event loop, but for `count`."""

    def __init__(
        self,
        config: ProducerConfig,
        client: KafkaClient,
        accumulator: Accumulator,
        stats: SenderStats,
        topics_in_use: TopicsInUse,
        unended: UnendedSteps,
        *,
        on_sent: OnSent,
        wake: Callable[[], None],
    ) -> None:
        self._config = config
        self._client = client
        self._accumulator = accumulator
        self._stats = stats
        self._topics_in_use = topics_in_use
        self._unended = unended
        self._on_sent = on_sent
        self._wake = wake
        self._loop = asyncio.get_running_loop()
        self._lent: dict[int, _Lent] = {}
        """By leader."""
        self._known: dict[TopicPartition, _Known] = {}
        self._leader_ids: set[int] = set()
        """Of all whose connections were ever lent."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._is_taking_back = False
        self._may_read_answers = True
        self._reads_answers_of: set[int] = set()
        """Leaders whose last batch needed no call into Python."""
        self._counting = threading.Lock()
        self._used_at = 0.0
        self._watch_seconds = WATCH_SECONDS
        self._unused_seconds = UNUSED_SECONDS
        if config.linger_ms:
            # What is handed over right after a look is looked at before its time is up.
            self._watch_seconds = min(WATCH_SECONDS, config.linger_ms / 1000)
            self._unused_seconds = UNUSED_LINGER_SECONDS

    @staticmethod
    def is_possible(config: ProducerConfig) -> bool:
        """Whether all that is asked of a batch is known beforehand."""
        return (
            sys.platform != "win32"
            and config.acks != "0"
            and config.transactional_id is None
            and not config.partitioner_availability_timeout_ms
        )

    def remember(self, partitions: Iterable[tuple[TopicPartition, PartitionQueue]]) -> None:
        """These were sent to."""
        for partition, queue in partitions:
            if partition not in self._known:
                if len(self._known) >= MOST_PARTITIONS:
                    del self._known[next(iter(self._known))]
                self._known[partition] = _Known(queue)

    def forget(self, topics: Container[str]) -> None:
        """Nothing is lent."""
        self._known = {
            partition: known for partition, known in self._known.items() if partition.topic not in topics
        }

    def lend(self) -> None:
        """All that was sent is answered."""
        # Whoever has a connection taken back is about to use it. Another one may be lent where the answer
        # is to what was given up before that.
        if self._is_taking_back or self._is_closed:
            return
        self._unended.count += 1
        by_leader: dict[int, list[_Known]] = {}
        leader_of = self._client.metadata.leader
        for partition, known in self._known.items():
            by_leader.setdefault(leader_of(partition), []).append(known)
        for leader_id, partitions in by_leader.items():
            if leader_id not in self._lent:
                self._lend(leader_id, partitions)
        self._unended.count -= 1

    def _lend(self, leader_id: int, partitions: list[_Known]) -> None:
        connection = self._client.ready_connection(leader_id)
        if connection is None:
            return
        seats = [seat for known in partitions if (seat := self._seat(known, connection)) is not None]
        if not seats:
            return
        reads_answers = self._may_read_answers and leader_id in self._reads_answers_of
        want_back = partial(self._take_back, leader_id)
        loan = connection.lending.lend_writing(want_back, reads_answers=reads_answers)
        if loan is None:
            return
        self._leader_ids.add(leader_id)
        with self._counting:
            self._lent[leader_id] = _Lent(connection, seats)
        self._used_at = CLOCK.monotonic()
        try:
            self._accumulator.lend(
                leader_id,
                loan.descriptor,
                [(seat.target, seat.place) for seat in seats],
                loan.correlation_id,
                max_in_flight=self._config.max_in_flight_requests_per_connection if reads_answers else 1,
                reads_answers=reads_answers,
            )
        except OSError as error:
            logger.warning("answers are read in the event loop: %s", error)
            self._may_read_answers = False
            with self._counting:
                del self._lent[leader_id]
            connection.lending.take_back_writing(loan.correlation_id - 1)
            return
        if self._timer is None:
            self._timer = self._loop.call_later(self._watch_seconds, self._watch)

    def _seat(self, known: _Known, connection: Connection) -> _Seat | None:
        queue = known.queue
        place = queue.next_place()
        if place is None:
            return None
        topic_id = self._client.metadata.topic_id(queue.partition.topic)
        highest = HIGHEST_VERSION_WITH_NAMES if topic_id == NO_TOPIC_ID else None
        version = connection.version_of(ProduceRequest, highest)
        if version not in VERSIONS:
            return None
        if known.target is None or (version, topic_id) != (known.version, known.topic_id):
            known.version, known.topic_id = version, topic_id
            known.target = self._make_target(queue.partition, version, topic_id)
        return _Seat(queue, known.target, version, place)

    def take_back(self) -> None:
        """The loop is about to send something itself, or to look at what is under way."""
        for leader_id in list(self._lent):
            self._take_back(leader_id)

    def _take_back(self, leader_id: int) -> None:
        if leader_id not in self._lent:
            return
        self._unended.count += 1
        with self._counting:
            lent = self._lent.pop(leader_id)
            back = self._accumulator.take_back(leader_id)
            assert back is not None
            self._count(lent, back.exchanges)
        for seat, records in back.records_delivered:
            lent.seats[seat].queue.delivered_directly(records)
        if any(batch.needs_python for batch, *_ in back.sent):
            self._reads_answers_of.discard(leader_id)
        elif back.sent:
            self._reads_answers_of.add(leader_id)
        sent = [
            SentElsewhere(
                self._on_sent(leader_id, lent.seats[seat].queue, batch, batch_bytes),
                ProduceRequest,
                lent.seats[seat].version,
                correlation_id,
                self._config.request_timeout_ms,
                seconds_under_way,
                size,
            )
            for batch, seat, correlation_id, seconds_under_way, batch_bytes, size in back.sent
        ]
        self._is_taking_back = True
        try:
            lent.connection.lending.take_back_writing(
                back.correlation_id,
                sent,
                unsent=back.unsent,
                received=back.received,
            )
        finally:
            self._is_taking_back = False
        if self._config.linger_ms and self._lingers_ms() < math.inf:
            # Nobody but the loop looks after it now.
            self._wake()
        self._unended.count -= 1

    def give_up(self, error: BarnabasError) -> None:
        """Nobody knows whether a step of lending or of taking back was ended: fails all that is under way."""
        self._lent = {}
        self._is_taking_back = False
        for leader_id in self._leader_ids:
            back = self._accumulator.take_back(leader_id)
            for batch, *_ in () if back is None else back.sent:
                batch.fail(error)
                self._accumulator.release(batch)

    def count(self) -> None:
        """Counts what was delivered without the loop. Any thread."""
        with self._counting:
            for leader_id, lent in self._lent.items():
                self._count(lent, self._accumulator.direct_figures(leader_id)[1])

    def _count(self, lent: _Lent, exchanges_by_seat: list[tuple[int, Exchanges]]) -> None:
        now = CLOCK.monotonic()
        for seat, exchanges in exchanges_by_seat:
            count, records, batch_bytes = exchanges.count, exchanges.records, exchanges.batch_bytes
            queue = lent.seats[seat].queue
            self._used_at = now
            lent.connection.exchanged(
                ProduceRequest,
                count,
                bytes_sent=exchanges.bytes_sent,
                bytes_received=exchanges.bytes_received,
                milliseconds=exchanges.milliseconds,
            )
            self._stats.batch_sent_at_once(now, count)
            self._stats.batch_delivered(queue.partition.topic, records, batch_bytes, now, count)
            latency_ms = exchanges.milliseconds / count
            queue.counters.batch_delivered(records, batch_bytes, now, latency_ms, count)
            self._topics_in_use.use(queue.partition.topic, now)

    def close(self, error: BarnabasError) -> None:
        """Fails with `error` what is under way by a loan that was not taken back as a whole."""
        self._is_closed = True
        self.take_back()
        self.give_up(error)
        self._accumulator.end_direct()
        if self._timer is not None:
            self._timer.cancel()

    def _make_target(self, partition: TopicPartition, version: int, topic_id: UUID) -> DirectTarget:
        data = ProduceRequest.PartitionProduceData(index=partition.partition, records=b"")
        topic = ProduceRequest.TopicProduceData(
            name=partition.topic, topic_id=topic_id, partition_data=[data]
        )
        request = produce_request(self._config, [topic])
        frame = encode_request(request, version, 0, self._config.client_id)
        names_by_id = version > HIGHEST_VERSION_WITH_NAMES
        return DirectTarget(frame, *partition, topic_id.bytes if names_by_id else None)

    def _watch(self) -> None:
        self._timer = None
        if not self._lent:
            return
        seconds_under_way = 0.0
        with self._counting:
            for leader_id, lent in self._lent.items():
                seconds, exchanges = self._accumulator.direct_figures(leader_id)
                seconds_under_way = max(seconds_under_way, seconds)
                self._count(lent, exchanges)
        lingers_ms = self._lingers_ms() if self._config.linger_ms else math.inf
        is_late = seconds_under_way > WATCH_SECONDS or lingers_ms <= 0
        is_possible = all(lent.connection.lending.is_possible for lent in self._lent.values())
        if is_late or not is_possible:
            self.take_back()
            self._wake()
        elif not seconds_under_way and CLOCK.monotonic() - self._used_at > self._unused_seconds:
            self.take_back()
        else:
            seconds = min(self._watch_seconds, lingers_ms / 1000)
            self._timer = self._loop.call_later(seconds, self._watch)

    def _lingers_ms(self) -> float:
        """How long what waits may go on waiting; infinity where nothing waits."""
        due, next_ms = self._accumulator.due(CLOCK.monotonic() * 1000, self._config.linger_ms)
        return 0.0 if due else next_ms
