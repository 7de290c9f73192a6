"""Whether a leader's log still holds what was read of it (KIP-320).

Owns the OffsetForLeaderEpoch requests, for brokers whose fetches do not check by themselves, what follows
when a log was truncated, and which leaders are not asked since they are deposed. Knows nothing of fetch
requests or of who reads.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from barnabas._kernel import scan_batches
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.consume.fetch_buffer import FetchBuffer
from barnabas.client.consume.fetch_queue import FetchPlace, FetchQueue
from barnabas.client.consume.fetch_sources import FetchSources
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode
from barnabas.errors import CorruptBatchError, LogTruncationError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from barnabas.settings.table import ConsumerConfig
from barnabas.types import PartitionInfo, TopicPartition

logger = logging.getLogger("barnabas.client")

NO_EPOCH = -1
UNDEFINED_OFFSET = -1

# How often metadata that names an old leader is asked for again at least before it is believed: for about
# half a minute with the default back-off.
OLD_LEADER_TRIES = 30

# Before this version only brokers may ask (it takes a permission on the cluster).
_FIRST_VERSION_FOR_CONSUMERS = 3
_CONSUMER_REPLICA_ID = -1
_LEADER_EPOCH = slice(12, 16)
_MAGIC = 16


def last_leader_epoch(data: bytes | bytearray | memoryview, leader_epoch: int) -> int:
    """The leader epoch of the last whole batch that a leader of `leader_epoch` sent; -1 where that is not
    known, as in message sets older than KIP-101.

    Epochs only grow along a log: where the first batch has the leader's, all have. That spares the look at
    each batch in all but old data.
    """
    if data[_MAGIC : _MAGIC + 1] == b"\x02" and _first_leader_epoch(data) == leader_epoch:
        return leader_epoch
    try:
        batches = scan_batches(data)
    except CorruptBatchError:
        # It is raised, with its place, when the reader gets there.
        return NO_EPOCH
    return batches[-1].leader_epoch if batches else NO_EPOCH


def _first_leader_epoch(data: bytes | bytearray | memoryview) -> int:
    return int.from_bytes(data[_LEADER_EPOCH], signed=True)


class TruncationCheck:
    """Acts where the end of a leader epoch lies before what was read in it."""

    def __init__(
        self,
        client: KafkaClient,
        subscription: SubscriptionState,
        buffer: FetchBuffer,
        config: ConsumerConfig,
    ) -> None:
        self._client = client
        self._subscription = subscription
        self._buffer = buffer
        self._config = config

    async def validate(self, connection: Connection, queues: Sequence[FetchQueue]) -> list[FetchQueue]:
        """The partitions of these, all led by the broker of `connection`, that can be fetched from where
        they stand. One whose leader is the same as at the last check needs no question.

        Raises: KafkaConnectionError, KafkaTimeoutError, BrokenProtocolError.
        """
        metadata = self._client.metadata
        unchecked: dict[TopicPartition, tuple[FetchQueue, FetchPlace, int]] = {}
        for queue in queues:
            leader_epoch, place = metadata.leader_epoch(queue.partition), self._buffer.place_of(queue)
            if place is not None and 0 <= place.leader_epoch <= leader_epoch != queue.checked_leader_epoch:
                unchecked[queue.partition] = (queue, place, leader_epoch)
        versions = connection.versions.get(OffsetForLeaderEpochRequest.API_KEY, (0, 0))
        if not unchecked or versions[1] < _FIRST_VERSION_FOR_CONSUMERS:
            return list(queues)
        response = await connection.send(
            _request(unchecked),
            timeout_ms=self._config.request_timeout_ms,
        )
        for topic in response.topics:
            for answer in topic.partitions:
                entry = unchecked.get(TopicPartition(topic.topic, answer.partition))
                if entry is None:
                    continue
                queue, place, leader_epoch = entry
                if self._is_valid(queue, place.epoch, answer):
                    queue.checked_leader_epoch = leader_epoch
                    del unchecked[queue.partition]
        return [queue for queue in queues if queue.partition not in unchecked]

    def _is_valid(
        self, queue: FetchQueue, epoch: int, answer: OffsetForLeaderEpochResponse.EpochEndOffset
    ) -> bool:
        if queue.state.epoch != epoch:
            return False
        if answer.error_code:
            logger.info("%s: end of its leader epoch: %s", queue.partition, ErrorCode(answer.error_code).name)
            self._client.request_metadata_update()
            return False
        if answer.end_offset >= queue.fetch_offset:
            return True
        self.diverged(queue, epoch, answer.leader_epoch, answer.end_offset)
        return False

    def diverged(self, queue: FetchQueue, epoch: int, leader_epoch: int, end_offset: int) -> None:
        """The leader says that the epoch of what was fetched last ends at `end_offset` in its log, or that
        its own is the older `leader_epoch`. Both are -1 where it knows neither."""
        if end_offset >= queue.fetch_offset:
            # An older epoch reaches as far: nothing tells that what was read is gone.
            self._buffer.forget_leader_epoch(queue, epoch)
            return
        position, error = queue.fetch_offset, None
        if self._config.auto_offset_reset == "none":
            diverging_offset = None if end_offset == UNDEFINED_OFFSET else end_offset
            error = LogTruncationError(*queue.partition, position, diverging_offset)
        if (
            self._subscription.truncated(queue.state, epoch, end_offset, leader_epoch, error)
            and error is None
        ):
            logger.warning(
                "%s: the log was truncated at offset %d, before the position %d; continuing %s",
                queue.partition,
                end_offset,
                position,
                "as auto_offset_reset says" if end_offset == UNDEFINED_OFFSET else "there",
            )


class OldLeaders:
    """Leaders in the metadata that had a successor when something was read or committed.

    Such a broker may be parted from the others, and not learn of its successor for long. It would take our
    position for one that is out of range, so it is not asked, and other brokers are for their metadata.
    """

    def __init__(
        self, client: KafkaClient, buffer: FetchBuffer, sources: FetchSources, truncation: TruncationCheck
    ) -> None:
        self._client = client
        self._buffer = buffer
        self._sources = sources
        self._truncation = truncation
        self._doubts: dict[TopicPartition, tuple[int, int, float]] = {}
        """Which epochs of leaders are known and heard of, and since when."""

    def is_old(self, partition: TopicPartition, leader_epoch: int, read_epoch: int) -> bool:
        """Whether the leader of `leader_epoch` is deposed, where something was read under that of
        `read_epoch`. -1 is not known."""
        return 0 <= leader_epoch < max(read_epoch, self._heard_of(partition))

    def doubt(self, queue: FetchQueue, known: PartitionInfo) -> None:
        """Has `known` looked up anew; the partition is not fetched for a while. When each broker has answered
        and none knows a later leader, what was read is gone, for instance with a topic that was made anew."""
        place, partition = self._buffer.place_of(queue), queue.partition
        if place is None:
            return
        latest = max(place.leader_epoch, self._heard_of(partition))
        if latest <= known.leader_epoch:
            # A seek has come between.
            return
        doubted_known, doubted_latest, since = self._doubts.get(partition, (-1, -1, 0.0))
        if (doubted_known, doubted_latest) != (known.leader_epoch, latest):
            since = CLOCK.monotonic()
            self._doubts[partition] = known.leader_epoch, latest, since
        tries = self._sources.failures(partition)
        if tries >= OLD_LEADER_TRIES and self._client.all_brokers_told_since(since):
            del self._doubts[partition]
            self._client.seen_leader_epochs.forget(partition)
            if place.leader_epoch > known.leader_epoch:
                self._truncation.diverged(queue, place.epoch, NO_EPOCH, UNDEFINED_OFFSET)
        elif tries == OLD_LEADER_TRIES:
            logger.warning(
                "%s: not fetched from its leader of epoch %d, since there was one of epoch %d; waiting until "
                "other brokers tell who leads",
                partition,
                known.leader_epoch,
                latest,
            )
        self._client.request_metadata_update(is_doubted=True)
        self._sources.back_off(partition)

    def _heard_of(self, partition: TopicPartition) -> int:
        return self._client.seen_leader_epochs.latest(self._client.metadata, partition)


def _request(
    asked: Mapping[TopicPartition, tuple[FetchQueue, FetchPlace, int]],
) -> OffsetForLeaderEpochRequest:
    topics: dict[str, OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = {}
    for (name, index), (_, place, leader_epoch) in asked.items():
        topic = topics.setdefault(name, OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=name))
        topic.partitions.append(
            OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
                partition=index, current_leader_epoch=leader_epoch, leader_epoch=place.leader_epoch
            )
        )
    return OffsetForLeaderEpochRequest(replica_id=_CONSUMER_REPLICA_ID, topics=list(topics.values()))
