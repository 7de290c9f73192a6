"""A message, and a set of them, in the formats of Kafka before 0.11."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from zlib import crc32

from barnabas.compat.pykafka import common
from barnabas.compat.pykafka.common import EPOCH, CompressionType
from barnabas.compat.pykafka.exceptions import MessageSetDecodeFailure
from barnabas.compat.pykafka.utils import Serializable, compression, parse_version, struct_helpers

__all__ = ["Message", "MessageSet"]

_ENTRY_BYTES = 12
# Checksum, magic, attributes, and the lengths of key and value.
_MESSAGE_BYTES = 14
_TIMESTAMP_BYTES = 8
_CODEC_MASK = 7


class Message(common.Message, Serializable):
    """A message. `offset`, `partition_id` and `partition` are those that it was read from or is sent to."""

    __slots__ = (
        "compression_type",
        "delivery_report_q",
        "offset",
        "partition",
        "partition_id",
        "partition_key",
        "produce_attempt",
        "protocol_version",
        "timestamp",
        "value",
    )

    VALID_TS_TYPES: ClassVar[tuple[type, ...]] = (int, float, type(None))

    def __init__(
        self,
        value: Any,
        partition_key: Any = None,
        compression_type: int = CompressionType.NONE,
        offset: int = -1,
        partition_id: int = -1,
        produce_attempt: int = 0,
        protocol_version: int = 0,
        timestamp: Any = None,
        delivery_report_q: Any = None,
    ) -> None:
        self.compression_type = compression_type
        self.partition_key = partition_key
        self.value = value
        self.offset = offset
        self.timestamp: Any = None
        if timestamp is None and protocol_version > 0:
            timestamp = _now()
        self.set_timestamp(timestamp)
        self.partition_id = partition_id
        self.partition: Any = None
        self.produce_attempt = produce_attempt
        self.delivery_report_q = delivery_report_q
        assert protocol_version in (0, 1)
        self.protocol_version = protocol_version

    def __bool__(self) -> bool:
        # Its length is that of bytes, which a deserializer's value need not be.
        return True

    def __len__(self) -> int:
        has_timestamp = self.protocol_version > 0 and self.timestamp
        return (
            _MESSAGE_BYTES
            + len(self.value or b"")
            + len(self.partition_key or b"")
            + (_TIMESTAMP_BYTES if has_timestamp else 0)
        )

    @classmethod
    def decode(cls, buff: Any, msg_offset: int = -1, partition_id: int = -1) -> Message:
        """The message in a buffer. Its checksum is not looked at."""
        _, protocol_version, attributes = struct_helpers.unpack_from("iBB", buff, 0)
        at, timestamp = 6, 0
        if protocol_version > 0:
            (timestamp,) = struct_helpers.unpack_from("Q", buff, at)
            at += _TIMESTAMP_BYTES
        key, value = struct_helpers.unpack_from("YY", buff, at)
        return Message(
            value,
            partition_key=key,
            compression_type=attributes & _CODEC_MASK,
            offset=msg_offset,
            protocol_version=protocol_version,
            timestamp=timestamp,
            partition_id=partition_id,
        )

    def pack_into(self, buff: Any, offset: int) -> None:
        key, value = self.partition_key, self.value
        has_timestamp = self.protocol_version == 1 and self.timestamp
        body = b"".join(
            (
                struct.pack("!BB", int(bool(has_timestamp)), self.compression_type),
                struct.pack("!Q", int(self.timestamp)) if has_timestamp else b"",
                struct.pack("!i", -1 if key is None else len(key)),
                key or b"",
                struct.pack("!i", -1 if value is None else len(value)),
                value or b"",
            )
        )
        struct.pack_into(f"!I{len(body)}s", buff, offset, crc32(body), body)

    @property
    def timestamp_dt(self) -> datetime | None:
        """The timestamp as a time in UTC; None where there is none."""
        if self.timestamp > 0:
            return EPOCH + timedelta(milliseconds=self.timestamp)
        return None

    @timestamp_dt.setter
    def timestamp_dt(self, dt: datetime) -> None:
        self.timestamp = int(1000 * (dt - EPOCH).total_seconds())

    def set_timestamp(self, ts: Any) -> None:
        """To a number of milliseconds, or a time in UTC. Raises: RuntimeError for anything else."""
        if type(ts) in self.VALID_TS_TYPES:
            self.timestamp = ts
        elif type(ts) is datetime:
            self.timestamp_dt = ts
        else:
            raise RuntimeError()


def _now() -> datetime:
    """Without a zone, as programs for pykafka give and take times."""
    return datetime.now(UTC).replace(tzinfo=None)


class MessageSet(Serializable):
    """Messages one after the other, each behind its offset; compressed, they are within one message."""

    def __init__(
        self,
        compression_type: int = CompressionType.NONE,
        messages: list[Any] | None = None,
        broker_version: str = "0.9.0",
    ) -> None:
        self.compression_type = compression_type
        self._messages: list[Any] = messages or []
        self._compressed: Message | None = None
        self._broker_version = broker_version

    def __len__(self) -> int:
        return sum(_ENTRY_BYTES + len(each) for each in self._written())

    @property
    def messages(self) -> list[Any]:
        """All of them, which may be added to."""
        self._compressed = None
        return self._messages

    def _written(self) -> list[Any]:
        if self.compression_type == CompressionType.NONE:
            return self._messages
        if self._compressed is None:
            self._compressed = self._get_compressed()
        return [self._compressed]

    def _get_compressed(self) -> Message:
        assert self.compression_type != CompressionType.NONE
        plain = MessageSet(messages=self._messages)
        data = bytearray(len(plain))
        plain.pack_into(data, 0)
        return Message(
            self._codec()(data),
            compression_type=self.compression_type,
            protocol_version=max(each.protocol_version for each in self._messages),
        )

    def _codec(self) -> Any:
        match self.compression_type:
            case CompressionType.GZIP:
                return compression.encode_gzip
            case CompressionType.SNAPPY:
                return compression.encode_snappy
            case CompressionType.LZ4 if parse_version(self._broker_version) >= parse_version("0.10.0"):
                return compression.encode_lz4
            case CompressionType.LZ4:
                return compression.encode_lz4_old_kafka
            case _:
                raise TypeError(f"Unknown compression: {self.compression_type}")

    @classmethod
    def decode(cls, buff: Any, partition_id: int = -1) -> MessageSet:
        """The messages in a buffer, whose last one may be cut off.

        Raises: MessageSetDecodeFailure, with the size of the first message, when not even that is whole.
        """
        messages: list[Any] = []
        at = size = 0
        while len(buff) - at >= _ENTRY_BYTES:
            offset, size = struct.unpack_from("!qi", buff, at)
            at += _ENTRY_BYTES
            if len(buff) - at < size:
                break
            messages.append(Message.decode(buff[at : at + size], offset, partition_id=partition_id))
            at += size
        if at and not messages:
            raise MessageSetDecodeFailure(size)
        return MessageSet(messages=messages)

    def pack_into(self, buff: Any, offset: int) -> None:
        for message in self._written():
            size = len(message)
            struct.pack_into("!qi", buff, offset, -1, size)
            message.pack_into(buff, offset + _ENTRY_BYTES)
            offset += _ENTRY_BYTES + size
