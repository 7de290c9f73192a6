"""What interceptors are. A consumer's sees records before the caller does, and what was committed; a
producer's sees records before they are sent, and where they were stored, or why not.

    class Count(ConsumerInterceptor):
        def on_consume(self, records): ...

    Consumer(..., interceptors=[Count()])

Given to a client as they are; called in the order of the setting, each with what the one before gave. Knows
nothing of clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.errors import BarnabasError
from barnabas.types import OffsetAndMetadata, ProducerRecord, TopicPartition

if TYPE_CHECKING:
    from barnabas._kernel import Record, RecordMetadata


class ProducerInterceptor:
    """Override what is needed. What a method raises is logged and changes nothing (as in Java). With Python
    to call for each record, sending is several times slower."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """The record to send in place of this one; its partition is chosen after that. Called in the thread
        that sends. `send_arrow` has columns, not records, and calls no interceptor."""
        return record

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: BarnabasError | None) -> None:
        """A record was delivered, or failed: one of the two is None. Called on the event loop's thread,
        before the record's own on_delivery; in the thread that sends for one that was not handed over."""

    def close(self) -> None:
        """The producer was closed. Called on the event loop's thread."""


class ConsumerInterceptor:
    """Override what is needed. What a method raises is logged and changes nothing (as in Java)."""

    def on_consume(self, records: list[Record]) -> list[Record]:
        """The records to return in place of these, which were just taken from what was fetched; called in the
        thread that polls. Those that a seek, a pause or another poll gives back unread are seen again.
        `poll_arrow` makes columns, not records, and calls no interceptor."""
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These offsets were committed. Called on the event loop's thread: it should not wait."""

    def close(self) -> None:
        """The consumer was closed. Called on the event loop's thread."""
