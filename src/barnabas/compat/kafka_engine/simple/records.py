"""Messages of old as batches of records, and back.

Knows no request, and nothing of who asks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from barnabas._kernel import BatchBuilder, RecordReader, decompress
from barnabas.client.unpacking import most_unpacked_bytes
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.compat.kafka_engine.wire.message_sets import Message, MessageSet, PartialMessage
from barnabas.compat.kafka_engine.wire.unpacking import CODEC_NAMES

__all__ = ["batch_of", "messages_in"]

_MOST_BATCH_BYTES = 2**31 - 1
_NO_TIMESTAMP = -1
_RECORDS_AT_ONCE = 1000
# An entry of a message set without its key and value.
_ENTRY_BYTES = 26

_Part = bytes | None


def batch_of(messages: Iterable[Any]) -> bytes | None:
    """One batch of all these messages and of those within compressed ones, compressed as they are; None for
    no messages at all. Brokers never see a part of it. Raises: CorruptBatchError for what is no compressed
    message set."""
    codec = 0
    records: list[tuple[int, _Part, _Part]] = []
    for message in messages:
        codec = codec or message.attributes & Message.CODEC_MASK
        records.extend(_records_of(message))
    if not records:
        return None
    builder = BatchBuilder(compression=CODEC_NAMES[codec], max_bytes=_MOST_BATCH_BYTES)
    for timestamp, key, value in records:
        builder.append(timestamp, key, value)
    return builder.build()


def _records_of(message: Any) -> Iterator[tuple[int, _Part, _Part]]:
    codec = message.attributes & Message.CODEC_MASK
    if not codec:
        yield _timestamp_of(message), _as_bytes(message.key), _as_bytes(message.value)
        return
    inner = decompress(CODEC_NAMES[codec], message.value)
    for _, _, each in MessageSet.decode(inner, bytes_to_read=len(inner)):
        yield from _records_of(each)


def _timestamp_of(message: Any) -> int:
    # Messages of magic 0 have none, and stay without one.
    if message.magic == 0:
        return _NO_TIMESTAMP
    return getattr(message, "timestamp", None) or int(time.time() * 1000)


def _as_bytes(part: Any) -> _Part:
    # In Python 2, for which examples were written, a text was bytes.
    return part.encode() if isinstance(part, str) else part


def messages_in(topic: str, partition: int, data: Any, offset: int, max_bytes: int) -> tuple[list[Any], int]:
    """OffsetAndMessages from an offset on, as a broker gave them in batches, and the offset after those.

    Brokers give the first batch whole, however large it is. A message that is larger than `max_bytes` is a
    PartialMessage all the same, and the last one: programs find out so that they have to ask for more.
    Raises: CorruptBatchError, also for a batch that unpacks to too much.
    """
    limit = most_unpacked_bytes(max(max_bytes, len(data)))
    reader = RecordReader(topic, partition, data, fetch_offset=offset, max_decompressed_bytes=limit)
    offset_and_message = STRUCTS["OffsetAndMessage"]
    found: list[Any] = []
    while records := reader.take(_RECORDS_AT_ONCE):
        for record in records:
            if record.serialized_size + _ENTRY_BYTES > max_bytes:
                found.append(offset_and_message(None, PartialMessage()))
                return found, record.offset
            found.append(offset_and_message(record.offset, Message.of_record(record.key, record.value)))
    return found, reader.next_offset
