"""Messages and message sets in the formats of old, magic 0 and 1, as programs make and read them by hand.

Brokers of today take and give record batches: what translates is `simple/records`. Knows no request.
"""

from __future__ import annotations

import time
import zlib
from io import BytesIO
from typing import Any, ClassVar

from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.wire.structs import Struct, StructEncode
from barnabas.compat.kafka_engine.wire.types import AbstractType, Bytes, Int8, Int32, Int64, Schema
from barnabas.compat.kafka_engine.wire.unpacking import unpacked

__all__ = ["Message", "MessageSet", "PartialMessage", "crc32"]

_HOME = "barnabas.compat.kafka.protocol.message"


def crc32(data: Any) -> int:
    """Kafka has it as a signed number."""
    checksum = zlib.crc32(data)
    return checksum - 2**32 if checksum >= 2**31 else checksum


class _MessageEncode(StructEncode):
    def of_struct(self, struct: Any) -> Any:
        return struct._encode_self


class Message(Struct):
    """A message. Of magic 1 it has a timestamp, by default the present time."""

    __module__ = _HOME

    SCHEMAS: ClassVar[list[Any]] = [
        Schema(("crc", Int32), ("magic", Int8), ("attributes", Int8), ("key", Bytes), ("value", Bytes)),
        Schema(
            *(("crc", Int32), ("magic", Int8), ("attributes", Int8), ("timestamp", Int64)),
            *(("key", Bytes), ("value", Bytes)),
        ),
    ]
    SCHEMA = SCHEMAS[1]
    CODEC_MASK = 0x07
    CODEC_GZIP = 0x01
    CODEC_SNAPPY = 0x02
    CODEC_LZ4 = 0x03
    CODEC_ZSTD = 0x04
    TIMESTAMP_TYPE_MASK = 0x08
    HEADER_SIZE = 22
    encode: ClassVar[Any] = _MessageEncode()

    def __init__(
        self,
        value: bytes | None,
        key: bytes | None = None,
        magic: int = 0,
        attributes: int = 0,
        crc: int = 0,
        timestamp: int | None = None,
    ) -> None:
        assert value is None or isinstance(value, bytes), "value must be bytes"
        assert key is None or isinstance(key, bytes), "key must be bytes"
        assert magic > 0 or timestamp is None, "timestamp not supported in v0"
        if magic > 0 and timestamp is None:
            timestamp = int(time.time() * 1000)
        self.timestamp = timestamp
        self.crc = crc
        self.magic = magic
        self.attributes = attributes
        self.key = key
        self.value = value

    @classmethod
    def of_record(cls, key: bytes | None, value: bytes | None) -> Message:
        """Of magic 0, as if a broker had sent it: its checksum is right, and made when somebody looks."""
        message = cls.__new__(cls)
        message.__dict__ = {"timestamp": None, "magic": 0, "attributes": 0, "key": key, "value": value}
        return message

    def __getattr__(self, name: str) -> Any:
        if name != "crc" or "value" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._encode(recalc_crc=True)
        return self.crc

    @property
    def timestamp_type(self) -> int | None:
        """0 for the time of the producer, another number for that of the broker; None of magic 0."""
        if self.magic == 0:
            return None
        return generation().log_append_time if self.attributes & self.TIMESTAMP_TYPE_MASK else 0

    def _encode(self, *, recalc_crc: bool) -> bytes:
        if self.magic not in (0, 1):
            raise ValueError(f"Unrecognized message version: {self.magic}")
        schema = self.SCHEMAS[self.magic]
        body = b"".join(
            field.encode(getattr(self, name))
            for name, field in zip(schema.names[1:], schema.fields[1:], strict=True)
        )
        if recalc_crc:
            self.crc = crc32(body)
        return Int32.encode(self.crc) + body

    def _encode_self(self, recalc_crc: bool = True) -> bytes:
        """`encode` of a message: its bytes, with the right checksum unless `recalc_crc` is False."""
        return self._encode(recalc_crc=recalc_crc)

    @classmethod
    def decode(cls, data: Any) -> Message:
        """From bytes, or a file of them. Raises: ValueError where they end too early."""
        if isinstance(data, bytes):
            data = BytesIO(data)
        crc, magic, attributes = (field.decode(data) for field in cls.SCHEMAS[0].fields[:3])
        *timestamp, key, value = (field.decode(data) for field in cls.SCHEMAS[magic].fields[3:])
        return cls(
            value,
            key=key,
            magic=magic,
            attributes=attributes,
            crc=crc,
            timestamp=timestamp[0] if timestamp else None,
        )

    def validate_crc(self) -> bool:
        return crc32(self._encode(recalc_crc=False)[4:]) == self.crc

    def is_compressed(self) -> bool:
        return self.attributes & self.CODEC_MASK != 0

    def decompress(self) -> list[Any]:
        """The messages within a compressed one, as `MessageSet.decode` gives them.

        Raises: UnsupportedCodecError; CorruptRecordError, also for what unpacks to too much.
        """
        assert self.is_compressed(), "the message is not compressed"
        raw = unpacked(self.attributes & self.CODEC_MASK, self.value or b"")
        return MessageSet.decode(raw, bytes_to_read=len(raw))

    def __hash__(self) -> int:
        return hash(self._encode(recalc_crc=False))


