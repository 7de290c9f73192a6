"""Messages of topics that are not known yet: their age, and their place before what comes later."""

from __future__ import annotations

import threading
import time
from typing import Any

from barnabas._kernel import (
    Accumulator,
    EventQueue,
    MessageSender,
    ParkedMessages,
    ProducerBatch,
    RecordReader,
)


class Sender(MessageSender):
    """As the Producer is: hears of what is parked."""

    def _before_parking(self, topic: str) -> None:
        pass

    def _after_parking(self, topic: str) -> None:
        pass


def open_sender() -> tuple[Sender, Accumulator, ParkedMessages]:
    accumulator = Accumulator(
        batch_size=1 << 20,
        buffer_memory=1 << 25,
        max_record_bytes=1 << 20,
        compression="none",
        compression_level=None,
        partitioner="murmur2",
        wake=lambda: None,
    )
    sender = Sender()
    parked = sender._open(
        accumulator,
        EventQueue(),
        max_messages=1 << 20,
        max_bytes=1 << 30,
        max_message_bytes=1 << 20,
        error_of=lambda error: error,
        only_errors=False,
        default_callback=None,
    )
    return sender, accumulator, parked


def drained(accumulator: Accumulator) -> list[ProducerBatch]:
    return [batch for batch in iter(lambda: accumulator.drain("t", 0), None) if batch is not None]


def values_of(batches: list[ProducerBatch]) -> list[bytes]:
    data = b"".join(bytes(batch.encode()) for batch in batches)
    return [record.value or b"" for record in RecordReader("t", 0, data)]


def test_a_message_keeps_its_age_when_its_topic_becomes_known() -> None:
    sender, accumulator, parked = open_sender()
    before_ms = time.monotonic() * 1000
    sender.produce("t", b"early")
    after_ms = time.monotonic() * 1000
    while time.monotonic() * 1000 < after_ms + 20:
        pass
    accumulator.set_partition_count("t", 1)
    parked.unpark("t")
    sender.produce("t", b"late")
    [batch] = drained(accumulator)
    assert before_ms - 1 <= batch.created_ms <= after_ms + 1


def test_what_is_too_old_by_the_monotonic_clock_fails_and_the_rest_waits_on() -> None:
    sender, _, parked = open_sender()
    sender.produce("t", b"early")
    between_ms = time.monotonic() * 1000
    while time.monotonic() * 1000 < between_ms + 2:
        pass
    sender.produce("t", b"late")
    assert parked.fail("t", ValueError("too old"), until_ms=between_ms) == 1
    assert parked.topics() == ["t"]
    assert parked.fail("t", ValueError("too old")) == 1
    assert parked.topics() == []


def test_a_thread_that_produces_while_its_topic_becomes_known_comes_behind_what_is_parked() -> None:
    for _ in range(20):
        sender, accumulator, parked = open_sender()
        for number in range(100):
            sender.produce("t", b"%06d" % number)
        accumulator.set_partition_count("t", 1)
        # The partitions are known, and the messages are parked yet: a message now may not overtake them.
        sender.produce("t", b"%06d" % 100)

        def produce(sender: Any = sender) -> None:
            for number in range(101, 2_000):
                sender.produce("t", b"%06d" % number)

        producing = threading.Thread(target=produce)
        producing.start()
        parked.unpark("t")
        producing.join()
        parked.unpark("t")
        assert values_of(drained(accumulator)) == [b"%06d" % number for number in range(2_000)]
