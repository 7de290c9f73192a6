"""Transactions at random, with restarts in good order and as by kill -9, against a model: no acknowledged
record is lost, and read_committed shows what was committed and nothing else.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas import _kernel
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.server import Broker
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest

from .session import Session

TOPIC, GROUP = "t", "g"
PARTITIONS = (0, 1)
CONFIG = {"log.segment.bytes": "2000", "offsets.topic.num.partitions": "3"}


@dataclass
class Open:
    """A transaction that has not ended."""

    number: int
    added: set[int] = field(default_factory=set[int])
    offset: int | None = None
    """The position of GROUP that it commits, and when it did."""
    offset_order: int = -1


@dataclass
class Producer:
    transactional_id: str
    version: int
    """Of the protocol: 1 or 2."""
    identity: tuple[int, int] = (-1, -1)
    sequences: dict[int, int] = field(default_factory=dict[int, int])
    open: Open | None = None


class Model:
    """What has been acknowledged."""

    def __init__(self) -> None:
        self.records: dict[int, list[tuple[int, bytes, int]]] = {number: [] for number in PARTITIONS}
        """(offset, value, transaction) by partition; -1 for records outside of any."""
        self.committed: set[int] = {-1}
        self.open: dict[int, Open] = {}
        self.position, self.position_order = -1, -1
        self.count = 0

    def next(self) -> int:
        self.count += 1
        return self.count

    def end(self, transaction: Open, *, commit: bool) -> None:
        del self.open[transaction.number]
        if commit:
            self.committed.add(transaction.number)
            if transaction.offset is not None and transaction.offset_order > self.position_order:
                self.position, self.position_order = transaction.offset, transaction.offset_order

    def shown(self, partition: int) -> list[tuple[int, bytes]]:
        unstable = [offset for offset, _, number in self.records[partition] if number in self.open]
        return [
            (offset, value)
            for offset, value, number in self.records[partition]
            if number in self.committed and offset < min(unstable, default=1 << 60)
        ]


class World:
    """A broker in this process, and what was done to it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lives = 0
        self.model = Model()
        self.producers = [Producer(f"p{number}", 1 + number % 2) for number in range(3)]
        self.plain = Producer("", 2)

    async def start(self) -> None:
        self.broker = Broker(self._directory / str(self._lives), config=CONFIG)
        await self.broker.start()
        self.session = await Session.open(self.broker.bootstrap)

    async def stop(self) -> None:
        self.session.close()
        await self.broker.stop()

    async def restart(self, *, crash: bool) -> None:
        """A crash leaves the files as they are between two requests."""
        before, self._lives = self._directory / str(self._lives), self._lives + 1
        after = self._directory / str(self._lives)
        if crash:
            shutil.copytree(before, after)
        await self.stop()
        if not crash:
            before.rename(after)
        await self.start()

    async def begin_all(self) -> None:
        await self.session.create_topic(TOPIC, len(PARTITIONS))
        await self.session.find_coordinators("p0", GROUP)
        for producer in self.producers:
            producer.identity = await self.session.init(producer.transactional_id)
        self.plain.identity = await self.session.init(None)

    def _in_transaction(self, producer: Producer) -> Open:
        if producer.open is None:
            producer.open = Open(self.model.next())
            self.model.open[producer.open.number] = producer.open
        return producer.open

    def _expect(self, what: str) -> None:
        assert self.session.said[-1][:2] == (what, "NONE"), self.session.said[-1]

    async def write(self, who: int, partition: int, count: int) -> None:
        producer = self.producers[who]
        transaction = self._in_transaction(producer)
        if producer.version == 1 and partition not in transaction.added:
            await self.session.add_partitions(
                producer.transactional_id, producer.identity, (TOPIC, partition)
            )
            assert self.session.said[-1][1][2] == "NONE"
            transaction.added.add(partition)
        await self._produce(producer, partition, count, transaction.number)

    async def write_plainly(self, partition: int, count: int) -> None:
        await self._produce(self.plain, partition, count, -1)

    async def _produce(self, producer: Producer, partition: int, count: int, number: int) -> None:
        values = [f"{number} {self.model.next()}" for _ in range(count)]
        sequence = producer.sequences.get(partition, 0)
        for _ in range(2):  # the second one is a repetition that must change nothing
            await self.session.produce(
                TOPIC,
                values,
                producer.identity,
                sequence,
                transactional_id=producer.transactional_id or None,
                partition=partition,
                version=12 if producer.version == 2 else 11,
            )
            self._expect("produce")
        base_offset = self.session.said[-1][2]
        producer.sequences[partition] = sequence + count
        self.model.records[partition].extend(
            (base_offset + index, value.encode(), number) for index, value in enumerate(values)
        )

    async def commit_offset_in_transaction(self, who: int) -> None:
        producer = self.producers[who]
        transaction = self._in_transaction(producer)
        if producer.version == 1:
            await self.session.add_offsets(producer.transactional_id, producer.identity, GROUP)
            self._expect("add offsets")
        offset = self.model.next()
        await self.session.commit_offsets(
            producer.transactional_id,
            producer.identity,
            GROUP,
            TOPIC,
            offset,
            version=5 if producer.version == 2 else 3,
        )
        self._expect("commit offsets")
        transaction.offset, transaction.offset_order = offset, offset

    async def commit_offset(self) -> None:
        offset = self.model.next()
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset, committed_metadata=None)
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
        answer = await self.session.send(OffsetCommitRequest(GROUP, topics=topics), 8)
        assert answer.topics[0].partitions[0].error_code == 0
        self.model.position, self.model.position_order = offset, offset

    async def end(self, who: int, *, commit: bool) -> None:
        producer = self.producers[who]
        if producer.open is None:
            return
        for _ in range(2):  # the second one as if the first answer had been lost
            goes_on = await self.session.end(
                producer.transactional_id,
                producer.identity,
                commit=commit,
                version=5 if producer.version == 2 else 3,
            )
            self._expect("end")
        if producer.version == 2:
            producer.identity = goes_on
            producer.sequences.clear()
        self.model.end(producer.open, commit=commit)
        producer.open = None

    async def begin_anew(self, who: int) -> None:
        producer = self.producers[who]
        identity = await self.session.init(producer.transactional_id)
        if producer.open is not None:
            assert self.session.said[-1][1] == "CONCURRENT_TRANSACTIONS"
            self.model.end(producer.open, commit=False)
            producer.open = None
            identity = await self.session.init(producer.transactional_id)
        self._expect("init")
        producer.identity = identity
        producer.sequences.clear()

    # Looking

    async def check(self) -> None:
        for partition in PARTITIONS:
            everything = [(offset, value) for offset, value, _ in self.model.records[partition]]
            assert await self._read(partition, committed=False) == everything
            assert await self._read(partition, committed=True) == self.model.shown(partition)
        await self.session.committed_offset(GROUP, TOPIC, stable=False)
        assert self.session.said[-1][2] == self.model.position

    async def _read(self, partition: int, *, committed: bool) -> list[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        offset = 0
        while True:
            wanted = FetchRequest.FetchPartition(
                partition=partition, fetch_offset=offset, partition_max_bytes=700
            )
            topics = [FetchRequest.FetchTopic(topic=TOPIC, partitions=[wanted])]
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                isolation_level=int(committed),
                session_epoch=-1,
                topics=topics,
            )
            data = (await self.session.send(request, 12)).responses[0].partitions[0]
            assert data.error_code == 0
            aborted = [(span.producer_id, span.first_offset) for span in data.aborted_transactions or ()]
            reader = _kernel.RecordReader(
                TOPIC,
                partition,
                data.records,
                fetch_offset=offset,
                aborted=aborted if committed else None,
            )
            found.extend((record.offset, record.value or b"") for record in reader)
            if reader.next_offset == offset:
                return found
            offset = reader.next_offset