class PartialMessage(bytes):
    """Stands for the message that did not fit any more."""

    __module__ = _HOME

    def __repr__(self) -> str:
        return f"PartialMessage({bytes(self)!r})"


class MessageSet(AbstractType):
    """Messages one after the other, each behind its offset."""

    __module__ = _HOME

    ITEM = Schema(("offset", Int64), ("message", Bytes))
    HEADER_SIZE = 12

    if generation().message_set_size_name == "size":

        @classmethod
        def encode(  # pyright: ignore[reportRedeclaration] each generation has its own
            cls, items: Any, size: bool = True, recalc_message_size: bool = True
        ) -> bytes:
            """`items`: (offset, bytes of a message) of each; or a file that has a set with its size before
            it. `size`: whether the set's size comes first."""
            return cls._encode(items, size)
    else:

        @classmethod
        def encode(cls, items: Any, prepend_size: bool = True) -> bytes:
            """`items`: (offset, bytes of a message) of each; or a file that has a set with its size before
            it. `prepend_size`: whether the set's size comes first."""
            return cls._encode(items, prepend_size)

    @classmethod
    def _encode(cls, items: Any, has_size: bool) -> bytes:
        if isinstance(items, BytesIO):
            start = items.tell()
            length = Int32.decode(items)
            items.seek(start if has_size else start + 4)
            return items.read(length + 4 if has_size else length)
        encoded = b"".join(Int64.encode(offset) + Bytes.encode(message) for offset, message in items)
        return Bytes.encode(encoded) if has_size else encoded

    @classmethod
    def decode(cls, data: Any, bytes_to_read: int | None = None) -> list[Any]:
        """(offset, size, Message) of each; (None, None, PartialMessage()) last where one was cut off.
        `bytes_to_read`: of a set without its size before it."""
        if isinstance(data, bytes):
            data = BytesIO(data)
        if bytes_to_read is None:
            bytes_to_read = Int32.decode(data)
        read = data.read(max(bytes_to_read or 0, 0))
        raw = BytesIO(read)
        items: list[Any] = []
        while raw.tell() < len(read):
            try:
                offset = Int64.decode(raw)
                message = Bytes.decode(raw) or b""
                items.append((offset, len(message), Message.decode(message)))
            except ValueError:
                items.append((None, None, PartialMessage()))
                break
        return items

    @classmethod
    def repr(cls, messages: Any) -> str:  # pyright: ignore[reportIncompatibleMethodOverride] the original's name
        if isinstance(messages, BytesIO):
            start = messages.tell()
            decoded = cls.decode(messages)
            messages.seek(start)
            messages = decoded
        return str([cls.ITEM.repr(each) for each in messages])
