"""`RecordMetadata`: where a record that was sent stands. Owns the fields that each generation has of it."""

from __future__ import annotations

import collections
from typing import Any

from barnabas.compat.kafka_engine.generations import generation

_PLACE = ("topic", "partition", "topic_partition", "offset", "timestamp")
_SIZES = ("checksum", "serialized_key_size", "serialized_value_size", "serialized_header_size")
_MODULE = "kafka.producer.future"

_named: Any = collections.namedtuple
_RecordMetadataWithSizes: Any = _named("RecordMetadata", (*_PLACE, *_SIZES), module=_MODULE)
_Place: Any = _named("RecordMetadata", _PLACE)


class _RecordMetadataOf1(_Place):
    __slots__ = ()

    def __new__(cls, tp: Any, base_offset: int, timestamp: int, relative_offset: int | None = None) -> Any:
        offset = base_offset
        if relative_offset is not None and base_offset != -1:
            offset += relative_offset
        return _Place.__new__(cls, tp.topic, tp.partition, tp, offset, timestamp)

    def __str__(self) -> str:
        return f"RecordMetadata(topic={self.topic}, partition={self.partition}, offset={self.offset})"

    __repr__ = __str__


RecordMetadata: Any = (
    _RecordMetadataWithSizes if generation().record_metadata_has_sizes else _RecordMetadataOf1
)
RecordMetadata.__name__ = RecordMetadata.__qualname__ = "RecordMetadata"
RecordMetadata.__module__ = _MODULE


def metadata_of(partition: Any, offset: int, timestamp: int | None, *sizes: int | None) -> Any:
    """The metadata of a record in a TopicPartition, at its offset; `sizes`: checksum, and the sizes of key,
    value and headers, for generations that have them."""
    if generation().record_metadata_has_sizes:
        return RecordMetadata(partition[0], partition[1], partition, offset, timestamp, *sizes)
    return RecordMetadata(partition, offset, timestamp)
