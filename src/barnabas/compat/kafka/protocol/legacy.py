"""Messages as SimpleClient takes them, made of bytes, and its payloads as structs of requests and answers.

The structs are of the versions of old, for programs that send them on connections of their own. SimpleClient
itself makes none (`kafka_engine/simple`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from barnabas import _kernel
from barnabas.compat.kafka.errors import UnsupportedCodecError
from barnabas.compat.kafka.util import (
    group_by_topic_and_partition,
    read_short_string,
    relative_unpack,
    write_short_string,
)
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.compat.kafka_engine.wire.message_sets import Message, MessageSet
from barnabas.compat.kafka_engine.wire.struct_classes import struct_class

__all__ = [
    "ALL_CODECS",
    "ATTRIBUTE_CODEC_MASK",
    "CODEC_GZIP",
    "CODEC_NONE",
    "CODEC_SNAPPY",
    "KafkaProtocol",
    "create_gzip_message",
    "create_message",
    "create_message_set",
    "create_snappy_message",
]

ATTRIBUTE_CODEC_MASK = 0x03
CODEC_NONE = 0x00
CODEC_GZIP = 0x01
CODEC_SNAPPY = 0x02
ALL_CODECS = (CODEC_NONE, CODEC_GZIP, CODEC_SNAPPY)

_GZIP_LEVEL = 9

_Payloads = Iterable[tuple[bytes | None, bytes | None]]


class KafkaProtocol:
    """Payloads as structs of requests, and structs of answers as payloads."""

    PRODUCE_KEY = 0
    FETCH_KEY = 1
    OFFSET_KEY = 2
    METADATA_KEY = 3
    OFFSET_COMMIT_KEY = 8
    OFFSET_FETCH_KEY = 9
    CONSUMER_METADATA_KEY = 10

    @classmethod
    def encode_produce_request(cls, payloads: Iterable[Any] = (), acks: int = 1, timeout: int = 1000) -> Any:
        """Of ProduceRequestPayloads. Raises: ValueError for `acks` other than 1, 0 and -1."""
        if acks not in (1, 0, -1):
            raise ValueError(f"ProduceRequest acks ({acks}) must be 1, 0, -1")
        topics = _by_topic(
            payloads,
            lambda number, each: (number, [(0, _encoded_message(message)) for message in each.messages]),
        )
        return struct_class("produce", "ProduceRequest_v0")(acks, timeout, topics)

    @classmethod
    def decode_produce_response(cls, response: Any) -> list[Any]:
        return [
            STRUCTS["ProduceResponsePayload"](topic, *partition) for topic, partition in _partitions(response)
        ]

    @classmethod
    def encode_fetch_request(
        cls, payloads: Iterable[Any] = (), max_wait_time: int = 100, min_bytes: int = 4096
    ) -> Any:
        """Of FetchRequestPayloads."""
        topics = _by_topic(payloads, lambda number, each: (number, each.offset, each.max_bytes))
        return struct_class("fetch", "FetchRequest_v0")(-1, max_wait_time, min_bytes, topics)

    @classmethod
    def decode_fetch_response(cls, response: Any) -> list[Any]:
        return [
            STRUCTS["FetchResponsePayload"](
                topic, partition, error, highwater, list(cls.decode_message_set(messages))
            )
            for topic, (partition, error, highwater, messages) in _partitions(response)
        ]

    @classmethod
    def decode_message_set(cls, messages: Any) -> Iterator[Any]:
        """OffsetAndMessages of what MessageSet.decode gives, and of what is in compressed ones."""
        for offset, _, message in messages:
            if isinstance(message, Message) and message.is_compressed():
                for inner_offset, _, inner in message.decompress():
                    yield STRUCTS["OffsetAndMessage"](inner_offset, inner)
            else:
                yield STRUCTS["OffsetAndMessage"](offset, message)

    @classmethod
    def encode_offset_request(cls, payloads: Iterable[Any] = ()) -> Any:
        """Of OffsetRequestPayloads."""
        topics = _by_topic(payloads, lambda number, each: (number, each.time, each.max_offsets))
        return struct_class("offset", "OffsetRequest_v0")(-1, topics)

    @classmethod
    def decode_offset_response(cls, response: Any) -> list[Any]:
        return [
            STRUCTS["OffsetResponsePayload"](topic, partition, error, tuple(offsets))
            for topic, (partition, error, offsets) in _partitions(response)
        ]

    @classmethod
    def encode_metadata_request(cls, topics: Any = (), payloads: Any = None) -> Any:
        """About topics."""
        return struct_class("metadata", "MetadataRequest_v0")(topics if payloads is None else payloads)

    @classmethod
    def decode_metadata_response(cls, response: Any) -> Any:
        return response

    @classmethod
    def encode_consumer_metadata_request(
        cls, client_id: bytes, correlation_id: int, payloads: bytes
    ) -> bytes:
        """With header and length. `payloads`: a group."""
        header = struct.pack(">hhi", cls.CONSUMER_METADATA_KEY, 0, correlation_id)
        body = header + write_short_string(client_id) + write_short_string(payloads)
        return struct.pack(">i", len(body)) + body

    @classmethod
    def decode_consumer_metadata_response(cls, data: bytes) -> Any:
        """With a header."""
        (_, error, node), place = relative_unpack(">ihi", data, 0)
        host, place = read_short_string(data, place)
        (port,), _ = relative_unpack(">i", data, place)
        return STRUCTS["ConsumerMetadataResponse"](error, node, host, port)

    @classmethod
    def encode_offset_commit_request(cls, group: Any, payloads: Iterable[Any]) -> Any:
        """Of OffsetCommitRequestPayloads."""
        topics = _by_topic(payloads, lambda number, each: (number, each.offset, each.metadata))
        return struct_class("commit", "OffsetCommitRequest_v0")(group, topics)

    @classmethod
    def decode_offset_commit_response(cls, response: Any) -> list[Any]:
        return [
            STRUCTS["OffsetCommitResponsePayload"](topic, *partition)
            for topic, partition in _partitions(response)
        ]

    @classmethod
    def encode_offset_fetch_request(
        cls, group: Any, payloads: Iterable[Any], from_kafka: bool = False
    ) -> Any:
        """Of OffsetFetchRequestPayloads. `from_kafka`: in the version that does not mean ZooKeeper."""
        topics = _by_topic(payloads, lambda number, _: number)
        return struct_class("commit", f"OffsetFetchRequest_v{int(from_kafka)}")(group, topics)

    @classmethod
    def decode_offset_fetch_response(cls, response: Any) -> list[Any]:
        return [
            STRUCTS["OffsetFetchResponsePayload"](topic, *partition)
            for topic, partition in _partitions(response)
        ]


def _by_topic(payloads: Iterable[Any], part: Callable[[Any, Any], Any]) -> list[Any]:
    return [
        (topic, [part(number, payload) for number, payload in partitions.items()])
        for topic, partitions in group_by_topic_and_partition(payloads).items()
    ]


def _partitions(response: Any) -> Iterator[tuple[str, Any]]:
    # What versions of old have for topics stands first.
    for topic, partitions in getattr(response, response.SCHEMA.names[0]):
        for partition in partitions:
            yield topic, partition


def _encoded_message(message: Any) -> bytes:
    return Message(
        message.value, key=message.key, magic=message.magic, attributes=message.attributes
    ).encode()


def create_message(payload: Any, key: Any = None) -> Any:
    """A message that is not compressed."""
    return STRUCTS["Message"](0, 0, key, payload)


def create_gzip_message(payloads: _Payloads, key: Any = None, compresslevel: int | None = None) -> Any:
    """One message with several in it, which are (value, key)."""
    compressed = _kernel.compress("gzip", _encoded(payloads), compresslevel or _GZIP_LEVEL)
    return STRUCTS["Message"](0, CODEC_GZIP, key, compressed)


def create_snappy_message(payloads: _Payloads, key: Any = None) -> Any:
    """One message with several in it, which are (value, key)."""
    return STRUCTS["Message"](0, CODEC_SNAPPY, key, _kernel.compress("snappy", _encoded(payloads)))


def create_message_set(
    messages: _Payloads, codec: int = CODEC_NONE, key: Any = None, compresslevel: int | None = None
) -> list[Any]:
    """Messages of (value, key), within a single one where there is a codec. Raises: UnsupportedCodecError."""
    if codec == CODEC_NONE:
        return [create_message(value, own_key) for value, own_key in messages]
    if codec == CODEC_GZIP:
        return [create_gzip_message(messages, key, compresslevel)]
    if codec == CODEC_SNAPPY:
        return [create_snappy_message(messages, key)]
    raise UnsupportedCodecError(f"Codec 0x{codec:02x} unsupported")


def _encoded(payloads: _Payloads) -> bytes:
    pairs = list(payloads)
    for part in (part for pair in pairs for part in pair):
        if part is not None and not isinstance(part, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f'Expected "{type(part)}" to be bytes\ndata={part!r}')
    entries = [(0, Message(value, own_key).encode()) for value, own_key in pairs]
    return MessageSet.encode(entries, False)
