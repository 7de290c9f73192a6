"""PartitionQueue against a model of a partition's leader that judges sequences by Kafka's rules (KIP-98,
KIP-360), over a network that loses answers, drops connections, and delivers what was given up.

One window is Kafka's, and is left out: a batch expires, the one behind it is refused for the gap, and only
then the broker handles both of them out of a connection that was given up before. The second is then stored
under the old epoch and under the new one. Transactions with an epoch each (KIP-890) have no such window.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from barnabas import TopicPartition
from barnabas._kernel import Accumulator, scan_batches
from barnabas.client.produce.batches.partition_queue import PartitionQueue, PendingBatch

PRODUCER_ID = 7
MAX_IN_FLIGHT = 5
REMEMBERED_BATCHES = 5
STEPS = 250


@dataclass
class Request:
    pending: PendingBatch
    epoch: int
    sequence: int
    records: list[int]


@dataclass
class Leader:
    """What it knows of the one producer: its epoch, and its last batches as (first, last) sequence."""

    log: list[int] = field(default_factory=list)
    epoch: int = -1
    batches: list[tuple[int, int]] = field(default_factory=list)

    def append(self, request: Request) -> str:
        first, last = request.sequence, request.sequence + len(request.records) - 1
        if request.epoch < self.epoch:
            return "INVALID_PRODUCER_EPOCH"
        if request.epoch > self.epoch:
            # A producer that is not known at all may begin with any sequence.
            if self.epoch >= 0 and first != 0:
                return "OUT_OF_ORDER_SEQUENCE_NUMBER"
            self.epoch, self.batches = request.epoch, []
        elif (first, last) in self.batches:
            return "NONE"
        elif self.batches and first != self.batches[-1][1] + 1:
            return "OUT_OF_ORDER_SEQUENCE_NUMBER"
        self.batches = [*self.batches, (first, last)][-REMEMBERED_BATCHES:]
        self.log += request.records
        return "NONE"


class World:
    def __init__(self, chances: random.Random, *, may_expire: bool) -> None:
        self.chances = chances
        self.may_expire = may_expire
        self.accumulator = Accumulator(
            batch_size=10_000,
            buffer_memory=1 << 20,
            max_record_bytes=1 << 20,
            compression="none",
            compression_level=None,
            partitioner="murmur2",
            wake=lambda: None,
        )
        self.accumulator.set_partition_count("topic", 1)
        self.queue = PartitionQueue(TopicPartition("topic", 0), is_idempotent=True)
        self.queue.set_producer_id(PRODUCER_ID, 0)
        self.leader = Leader()
        self.connection: list[Request] = []
        self.answers: list[tuple[Request, str]] = []
        self.abandoned: list[Request] = []
        """Requests of connections that were given up, which the broker may still find and handle."""
        self.records_of: dict[PendingBatch, list[int]] = {}
        self.next_record = 0
        self.acknowledged: list[int] = []
        self.failed: set[int] = set()

    def add(self) -> None:
        records = [self.next_record + number for number in range(self.chances.randint(1, 3))]
        self.next_record += len(records)
        for record in records:
            self.accumulator.append("topic", 0, None, b"%d" % record, None, None)
        batch: Any = self.accumulator.drain("topic", 0)
        pending = self.queue.add(batch)
        self.records_of[pending] = records

    def send(self) -> None:
        pending = self.queue.next_to_send(MAX_IN_FLIGHT)
        if pending is not None:
            (header,) = scan_batches(self.queue.sent(pending))
            records = self.records_of[pending]
            self.connection.append(Request(pending, header.producer_epoch, header.base_sequence, records))

    def handle(self) -> None:
        """The leader handles the next request: refuses it for a passing reason, or judges it."""
        while self.may_expire and self.abandoned:
            self.handle_abandoned()
        if self.connection:
            request = self.connection.pop(0)
            is_refused = self.chances.random() < 0.1
            self.answers.append(
                (request, "NOT_ENOUGH_REPLICAS" if is_refused else self.leader.append(request))
            )

    def answer(self) -> None:
        if not self.answers:
            return
        request, code = self.answers.pop(0)
        pending = request.pending
        if pending not in self.queue.in_flight:
            return
        if code == "NONE":
            self.queue.succeeded(pending)
            self.acknowledged += request.records
        elif code == "NOT_ENOUGH_REPLICAS":
            self.queue.retry(pending, 0)
        elif code == "OUT_OF_ORDER_SEQUENCE_NUMBER":
            assert self.queue.sequence_refused(pending, 0)
        else:
            self.fail(pending)

    def drop_connection(self) -> None:
        """No answer of this connection comes any more; its requests may have been read or not."""
        kept = self.connection[: self.chances.randint(0, len(self.connection))]
        self.abandoned += kept
        self.connection, self.answers = [], []
        for pending in list(self.queue.in_flight):
            self.queue.retry(pending, 0)

    def handle_abandoned(self) -> None:
        if self.abandoned:
            self.leader.append(self.abandoned.pop(0))

    def expire(self) -> None:
        oldest = [*self.queue.in_flight, *self.queue.waiting]
        if self.may_expire and oldest:
            self.fail(oldest[0])

    def fail(self, pending: PendingBatch) -> None:
        self.queue.failed(pending)
        self.failed |= set(self.records_of[pending])

    def run(self) -> None:
        steps = {
            self.add: 8,
            self.send: 12,
            self.handle: 10,
            self.answer: 10,
            self.drop_connection: 1,
            self.handle_abandoned: 2,
            self.expire: 1,
        }
        for _ in range(STEPS):
            self.chances.choices(list(steps), list(steps.values()))[0]()
        for _ in range(STEPS * 100):
            if not self.queue.in_flight and not self.queue.waiting:
                break
            for step in (self.send, self.handle, self.answer):
                step()
        while self.abandoned:
            self.handle_abandoned()


@pytest.mark.parametrize("may_expire", [False, True], ids=["no batch expires", "batches expire"])
def test_nothing_is_lost_doubled_or_out_of_order_whatever_the_network_does(may_expire: bool) -> None:
    for seed in range(400):
        world = World(random.Random(seed), may_expire=may_expire)
        world.run()
        log = world.leader.log
        assert len(set(log)) == len(log), f"seed {seed}: a record is there twice"
        assert set(world.acknowledged) <= set(log), f"seed {seed}: an acknowledged record is not there"
        delivered = [record for record in log if record not in world.failed]
        assert delivered == sorted(delivered), f"seed {seed}: records are out of order"
        assert sorted([*world.acknowledged, *world.failed]) == list(range(world.next_record)), f"seed {seed}"
        if not may_expire:
            assert not world.failed, f"seed {seed}: a record failed that needed only time"
