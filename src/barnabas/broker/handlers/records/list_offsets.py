"""ListOffsets, versions 1 to 11, and 0 of old.

Earliest (-2), latest (-1), the greatest timestamp (-3, KIP-734), earliest local (-4), and the first record
at or after a time. Nothing is in tiered storage, so -5 and -6 (KIP-1005, KIP-1023) have no offset. With
isolation level 1 (read_committed) nothing is found from the last stable offset on. Version 0 tells where
segments begin that were last written before a time, the newest first.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.segment import Found, LargeBatchError
from barnabas.broker.replication.leadership import check_leader_epoch
from barnabas.broker_errors import ErrorCode, UnsupportedVersionError
from barnabas.clock import now_ms
from barnabas.errors import BrokerError
from barnabas.net.addresses import in_thread
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = (
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
)
FIRST_VERSION = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
AT_ONCE_BYTES = 4 << 20
"""A batch that takes more once it is unpacked is looked through on another thread."""
NOTHING = (-1, -1, -1)
READ_COMMITTED = 1
FIRST_VERSION_WITH_LEADER_EPOCH = 4

PartitionResponse = ListOffsetsResponse.ListOffsetsPartitionResponse


async def handle(call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    times = Counter(
        (topic.name, asked.partition_index) for topic in request.topics for asked in topic.partitions
    )
    reads_committed = request.isolation_level == READ_COMMITTED
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    await _look_up(call, topic.name, asked, reads_committed=reads_committed)
                    if times[topic.name, asked.partition_index] == 1
                    else PartitionResponse(asked.partition_index, ErrorCode.INVALID_REQUEST)
                    for asked in {asked.partition_index: asked for asked in topic.partitions}.values()
                ],
            )
            for topic in request.topics
            if topic.partitions
        ]
    )


async def _look_up(
    call: Call, topic: str, asked: ListOffsetsRequest.ListOffsetsPartition, *, reads_committed: bool
) -> PartitionResponse:
    cluster, version = call.parts.cluster, call.version
    try:
        call.parts.authorizer.require(call, Operation.DESCRIBE, ResourceKind.TOPIC, topic)
        partition = cluster.led_partition(cluster.topic(topic), asked.partition_index, call.node)
        check_leader_epoch(asked.current_leader_epoch, partition.registration.leader_epoch)
        if version == 0:
            return PartitionResponse(
                partition_index=asked.partition_index, old_style_offsets=_find_segments(partition.log, asked)
            )
        offset, timestamp, leader_epoch = await _find(
            partition.log, asked.timestamp, version, reads_committed=reads_committed
        )
    except BrokerError as error:
        return PartitionResponse(partition_index=asked.partition_index, error_code=error.code)
    response = PartitionResponse(partition_index=asked.partition_index, timestamp=timestamp, offset=offset)
    if version >= FIRST_VERSION_WITH_LEADER_EPOCH:
        response.leader_epoch = leader_epoch
    return response


async def _find(log: PartitionLog, timestamp: int, version: int, *, reads_committed: bool) -> Found:
    if timestamp < EARLIEST_PENDING_UPLOAD or version < FIRST_VERSION.get(timestamp, 0):
        raise UnsupportedVersionError(f"version {version} has no meaning for timestamp {timestamp}")
    if timestamp == LATEST:
        end = log.last_stable_offset if reads_committed else log.high_watermark
        return end, -1, log.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.log_start_offset, -1, log.leader_epochs.epoch_at(log.log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOTHING
    find = log.with_max_timestamp if timestamp == MAX_TIMESTAMP else partial(log.first_at_or_after, timestamp)
    try:
        found = find(max_unpacked_bytes=AT_ONCE_BYTES)
    except LargeBatchError as large:
        found = await in_thread(large.search) or find()
    if found is None or found[0] >= (log.last_stable_offset if reads_committed else log.high_watermark):
        return NOTHING
    return found


def _find_segments(log: PartitionLog, asked: ListOffsetsRequest.ListOffsetsPartition) -> list[int]:
    """The offsets that segments begin with, and the log's end where the last one has records."""
    begun = [
        (max(segment.base_offset, log.log_start_offset), segment.modified_ms()) for segment in log.segments
    ]
    if log.active.size:
        begun.append((log.log_end_offset, now_ms()))
    if asked.timestamp == EARLIEST:
        del begun[1:]
    elif asked.timestamp != LATEST:
        while begun and begun[-1][1] > asked.timestamp:
            begun.pop()
    offsets = [offset for offset, _ in reversed(begun)][: asked.max_num_offsets]
    end = log.high_watermark
    if not offsets or offsets[0] <= end:
        return offsets
    return [end, *(offset for offset in offsets if offset <= end)]


HANDLER = Handler(ListOffsetsRequest, 1, 11, handle)
