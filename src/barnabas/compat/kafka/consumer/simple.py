"""SimpleConsumer of kafka-python 1: reads in the caller's thread, whenever its queue is empty."""

from __future__ import annotations

import itertools
import logging
import queue
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.consumer.base import (
    AUTO_COMMIT_INTERVAL,
    AUTO_COMMIT_MSG_COUNT,
    FETCH_BUFFER_SIZE_BYTES,
    FETCH_DEFAULT_BLOCK_TIMEOUT,
    FETCH_MAX_WAIT_TIME,
    FETCH_MIN_BYTES,
    ITER_TIMEOUT_SECONDS,
    MAX_FETCH_BUFFER_SIZE_BYTES,
    NO_MESSAGES_WAIT_TIME_SECONDS,
    Consumer,
)
from barnabas.compat.kafka.protocol.message import PartialMessage
from barnabas.compat.kafka.structs import (  # pyright: ignore[reportAttributeAccessIssue]
    FetchRequestPayload,  # pyright: ignore[reportUnknownVariableType]
    OffsetRequestPayload,  # pyright: ignore[reportUnknownVariableType]
)
from barnabas.compat.kafka_engine.simple.requests import EARLIEST, LATEST

__all__ = ["FetchContext", "SimpleConsumer"]

log = logging.getLogger("kafka.consumer.simple")

_TIMES = {"largest": LATEST, "smallest": EARLIEST}
_WHENCES = {0: EARLIEST, 2: LATEST}


class FetchContext:
    """Has a consumer's fetches wait for messages, for `timeout` seconds, or not at all, within a `with`."""

    def __init__(self, consumer: Any, block: Any, timeout: float | None) -> None:
        warnings.warn(
            "deprecated - this class will be removed in a future release", DeprecationWarning, stacklevel=2
        )
        self.consumer = consumer
        self.block = block
        self.timeout = (timeout or FETCH_DEFAULT_BLOCK_TIMEOUT) * 1000

    def __enter__(self) -> None:
        self.orig_fetch_max_wait_time = self.consumer.fetch_max_wait_time
        self.orig_fetch_min_bytes = self.consumer.fetch_min_bytes
        if self.block:
            self.consumer.fetch_max_wait_time = self.timeout
        self.consumer.fetch_min_bytes = 1 if self.block else 0

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        self.consumer.fetch_max_wait_time = self.orig_fetch_max_wait_time
        self.consumer.fetch_min_bytes = self.orig_fetch_min_bytes


