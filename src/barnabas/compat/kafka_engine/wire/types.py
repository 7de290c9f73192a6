"""What the fields of kafka-python's structs are made of: each writes a value, and reads one from a file.

Programs make schemas of their own from these. Knows no message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, ClassVar

from barnabas.compat.kafka_engine.generations import generation
from barnabas.protocol.secrets import shown_field

__all__ = [
    "AbstractType",
    "Array",
    "BitField",
    "Boolean",
    "Bytes",
    "CompactArray",
    "CompactBytes",
    "CompactString",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Schema",
    "String",
    "TaggedFields",
    "UnsignedVarInt32",
    "VarInt32",
    "VarInt64",
]

_HOME = "barnabas.compat.kafka.protocol.types"
_SHOWN_BYTES = 100


class AbstractType:
    """Something that is written with `encode` and read with `decode`, from bytes or a file of them."""

    __module__ = "barnabas.compat.kafka.protocol.abstract"

    @classmethod
    def repr(cls, value: Any) -> str:
        """How a value looks in the text of a struct."""
        return repr(value)


def _misfit(value: Any, call: Any, error: Exception) -> ValueError:
    if not generation().misfits_are_explained:
        return ValueError(struct.error)
    return ValueError(
        f"Error encountered when attempting to convert value: {value!r} to struct format: '{call}', "
        f"hit error: {error}"
    )


class _Number(AbstractType):
    """A number of fixed size."""

    _format: ClassVar[struct.Struct]

    @classmethod
    def encode(cls, value: Any) -> bytes:
        try:
            return cls._format.pack(value)
        except struct.error as error:
            raise _misfit(value, cls._format.pack, error) from None

    @classmethod
    def decode(cls, data: Any) -> Any:
        read = data.read(cls._format.size)
        try:
            return cls._format.unpack(read)[0]
        except struct.error as error:
            raise _misfit(read, cls._format.unpack, error) from None


def _number(name: str, format: str) -> Any:
    return type(name, (_Number,), {"__module__": _HOME, "_format": struct.Struct(format)})


Int8 = _number("Int8", ">b")
Int16 = _number("Int16", ">h")
Int32 = _number("Int32", ">i")
Int64 = _number("Int64", ">q")
Float64 = _number("Float64", ">d")
Boolean = _number("Boolean", ">?")


class String(AbstractType):
    """Text, or None."""

    __module__ = _HOME

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def encode(self, value: Any) -> bytes:
        if value is None:
            return Int16.encode(-1)
        encoded = str(value).encode(self.encoding)
        return Int16.encode(len(encoded)) + encoded

    def decode(self, data: Any) -> str | None:
        length = Int16.decode(data)
        return None if length < 0 else _exactly(data, length, "string").decode(self.encoding)


def _exactly(data: Any, length: int, what: str) -> bytes:
    value = data.read(length)
    if len(value) != length:
        raise ValueError(f"Buffer underrun decoding {what}")
    return value


class Bytes(AbstractType):
    """Bytes, or None."""

    __module__ = _HOME

    @classmethod
    def encode(cls, value: Any) -> bytes:
        return Int32.encode(-1) if value is None else Int32.encode(len(value)) + value

    @classmethod
    def decode(cls, data: Any) -> bytes | None:
        length = Int32.decode(data)
        return None if length < 0 else _exactly(data, length, "Bytes")

    @classmethod
    def repr(cls, value: Any) -> str:
        if generation().long_bytes_are_cut and value is not None and len(value) > _SHOWN_BYTES:
            return repr(value[:_SHOWN_BYTES] + b"...")
        return repr(value)


class Schema(AbstractType):
    """Fields one after the other, each as (name, type)."""

    __module__ = _HOME

    def __init__(self, *fields: tuple[str, Any]) -> None:
        self.names = tuple(name for name, _ in fields)
        self.fields = tuple(field for _, field in fields)

    def encode(self, item: Any) -> bytes:
        if len(item) != len(self.fields):
            raise ValueError("Item field count does not match Schema")
        return b"".join([field.encode(item[place]) for place, field in enumerate(self.fields)])

    def decode(self, data: Any) -> tuple[Any, ...]:
        return tuple([field.decode(data) for field in self.fields])

    def __len__(self) -> int:
        return len(self.fields)

    def repr(self, value: Any) -> str:  # pyright: ignore[reportIncompatibleMethodOverride] as the original has it
        try:
            values = {
                name: getattr(value, name) if hasattr(value, name) else value[place]
                for place, name in enumerate(self.names)
            }
            shown = [
                f"{name}={shown_field(name, values, field.repr)}"
                for name, field in zip(self.names, self.fields, strict=True)
            ]
        except Exception:
            return repr(value)
        return f"({', '.join(shown)})"


class Array(AbstractType):
    """A list of one type, or of the fields of a schema; None where it is null."""

    __module__ = _HOME

    def __init__(self, *array_of: Any) -> None:
        if len(array_of) > 1:
            self.array_of: Any = Schema(*array_of)
        elif array_of and (
            isinstance(array_of[0], AbstractType)
            or (isinstance(array_of[0], type) and issubclass(array_of[0], AbstractType))
        ):
            self.array_of = array_of[0]
        else:
            raise ValueError("Array instantiated with no array_of type")

    def encode(self, items: Iterable[Any] | None) -> bytes:
        if items is None:
            return Int32.encode(-1)
        encoded = [self.array_of.encode(item) for item in items]
        return Int32.encode(len(encoded)) + b"".join(encoded)

    def decode(self, data: Any) -> list[Any] | None:
        length = Int32.decode(data)
        if length == -1:
            return None
        return [self.array_of.decode(data) for _ in range(length)]

    def repr(self, list_of_items: Any) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        if list_of_items is None:
            return "NULL"
        return f"[{', '.join([self.array_of.repr(item) for item in list_of_items])}]"


def _read_varint(data: Any, bits: int) -> int:
    value = shift = 0
    while True:
        (byte,) = struct.unpack("B", data.read(1))
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value
        shift += 7
        if shift > bits:
            raise ValueError(f"Invalid value {value}")


def _written_varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


class UnsignedVarInt32(AbstractType):
    """A number of which small ones are short."""

    __module__ = _HOME

    @classmethod
    def decode(cls, data: Any) -> int:
        return _read_varint(data, 28)

    @classmethod
    def encode(cls, value: int) -> bytes:
        return _written_varint(value & 0xFFFFFFFF)


def _signed(name: str, bits: int) -> Any:
    mask = (1 << bits) - 1

    def decode(data: Any) -> int:
        value = _read_varint(data, bits - bits % 7)
        return (value >> 1) ^ -(value & 1)

    def encode(value: int) -> bytes:
        return _written_varint(((value << 1) ^ (value >> (bits - 1))) & mask)

    methods = {"decode": staticmethod(decode), "encode": staticmethod(encode)}
    return type(name, (AbstractType,), {"__module__": _HOME, **methods})


VarInt32 = _signed("VarInt32", 32)
VarInt64 = _signed("VarInt64", 64)


def _compact(value: bytes | None) -> bytes:
    """With the length before it that KIP-482 has."""
    return b"\0" if value is None else UnsignedVarInt32.encode(len(value) + 1) + value


def _read_compact(data: Any, what: str) -> bytes | None:
    length = UnsignedVarInt32.decode(data) - 1
    return None if length < 0 else _exactly(data, length, what)


class CompactString(String):
    __module__ = _HOME

    def decode(self, data: Any) -> str | None:
        read = _read_compact(data, "string")
        return None if read is None else read.decode(self.encoding)

    def encode(self, value: Any) -> bytes:
        return _compact(None if value is None else str(value).encode(self.encoding))


class CompactBytes(AbstractType):
    __module__ = _HOME

    @classmethod
    def decode(cls, data: Any) -> bytes | None:
        return _read_compact(data, "Bytes")

    @classmethod
    def encode(cls, value: bytes | None) -> bytes:
        return _compact(value)


class CompactArray(Array):
    __module__ = _HOME

    def encode(self, items: Any) -> bytes:
        if items is None:
            return UnsignedVarInt32.encode(0)
        encoded = [self.array_of.encode(item) for item in items]
        return UnsignedVarInt32.encode(len(encoded) + 1) + b"".join(encoded)

    def decode(self, data: Any) -> list[Any] | None:
        length = UnsignedVarInt32.decode(data) - 1
        if length == -1:
            return None
        return [self.array_of.decode(data) for _ in range(length)]


class TaggedFields(AbstractType):
    """Fields that need not be there, as bytes by their tags (KIP-482)."""

    __module__ = _HOME

    @classmethod
    def decode(cls, data: Any) -> dict[int, bytes]:
        fields: dict[int, bytes] = {}
        last = -1
        for _ in range(UnsignedVarInt32.decode(data)):
            tag = UnsignedVarInt32.decode(data)
            if tag <= last:
                raise ValueError(f"Invalid or out-of-order tag {tag}")
            last = tag
            fields[tag] = data.read(UnsignedVarInt32.decode(data))
        return fields

    @classmethod
    def encode(cls, value: dict[int, bytes]) -> bytes:
        parts = [UnsignedVarInt32.encode(len(value))]
        for tag, field in value.items():
            assert isinstance(field, bytes), f"Value {field} is not a byte array"
            assert isinstance(tag, int), f"Key {tag} is not a non-negative integer"
            assert tag >= 0, f"Key {tag} is not a non-negative integer"
            parts += [UnsignedVarInt32.encode(tag), UnsignedVarInt32.encode(len(field)), field]
        return b"".join(parts)


class BitField(AbstractType):
    """The numbers of the bits that are set."""

    __module__ = _HOME

    @classmethod
    def decode(cls, data: Any) -> set[int]:
        return cls.from_32_bit_field(Int32.decode(data))

    @classmethod
    def encode(cls, vals: Iterable[int]) -> bytes:
        return struct.pack(">I", cls.to_32_bit_field(vals))

    @classmethod
    def to_32_bit_field(cls, vals: Iterable[int]) -> int:
        field = 0
        for bit in vals:
            assert 0 <= bit < 32
            field |= 1 << bit
        return field

    @classmethod
    def from_32_bit_field(cls, value: int) -> set[int]:
        return {bit for bit in range(32) if value >> bit & 1}
