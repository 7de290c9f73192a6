"""A producer's records, whose batches a test decides and whose teller it lets run when it likes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from barnabas._kernel import (
    Accumulator,
    FutureRecordMetadata,
    ProducerBatch,
    RecordTeller,
    TopicSender,
    Waker,
)


class Partition(NamedTuple):
    topic: str
    partition: int


class Metadata(NamedTuple):
    topic: str
    partition: int
    topic_partition: Partition
    offset: int
    timestamp: int
    checksum: None
    key_size: int
    value_size: int
    header_size: int


class Failure(Exception):
    pass


class Producer(TopicSender):
    """Fails the test where the kernel wants Python's help, but for what it is told to expect."""

    slow: list[tuple[Any, ...]]

    def _send_slowly(self, *arguments: Any) -> str:
        self.slow.append(("slowly", *arguments))
        return "slow"

    def _send_serialized(self, *arguments: Any) -> str:
        self.slow.append(("serialized", *arguments))
        return "slow"

    def _serializer_raised(self, *arguments: Any) -> str:
        self.slow.append(("raised", *arguments))
        return "slow"


class Bench:
    def __init__(
        self,
        *,
        has_attributes: bool = False,
        wake: Waker | Callable[[], None] = lambda: None,
        partition: int = 2,
        **options: Any,
    ) -> None:
        def failure(error: BaseException) -> Failure:
            return Failure(str(error))

        self.logged: list[tuple[str, BaseException]] = []
        self.teller = RecordTeller(
            record_metadata=Metadata,
            topic_partition=Partition,
            has_sizes=True,
            error_of=failure,
            is_retriable=lambda error: "again" in str(error),
            timed_out=lambda timeout: TimeoutError(f"after {timeout}"),
            log_failure=lambda kind, error: self.logged.append((kind, error)),
            partial=partial,
            awaited=lambda future: iter([future.is_done]),  # pyright: ignore[reportArgumentType]
            has_attributes=has_attributes,
        )
        self.accumulator = Accumulator(
            batch_size=1 << 20,
            buffer_memory=1 << 25,
            max_record_bytes=1 << 20,
            compression="none",
            compression_level=None,
            partitioner="murmur2",
            wake=wake,
        )
        self.accumulator.set_partition_count("t", 3)
        self.producer = Producer()
        self.producer.slow = []
        self.producer._append_directly_to(self.accumulator, self.teller, **options)  # pyright: ignore[reportPrivateUsage]
        self._partition = partition
        self._thread: threading.Thread | None = None

    def send(self, count: int) -> list[FutureRecordMetadata]:
        return [
            self.producer.send("t", b"value", b"k", [("h", b"12")], self._partition, 1000 + index)
            for index in range(count)
        ]

    def drain(self) -> ProducerBatch:
        batch = self.accumulator.drain("t", self._partition)
        assert batch is not None
        return batch

    def let_tell(self) -> None:
        """Lets the teller begin."""
        if self._thread is None:
            self._thread = threading.Thread(target=self.teller.run, name="teller")
            self._thread.start()

    def tell(self) -> None:
        """Lets the teller begin, and waits until it has told what is decided."""
        self.let_tell()
        assert self.teller.wait(20)

    def close(self) -> None:
        self.teller.end()
        if self._thread is not None:
            self._thread.join()