class SimpleConsumer(Consumer):
    """A Consumer whose messages are OffsetAndMessages.

    A fetch asks for `buffer_size` bytes of a partition, and for twice as many each time that a message is
    larger, up to `max_buffer_size` (None: any number). `iter_timeout`: after how many seconds without a
    message iterating ends; never where it is None. `auto_offset_reset`: where to go on, "largest" or
    "smallest", when an offset is not there any more; anything else raises OffsetOutOfRangeError.
    """

    def __init__(
        self,
        client: Any,
        group: Any,
        topic: Any,
        auto_commit: bool = True,
        partitions: Iterable[int] | None = None,
        auto_commit_every_n: int | None = AUTO_COMMIT_MSG_COUNT,
        auto_commit_every_t: float | None = AUTO_COMMIT_INTERVAL,
        fetch_size_bytes: int = FETCH_MIN_BYTES,
        buffer_size: int = FETCH_BUFFER_SIZE_BYTES,
        max_buffer_size: int | None = MAX_FETCH_BUFFER_SIZE_BYTES,
        iter_timeout: float | None = None,
        auto_offset_reset: str = "largest",
    ) -> None:
        if max_buffer_size is not None and buffer_size > max_buffer_size:
            raise ValueError(
                f"buffer_size ({buffer_size}) is greater than max_buffer_size ({max_buffer_size})"
            )
        super().__init__(
            *(client, group, topic),
            partitions=partitions,
            auto_commit=auto_commit,
            auto_commit_every_n=auto_commit_every_n,
            auto_commit_every_t=auto_commit_every_t,
        )
        self.buffer_size = buffer_size
        self.max_buffer_size = max_buffer_size
        self.fetch_max_wait_time: float = FETCH_MAX_WAIT_TIME
        self.fetch_min_bytes = fetch_size_bytes
        self.fetch_offsets = self.offsets.copy()
        """The next one to be asked for, by partition: what lies before it is in the queue."""
        self.iter_timeout = iter_timeout
        self.auto_offset_reset = auto_offset_reset
        self.queue: queue.Queue[tuple[int, Any]] = queue.Queue()

    def __repr__(self) -> str:
        partitions = self.offsets.keys()
        return f"<SimpleConsumer group={self.group}, topic={self.topic}, partitions={partitions}>"

    def reset_partition_offset(self, partition: int) -> int | None:
        """Goes on where `auto_offset_reset` says: the offset, or None where brokers do not tell. Raises:
        OffsetOutOfRangeError where it says nothing, or what is being handled."""
        moment = _TIMES.get(self.auto_offset_reset)
        if moment is None:
            if sys.exception() is not None:
                raise
            raise Errors.OffsetOutOfRangeError(
                "Cannot reset partition offsets without a valid auto_offset_reset setting (largest|smallest)"
            )
        log.info(
            "Resetting topic-partition offset to %s for %s:%d", self.auto_offset_reset, self.topic, partition
        )
        try:
            (answer,) = self.client.send_offset_request(
                [OffsetRequestPayload(self.topic, partition, moment, 1)]
            )
        except Errors.KafkaError as error:
            log.error("%s sending offset request for %s:%d", type(error).__name__, self.topic, partition)
            return None
        self.offsets[partition] = self.fetch_offsets[partition] = answer.offsets[0]
        return answer.offsets[0]

    def seek(self, offset: int, whence: int | None = None, partition: int | None = None) -> None:
        """Goes to an offset of one partition, or of all. `whence`: None for that offset, 0 for so many after
        the first one, 1 for so many from where it is, 2 for so many after the end. With 0 and 2, all
        partitions together go so far."""
        wanted = list(self.offsets) if partition is None else [partition]
        if whence is None:
            self.offsets |= dict.fromkeys(wanted, offset)
        elif whence == 1:
            for each in wanted:
                self.offsets[each] += offset
        elif whence in _WHENCES:
            self.offsets |= self._sought(wanted, offset, _WHENCES[whence], is_split=partition is None)
        else:
            raise ValueError(f"Unexpected value for `whence`, {whence}")
        self.fetch_offsets = self.offsets.copy()
        self._count(1)
        if self.auto_commit:
            self.commit()
        self.queue = queue.Queue()

    def _sought(self, partitions: list[int], offset: int, moment: int, *, is_split: bool) -> dict[int, int]:
        deltas = dict.fromkeys(partitions, offset)
        if is_split:
            share, rest = divmod(offset, len(partitions))
            deltas = {each: share + (place < rest) for place, each in enumerate(partitions)}
        answers = self.client.send_offset_request(
            [OffsetRequestPayload(self.topic, each, moment, 1) for each in partitions]
        )
        return {each.partition: each.offsets[0] + deltas[each.partition] for each in answers}

    def get_messages(self, count: int = 1, block: Any = True, timeout: float | None = 0.1) -> list[Any]:
        """Up to `count` messages. With `block` it waits for all of them, or for so many where it is a number,
        for `timeout` seconds (None: without end)."""
        deadline = None if timeout is None else time.monotonic() + timeout
        messages: list[Any] = []
        offsets: dict[int, int] = {}
        while len(messages) < count:
            is_waiting = block is True or block > len(messages)
            remaining = None if deadline is None else deadline - time.monotonic()
            try:
                found = self._get_message(is_waiting, remaining, get_partition_info=True, update_offset=False)
            except Errors.KafkaError:
                # What was taken out of the queue would be lost. The next call meets the error again.
                if not messages:
                    raise
                break
            if found is None:
                if is_waiting and (deadline is None or time.monotonic() <= deadline):
                    continue
                break
            partition, message = found
            messages.append(found if self.partition_info else message)
            offsets[partition] = message.offset + 1
        self.offsets.update(offsets)
        self._count(len(messages))
        self._auto_commit()
        return messages

    def get_message(
        self, block: Any = True, timeout: float | None = 0.1, get_partition_info: bool | None = None
    ) -> Any:
        """The next message, or None where there is none within `timeout` seconds. `get_partition_info`:
        whether it comes as (partition, message), in place of what `provide_partition_info` said."""
        return self._get_message(block, timeout, get_partition_info)

    def _get_message(
        self,
        block: Any = True,
        timeout: float | None = 0.1,
        get_partition_info: bool | None = None,
        update_offset: bool = True,
    ) -> Any:
        ready = self.queue.queue
        if not ready:
            self._fill(block, timeout)
            if not ready:
                return None
        partition, message = ready.popleft()
        if update_offset:
            self.offsets[partition] = message.offset + 1
            self._count(1)
            self._auto_commit()
        if get_partition_info is None:
            get_partition_info = self.partition_info
        return (partition, message) if get_partition_info else message

    def _fill(self, block: Any, timeout: float | None) -> None:
        """Fetches until there is a message, or for so long."""
        deadline = time.monotonic() + (FETCH_DEFAULT_BLOCK_TIMEOUT if timeout is None else timeout)
        while not self.queue.queue:
            with FetchContext(self, block, None if timeout is None else max(timeout, 0.001)):
                self._fetch()
            if not block or time.monotonic() > deadline:
                return

    def __iter__(self) -> Iterator[Any]:
        timeout = ITER_TIMEOUT_SECONDS if self.iter_timeout is None else self.iter_timeout
        while True:
            message = self.get_message(True, timeout)
            if message is not None:
                yield message
            elif self.iter_timeout is None:
                time.sleep(NO_MESSAGES_WAIT_TIME_SECONDS)
            else:
                return

    def _fetch(self) -> None:
        """Asks once for all partitions, and again for those that need more room or could not be asked."""
        if not self.fetch_offsets:
            time.sleep(NO_MESSAGES_WAIT_TIME_SECONDS)
        sizes = dict.fromkeys(self.fetch_offsets, self.buffer_size)
        for attempt in itertools.count():
            again = self._fetch_once(sizes)
            # Leaders that cannot be asked are asked once more, and then when the program calls again.
            sizes = {each: size for each, size in again.items() if attempt == 0 or size > sizes[each]}
            if not sizes:
                return

    def _fetch_once(self, sizes: dict[int, int]) -> dict[int, int]:
        """Asks for so many bytes of each partition. Those to be asked again, and for how many."""
        requests = [
            FetchRequestPayload(self.topic, each, self.fetch_offsets[each], size)
            for each, size in sizes.items()
        ]
        answers = self.client.send_fetch_request(
            requests,
            max_wait_time=int(self.fetch_max_wait_time),
            min_bytes=self.fetch_min_bytes,
            fail_on_error=False,
        )
        again: dict[int, int] = {}
        for answer in answers:
            try:
                Errors.check_error(answer)
            except Errors.UnknownTopicOrPartitionError:
                log.error("UnknownTopicOrPartitionError for %s:%d", answer.topic, answer.partition)
                self.client.reset_topic_metadata(answer.topic)
                raise
            except Errors.NotLeaderForPartitionError:
                log.error("NotLeaderForPartitionError for %s:%d", answer.topic, answer.partition)
                self.client.reset_topic_metadata(answer.topic)
            except Errors.OffsetOutOfRangeError:
                log.warning(
                    "OffsetOutOfRangeError for %s:%d. Resetting partition offset...",
                    *(answer.topic, answer.partition),
                )
                self.reset_partition_offset(answer.partition)
                again[answer.partition] = sizes[answer.partition]
            except Errors.FailedPayloadsError as error:
                partition = error.payload.partition
                log.warning("FailedPayloadsError for %s:%d", error.payload.topic, partition)
                again[partition] = sizes[partition]
            else:
                size = self._take(answer, sizes[answer.partition])
                if size is not None:
                    again[answer.partition] = size
        return again

    def _take(self, answer: Any, size: int) -> int | None:
        """Queues what came: how many bytes to ask for next where that was too little room. Raises:
        ConsumerFetchSizeTooSmall."""
        partition, messages = answer.partition, answer.messages
        larger: int | None = None
        if messages and isinstance(messages[-1].message, PartialMessage):
            most = self.max_buffer_size
            if most is not None and size == most and len(messages) == 1:
                log.error("Max fetch size %d too small", most)
                raise Errors.ConsumerFetchSizeTooSmall
            larger = size * 2 if most is None else min(size * 2, most)
            log.warning("Fetch size too small, increase to %d (2x) and retry", larger)
            messages.pop()
        offset = self.fetch_offsets[partition]
        # Only this thread takes messages, and never waits for one: a queue of its own is enough.
        self.queue.queue.extend([(partition, each) for each in messages if each.offset >= offset])
        if messages:
            self.fetch_offsets[partition] = max(offset, messages[-1].offset + 1)
        return larger
