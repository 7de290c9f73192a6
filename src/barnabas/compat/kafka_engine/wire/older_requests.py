"""Requests of versions that brokers of today do not speak, in the oldest that they do, and the answers back.

Owns what changed in meaning between them: message sets became batches of records, and lists of offsets became
one. Versions that differ in their fields alone need nothing of this.
"""

from __future__ import annotations

from typing import Any

from barnabas._kernel import BatchBuilder, RecordReader, decompress
from barnabas.client.unpacking import most_unpacked_bytes
from barnabas.compat.kafka_engine.wire.message_sets import Message, MessageSet
from barnabas.compat.kafka_engine.wire.unpacking import CODEC_NAMES
from barnabas.errors import CorruptBatchError

__all__ = ["answer_in_old_version", "needs_newer", "request_in_newer_version"]

PRODUCE, FETCH, LIST_OFFSETS, OFFSET_FETCH, JOIN_GROUP = 0, 1, 2, 9, 11
_FIRST_WITH_BATCHES = {PRODUCE: 3, FETCH: 4}
_FIRST_WITH_ONE_OFFSET = 1
_UNKNOWN_TOPIC_OR_PARTITION = 3
_MOST_BATCH_BYTES = 2**31 - 1
_RECORDS_AT_ONCE = 1000
_NO_TIMESTAMP = -1


def needs_newer(api_key: int, version: int, lowest: int) -> int:
    """The version to ask a broker in that speaks none below `lowest`. Brokers of today say that they speak
    Produce from version 0 on, for librdkafka's sake, and refuse it (KAFKA-18659)."""
    if api_key == PRODUCE:
        lowest = max(lowest, _FIRST_WITH_BATCHES[PRODUCE])
    return max(version, lowest)


def request_in_newer_version(request: Any, version: int, newer: int) -> None:
    """Changes a request of the core's that was read in `version`. Raises: ValueError for message sets that
    cannot be read."""
    if request.API_KEY == PRODUCE and version < _FIRST_WITH_BATCHES[PRODUCE] <= newer:
        for topic in request.topic_data:
            for partition in topic.partition_data:
                partition.records = _batch_of(bytes(partition.records or b""))
    elif request.API_KEY == JOIN_GROUP and version == 0 < newer:
        # Brokers gave members as long to join as they may be silent.
        request.rebalance_timeout_ms = request.session_timeout_ms


def answer_in_old_version(request: Any, response: Any, version: int, newer: int) -> None:
    """Changes the core's answer to a request to what it was in `version`. Raises: CorruptBatchError."""
    if response.API_KEY == FETCH and version < _FIRST_WITH_BATCHES[FETCH] <= newer:
        wanted = {
            (topic.topic, each.partition): each.fetch_offset
            for topic in request.topics
            for each in topic.partitions
        }
        for topic in response.responses:
            for partition in topic.partitions:
                batches = bytes(partition.records or b"")
                reader = RecordReader(
                    topic.topic,
                    partition.partition_index,
                    batches,
                    fetch_offset=wanted[topic.topic, partition.partition_index],
                    max_decompressed_bytes=most_unpacked_bytes(len(batches)),
                )
                partition.records = _message_set(reader, 0 if version < 2 else 1)
    elif response.API_KEY == LIST_OFFSETS and version < _FIRST_WITH_ONE_OFFSET <= newer:
        for topic in response.topics:
            for partition in topic.partitions:
                if not partition.old_style_offsets and partition.offset >= 0:
                    partition.old_style_offsets = [partition.offset]
    elif response.API_KEY == OFFSET_FETCH and version == 0 < newer:
        for topic in response.topics:
            for partition in topic.partitions:
                if partition.committed_offset < 0 and not partition.error_code:
                    # In ZooKeeper, what nobody had committed was not there.
                    partition.error_code = _UNKNOWN_TOPIC_OR_PARTITION


def _batch_of(message_set: bytes) -> bytes | None:
    messages = [message for _, _, message in MessageSet.decode(message_set, bytes_to_read=len(message_set))]
    records: list[tuple[int, Any, Any]] = []
    for message in messages:
        _add_records(message, records)
    if not records:
        return None
    codec = next((code for each in messages if (code := each.attributes & Message.CODEC_MASK)), 0)
    builder = BatchBuilder(compression=CODEC_NAMES[codec], max_bytes=_MOST_BATCH_BYTES)
    for timestamp, key, value in records:
        builder.append(timestamp, key, value)
    return builder.build()


def _add_records(message: Any, records: list[tuple[int, Any, Any]]) -> None:
    codec = message.attributes & Message.CODEC_MASK
    if not codec:
        timestamp = _NO_TIMESTAMP if message.magic == 0 else message.timestamp
        records.append((timestamp, message.key, message.value))
        return
    try:
        inner = decompress(CODEC_NAMES[codec], message.value)
    except CorruptBatchError as error:
        raise ValueError(str(error)) from None
    for _, _, each in MessageSet.decode(inner, bytes_to_read=len(inner)):
        _add_records(each, records)


def _message_set(reader: RecordReader, magic: int) -> bytes:
    """Of all records, one by one."""
    entries: list[tuple[int, bytes]] = []
    while records := reader.take(_RECORDS_AT_ONCE):
        for record in records:
            timestamp = None if magic == 0 else record.timestamp
            message = Message(record.value, record.key, magic, timestamp=timestamp)
            entries.append((record.offset, message.encode()))
    return MessageSet.encode(entries, False)
