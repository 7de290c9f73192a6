"""Consumer: what SimpleConsumer and MultiProcessConsumer of kafka-python 1 have in common.

Owns the offsets up to which a program got messages, and committing them. Knows nothing of how they are read.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import numbers
import warnings
from collections.abc import Iterable
from threading import Lock
from typing import Any

from barnabas.compat.kafka.errors import (  # pyright: ignore[reportAttributeAccessIssue]
    KafkaError,  # pyright: ignore[reportUnknownVariableType]
    UnknownTopicOrPartitionError,  # pyright: ignore[reportUnknownVariableType]
    check_error,
)
from barnabas.compat.kafka.structs import (  # pyright: ignore[reportAttributeAccessIssue]
    OffsetCommitRequestPayload,  # pyright: ignore[reportUnknownVariableType]
    OffsetFetchRequestPayload,  # pyright: ignore[reportUnknownVariableType]
    OffsetRequestPayload,  # pyright: ignore[reportUnknownVariableType]
)
from barnabas.compat.kafka.util import ReentrantTimer
from barnabas.compat.kafka_engine.simple.requests import LATEST

__all__ = ["Consumer"]

log = logging.getLogger("kafka.consumer")

AUTO_COMMIT_MSG_COUNT = 100
AUTO_COMMIT_INTERVAL = 5000

FETCH_DEFAULT_BLOCK_TIMEOUT = 1
FETCH_MAX_WAIT_TIME = 100
FETCH_MIN_BYTES = 4096
FETCH_BUFFER_SIZE_BYTES = 4096
MAX_FETCH_BUFFER_SIZE_BYTES = FETCH_BUFFER_SIZE_BYTES * 8

ITER_TIMEOUT_SECONDS = 60
NO_MESSAGES_WAIT_TIME_SECONDS = 0.1
FULL_QUEUE_WAIT_TIME_SECONDS = 0.1

MAX_BACKOFF_SECONDS = 60


class Consumer:
    """Reads partitions of a topic, by default all, from where its group committed; from the beginning where
    that is nowhere, or there is no group (None).

    With `auto_commit`, offsets are committed after `auto_commit_every_n` messages, and every
    `auto_commit_every_t` milliseconds.
    """

    def __init__(
        self,
        client: Any,
        group: Any,
        topic: Any,
        partitions: Iterable[int] | None = None,
        auto_commit: bool = True,
        auto_commit_every_n: int | None = AUTO_COMMIT_MSG_COUNT,
        auto_commit_every_t: float | None = AUTO_COMMIT_INTERVAL,
    ) -> None:
        warnings.warn(
            "deprecated -- this class will be removed in a future release. Use KafkaConsumer instead.",
            DeprecationWarning,
            stacklevel=3,
        )
        self.client = client
        self.topic = topic
        self.group = group
        self.client.load_metadata_for_topics(topic, ignore_leadernotavailable=True)
        self.offsets: dict[int, int] = {}
        """The next one that the program is to get, by partition."""
        if partitions is None:
            partitions = self.client.get_partition_ids_for_topic(topic)
        else:
            partitions = list(partitions)
            assert all(isinstance(each, numbers.Integral) for each in partitions)
        self.commit_lock = Lock()
        self._count_lock = Lock()
        self.commit_timer: ReentrantTimer | None = None
        self.count_since_commit = 0
        self.auto_commit = auto_commit
        self.auto_commit_every_n = auto_commit_every_n
        self.auto_commit_every_t = auto_commit_every_t
        if self.group is not None:
            self.fetch_last_known_offsets(partitions)
        else:
            self.offsets = dict.fromkeys(partitions or (), 0)
        if auto_commit is True and auto_commit_every_t is not None:
            self.commit_timer = ReentrantTimer(auto_commit_every_t, self.commit)
            self.commit_timer.start()
        atexit.register(self.stop)
        self.partition_info = False

    def provide_partition_info(self) -> None:
        """From now on, messages come as (partition, message)."""
        self.partition_info = True

    def fetch_last_known_offsets(self, partitions: Iterable[int] | None = None) -> None:
        """Goes to where the group committed. Raises: ValueError where there is no group."""
        if self.group is None:
            raise ValueError("SimpleClient.group must not be None")
        if partitions is None:
            partitions = self.client.get_partition_ids_for_topic(self.topic)
        answers = self.client.send_offset_fetch_request(
            self.group,
            [OffsetFetchRequestPayload(self.topic, each) for each in partitions or ()],
            fail_on_error=False,
        )
        for answer in answers:
            # It is the answer where nothing is committed.
            with contextlib.suppress(UnknownTopicOrPartitionError):
                check_error(answer)
            self.offsets[answer.partition] = max(answer.offset, 0)

    def commit(self, partitions: Iterable[int] | None = None) -> bool | None:
        """Commits offsets: whether that succeeded. None where there was nothing new."""
        if self.count_since_commit == 0:
            return None
        with self.commit_lock:
            count = self.count_since_commit
            if count == 0:
                return None
            offsets = dict(self.offsets)
            wanted = list(offsets) if partitions is None else list(partitions)
            requests = [OffsetCommitRequestPayload(self.topic, each, offsets[each], None) for each in wanted]
            try:
                self.client.send_offset_commit_request(self.group, requests)
            except KafkaError as error:
                log.error("%s saving offsets: %s", type(error).__name__, error)
                return False
            # What came meanwhile is not committed yet.
            self._count(-count)
            return True

    def _count(self, messages: int) -> None:
        """So many more, or less, are not committed. The timer's thread counts too."""
        with self._count_lock:
            self.count_since_commit += messages

    def _auto_commit(self) -> None:
        most = self.auto_commit_every_n if self.auto_commit else None
        if most is not None and self.count_since_commit >= most:
            self.commit()

    def stop(self) -> None:
        """Commits for the last time, where there is a timer that does, and ends it."""
        if self.commit_timer is not None:
            self.commit_timer.stop()
            self.commit()
        atexit.unregister(self.stop)

    def pending(self, partitions: Iterable[int] | None = None) -> int:
        """How many messages there are to come, of all partitions or these."""
        wanted = list(self.offsets) if partitions is None else list(partitions)
        answers = self.client.send_offset_request(
            [OffsetRequestPayload(self.topic, each, LATEST, 1) for each in wanted]
        )
        return sum(answer.offsets[0] - self.offsets[answer.partition] for answer in answers)
