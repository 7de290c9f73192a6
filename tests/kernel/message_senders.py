"""Senders of messages whose batches a test takes out itself."""

from __future__ import annotations

from barnabas._kernel import Accumulator, EventQueue, MessageSender, ParkedMessages, ProducerBatch


class Sender(MessageSender):
    """As the Producer is: hears of what is parked."""

    def _before_parking(self, topic: str) -> None:
        pass

    def _after_parking(self, topic: str) -> None:
        pass


def opened_sender(events: EventQueue) -> tuple[Sender, Accumulator, ParkedMessages]:
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
        events,
        max_messages=1 << 20,
        max_bytes=1 << 30,
        max_message_bytes=1 << 20,
        error_of=lambda error: error,
        only_errors=False,
        default_callback=None,
    )
    return sender, accumulator, parked


def drained(accumulator: Accumulator) -> list[ProducerBatch]:
    return list(iter(lambda: accumulator.drain("t", 0), None))
