"""The records of one open KafkaConsumer: what is lent to its poller, what was taken, and which errors of
partitions a program hears of.

Positions move when a loan ends, which every call sees to that looks at them: so nothing is committed that was
not handed out.
"""
# The methods of RecordPoller that are not for programs have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from barnabas._kernel import RecordPoller
from barnabas.broker_errors import OffsetOutOfRangeError, UnknownTopicOrPartitionError
from barnabas.client.consume.consumer_core import ConsumerCore
from barnabas.client.consume.failures import Failure
from barnabas.compat.kafka_engine.values.errors import CLASSES
from barnabas.compat.kafka_engine.values.failures import failure_of, no_offset
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.errors import BootstrapError, CorruptBatchError, KafkaConnectionError, KafkaTimeoutError
from barnabas.sync.reader_loans import Lent, ReaderLoans, Returned
from barnabas.types import OffsetAndMetadata, TopicPartition

log = logging.getLogger("kafka.consumer.fetcher")

RETRY_SECONDS = 1.0

RecordsByPartition = dict[Any, list[Any]]


class RecordLoans(ReaderLoans[RecordPoller]):
    """Belongs to the thread that polls."""

    def __init__(self, core: ConsumerCore, poller_of: Callable[[], RecordPoller | None]) -> None:
        super().__init__(core, poller_of)
        self.is_ending = False
        """Whether the consumer is being closed: what is handed out now nobody asks for again."""
        self._struct_of: dict[TopicPartition, Any] = {}

    def take(self, max_records: int) -> RecordsByPartition:
        """Up to `max_records` records, by kafka-python's TopicPartition, while nothing is lent. Raises: what
        a deserializer raises; what a program is to see of errors of partitions."""
        taken: RecordsByPartition = {}
        missing = max_records
        while missing > 0 and (found := self._buffer.lend() if taken else self._next_reader()):
            state, reader = found
            try:
                records, refused = self.poller._take(reader, missing)
            except CorruptBatchError as error:
                self._buffer.stop(state, reader, error)
                if taken:
                    break
                continue
            is_exhausted = not records and refused is None
            self._buffer.settle(state, reader, len(records), is_exhausted=is_exhausted)
            if records:
                partition = self._struct(state.partition)
                taken[partition] = taken[partition] + records if partition in taken else records
                missing -= len(records)
            if refused is not None:
                offset, error = refused
                self._partitions.seek(state.partition, offset)
                if not taken:
                    raise error
                # It comes again, as the first of its poll.
                break
        return taken

    def was_refused(self, offset: int) -> None:
        """A deserializer raised an error for a record of the loan: it is the next one again."""
        lent = self._lent
        self.take_back()
        if lent is not None:
            self._partitions.seek(lent[1].partition, offset)

    def _note(self, lent: Lent, returned: Returned, position: int, is_exhausted: bool) -> None:
        _, _, taken, next_offset, _ = returned
        partition = lent[1].partition
        being_made = self.poller._being_made if self.is_ending else None
        if being_made is not None:
            # Another thread makes it, and its deserializer may refuse it yet: it does not count.
            self._partitions.seek(partition, being_made)
        elif taken:
            # All but the last: that is what the program has in hand.
            self._partitions.note_handled({partition: OffsetAndMetadata(next_offset - 1)})

    def _error_of(self, failure: Failure) -> BaseException | None:
        """None for what a consumer of kafka-python only logs, and tries again."""
        error, partition = failure.error, failure.partition
        if partition is not None:
            # What is wrong is asked for again, and told again, until it is not any more.
            self._try_again_later(partition, RETRY_SECONDS)
        if isinstance(error, OffsetOutOfRangeError) and partition is not None:
            if failure.position < 0:
                return no_offset(self._struct(partition))
            return CLASSES["OffsetOutOfRangeError"]({self._struct(partition): failure.position})
        if isinstance(
            error,
            (UnknownTopicOrPartitionError, KafkaConnectionError, BootstrapError, KafkaTimeoutError),
        ):
            log.warning("%s", error)
            return None
        return failure_of(error)

    def _struct(self, partition: TopicPartition) -> Any:
        struct = self._struct_of.get(partition)
        if struct is None:
            struct = self._struct_of[partition] = STRUCTS["TopicPartition"](*partition)
        return struct
