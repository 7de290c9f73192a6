"""Programs that copy from one topic to another in transactions, each now and then replaced by another with
its transactional id while it still runs: the copy is the same as the original, to the record and its place.

`python -m tests.client.models.copied_world 50` runs 50 seeds, and prints a digest of all that was sent in
each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from barnabas._kernel import Record
from barnabas.aio import Consumer, Producer
from barnabas.errors import BarnabasError, KafkaTimeoutError, TransactionFailedError
from barnabas.types import OffsetAndMetadata, TopicPartition

from .stage import Stage, membership, show

STEPS = 20
SOURCE = "in"
COPY = "out"
PARTITIONS = (0, 1, 2)
GROUP = "copiers"


class CopiedWorld:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._chance = stage.chance
        self.acknowledged: set[str] = set()
        self.commits = 0
        self._is_written = False
        self._lives: dict[str, int] = {}
        """By transactional id: how many programs have had it; the last one is to go on."""
        self._membership = membership(self._chance)

    async def live(self) -> None:
        stage = self._stage
        for topic in (SOURCE, COPY):
            await stage.cluster.create(topic, [1, 2, 3], [2, 3, 1], [3, 1, 2], min_insync_replicas="2")
        stage.start("writer", self._write())
        for transactional_id in ("red", "green"):
            self._start_copier(transactional_id)
        stage.start("replacing", self._replace())
        await stage.live(STEPS, self._is_copied)
        await self._check()

    async def _write(self) -> None:
        count = 0
        async with Producer(self._stage.bootstrap_servers, linger_ms=5) as producer:
            while not self._stage.is_calm:
                count += 1
                value = str(count)
                try:
                    await (
                        await producer.send(SOURCE, value.encode(), partition=self._chance.choice(PARTITIONS))
                    )
                    self.acknowledged.add(value)
                except BarnabasError:
                    # It may have been stored.
                    pass
                await self._stage.pause()
        self._is_written = True

    # Programs that copy

    async def _replace(self) -> None:
        while not self._stage.is_calm:
            await self._stage.pause()
            if self._chance.random() < 0.05:
                self._start_copier(self._chance.choice([*self._lives]))

    def _start_copier(self, transactional_id: str) -> None:
        life = self._lives[transactional_id] = self._lives.get(transactional_id, 0) + 1
        self._stage.start(f"{transactional_id} {life}", self._copy(transactional_id, life))

    def _goes_on(self, transactional_id: str, life: int) -> bool:
        return not self._stage.is_over and self._lives[transactional_id] == life

    async def _copy(self, transactional_id: str, life: int) -> None:
        """Until an error that only a new producer helps after finds this program replaced."""
        name = f"{transactional_id} {life}"
        consumer = Consumer(
            self._stage.bootstrap_servers,
            topics=[SOURCE],
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            client_id=name,
            **self._membership,
        )
        async with consumer:
            while self._goes_on(transactional_id, life):
                producer = Producer(
                    self._stage.bootstrap_servers,
                    transactional_id=transactional_id,
                    transaction_timeout_ms=20_000,
                    client_id=name,
                )
                async with producer:
                    try:
                        await _until_done(producer.init_transactions)
                        while not self._stage.is_over:
                            await self._copy_some(consumer, producer)
                            await self._stage.pause()
                    except BarnabasError:
                        # This producer can do no more.
                        await self._rewind(consumer)

    async def _copy_some(self, consumer: Consumer, producer: Producer) -> None:
        """Raises: BarnabasError after which only a new producer helps."""
        try:
            records = await consumer.poll(0.1, max_records=self._chance.choice((1, 5, 500)))
        except BarnabasError:
            return
        if not records:
            return
        await producer.begin_transaction()
        try:
            for record in records:
                await producer.send(COPY, record.value, partition=record.partition)
                if self._chance.random() < 0.05:
                    await self._stage.pause()
            if self._chance.random() < 0.05:
                raise TransactionFailedError("the model aborts this one")
            await producer.send_offsets_to_transaction(_after(records), consumer.group_metadata())
            await _until_done(producer.commit_transaction)
            self.commits += 1
        except (TransactionFailedError, KafkaTimeoutError):
            await _until_done(producer.abort_transaction)
            await self._rewind(consumer)

    async def _rewind(self, consumer: Consumer) -> None:
        """To what is committed."""
        while not self._stage.is_over:
            try:
                committed = await consumer.committed(consumer.assignment())
            except BarnabasError:
                await self._stage.pause()
                continue
            for partition, position in committed.items():
                if position is None:
                    consumer.seek_to_beginning(partition)
                else:
                    consumer.seek(partition, position)
            return

    # In the end

    async def _is_copied(self) -> bool:
        if not self._is_written:
            return False
        copied: set[str] = set()
        for partition in PARTITIONS:
            copied.update(value for _, value in await self._stage.log_of(COPY, partition))
        return self.acknowledged <= copied

    async def _check(self) -> None:
        for partition in PARTITIONS:
            original = [value for _, value in await self._stage.log_of(SOURCE, partition)]
            copy = [value for _, value in await self._stage.log_of(COPY, partition)]
            # What was not acknowledged may be there and not be copied yet.
            assert copy == original[: len(copy)], f"partition {partition}: the copy differs"


def _after(records: list[Record]) -> dict[TopicPartition, OffsetAndMetadata]:
    """With leader epochs (KIP-320). Without one, whoever begins there would believe a deposed leader, parted
    from the others, that there is no such offset, as with Apache Kafka's clients, and copy all once more."""
    return {
        TopicPartition(record.topic, record.partition): OffsetAndMetadata(
            record.offset + 1, leader_epoch=record.leader_epoch
        )
        for record in records
    }


async def _until_done(call: Callable[[], Awaitable[None]]) -> None:
    """A call that goes on when it has timed out, and is made again then to wait on."""
    while True:
        try:
            await call()
        except KafkaTimeoutError:
            continue
        return


if __name__ == "__main__":
    show(CopiedWorld)