WHO = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), WHO, st.sampled_from(PARTITIONS), st.integers(1, 4)),
        st.tuples(st.just("write"), WHO, st.sampled_from(PARTITIONS), st.integers(1, 4)),
        st.tuples(st.just("write_plainly"), st.sampled_from(PARTITIONS), st.integers(1, 4)),
        st.tuples(st.just("commit_offset_in_transaction"), WHO),
        st.tuples(st.just("commit_offset")),
        st.tuples(st.just("commit"), WHO),
        st.tuples(st.just("abort"), WHO),
        st.tuples(st.just("begin_anew"), WHO),
        st.tuples(st.sampled_from(["crash", "restart"])),
    ),
    min_size=5,
    max_size=40,
)


def play(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory() as directory:
            world = World(Path(directory))
            await world.start()
            try:
                await world.begin_all()
                await scenario(world)
            finally:
                await world.stop()

    asyncio.run(main())


@settings(max_examples=40)
@given(STEPS)
def test_whatever_happens_in_whatever_order_committed_data_shows_and_no_other(
    steps: list[tuple[Any, ...]],
) -> None:
    async def scenario(world: World) -> None:
        for name, *arguments in steps:
            if name in ("commit", "abort"):
                await world.end(*arguments, commit=name == "commit")
            elif name in ("crash", "restart"):
                await world.restart(crash=name == "crash")
                await world.check()
            else:
                await getattr(world, name)(*arguments)
        await world.check()
        await world.restart(crash=True)
        await world.check()
        for who in range(3):
            await world.end(who, commit=True)
        await world.check()

    play(scenario)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("writes", range(7))
def test_a_decision_is_carried_out_though_the_broker_dies_after_any_write(
    who: int, writes: int, commit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk takes so many more writes and then none, until the broker is killed and finds a good one."""

    async def scenario(world: World) -> None:
        await world.write(who, 0, 2)
        await world.write_plainly(0, 1)
        await world.write(who, 1, 1)
        await world.commit_offset_in_transaction(who)
        producer, write, left = world.producers[who], PartitionLog._write, writes  # pyright: ignore[reportPrivateUsage]

        def write_while_it_lasts(log: PartitionLog, *arguments: Any) -> Any:
            nonlocal left
            if left == 0:
                raise log._storage_error(OSError(28, "full"))  # pyright: ignore[reportPrivateUsage]
            left -= 1
            return write(log, *arguments)

        with monkeypatch.context() as patched:
            patched.setattr(PartitionLog, "_write", write_while_it_lasts)
            version = 5 if producer.version == 2 else 3
            await world.session.end_once(
                producer.transactional_id, producer.identity, commit=commit, version=version
            )
            assert world.session.said[-1][1] == ("COORDINATOR_NOT_AVAILABLE" if writes == 0 else "NONE")
        await world.restart(crash=True)
        await world.end(who, commit=commit)
        await world.check()

    play(scenario)
