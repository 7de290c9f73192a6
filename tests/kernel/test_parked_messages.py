"""Messages of topics that are not known yet: their age, and their place before what comes later."""

from __future__ import annotations

import threading
import time
from typing import Any

from tests.kernel.message_senders import drained, opened_sender

from barnabas._kernel import EventQueue, ProducerBatch, RecordReader


def values_of(batches: list[ProducerBatch]) -> list[bytes]:
    data = b"".join(bytes(batch.encode()) for batch in batches)
    return [record.value or b"" for record in RecordReader("t", 0, data)]


def test_a_message_keeps_its_age_when_its_topic_becomes_known() -> None:
    sender, accumulator, parked = opened_sender(EventQueue())
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
    sender, _, parked = opened_sender(EventQueue())
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
        sender, accumulator, parked = opened_sender(EventQueue())
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
