"""Messages of Protocol Buffers as serializers of a registry frame them: behind the schema's id comes which
message of its file it is.

Thin on google.protobuf. Owns message indexes, and what a serializer has to know of descriptors. Knows nothing
of where a schema comes from.
"""

# google.protobuf has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.errors import MissingExtraError, SerializationError
from barnabas.formats.errors import SchemaError
from barnabas.formats.proto.known import PREFIXES

Message = Any
MessageClass = Any
Descriptor = Any
FileDescriptor = Any

FIRST = b"\0"
"""The index of a file's first message, which most are."""
DEEPEST = 100
LONGEST_VARINT = 10


class ProtobufValues:
    """Values of a message's class, as protoc or `message_class` makes it. All threads may share one, and it
    may be pickled where the class may be.

    `is_zigzag`: False for the indexes of clients before 2022, which wrote them without.

    Raises: MissingExtraError.
    """

    def __init__(self, message_class: MessageClass, *, is_zigzag: bool = True) -> None:
        self._made_of = (message_class, is_zigzag)
        self.message_index = message_index(message_class.DESCRIPTOR)
        self.framing = framing(self.message_index, is_zigzag=is_zigzag)
        self.encode = _encoder(message_class, self.framing)
        """`encode(value, header=b"")` gives bytes, behind `header`. Raises: SerializationError."""
        self.decode = _decoder(message_class, is_zigzag=is_zigzag)
        """`decode(data, offset=0)` gives the message of the bytes behind `offset`, whatever index they have.
        Raises: SerializationError."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, self._made_of


def _again(message_class: MessageClass, is_zigzag: bool) -> ProtobufValues:
    return ProtobufValues(message_class, is_zigzag=is_zigzag)


def _encoder(message_class: MessageClass, index: bytes) -> Callable[..., bytes]:
    try:
        from google.protobuf.message import EncodeError
    except ImportError:
        raise MissingExtraError("Protocol Buffers", "protobuf") from None

    def encode(value: Message, header: bytes = b"") -> bytes:
        if not isinstance(value, message_class):
            raise SerializationError(
                f"the value is {type(value).__qualname__}, where {message_class.DESCRIPTOR.full_name} is due"
            )
        try:
            data: bytes = value.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise SerializationError(f"{message_class.DESCRIPTOR.full_name}: {error}") from None
        return header + index + data

    return encode


def _decoder(message_class: MessageClass, *, is_zigzag: bool) -> Callable[..., Message]:
    from google.protobuf.message import DecodeError

    parse = message_class.FromString

    def decode(data: bytes, offset: int = 0) -> Message:
        # Nearly always, and no list is made for it.
        if data[offset : offset + 1] == FIRST:
            start = offset + 1
        else:
            _, start = read_index(data, offset, is_zigzag=is_zigzag)
        try:
            return parse(data[start:])
        except DecodeError as error:
            raise SerializationError(f"{message_class.DESCRIPTOR.full_name}: {error}") from None

    return decode


def framing(index: Sequence[int], *, is_zigzag: bool = True) -> bytes:
    """The bytes of a message's index."""
    if list(index) == [0]:
        return FIRST
    return b"".join(_varint(number << 1 if is_zigzag else number) for number in (len(index), *index))


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def read_index(data: bytes, offset: int = 0, *, is_zigzag: bool = True) -> tuple[tuple[int, ...], int]:
    """A message's index, and where the message begins. Raises: SerializationError."""
    count, offset = _read_number(data, offset, is_zigzag=is_zigzag)
    if count == 0:
        return (0,), offset
    if not 0 < count <= DEEPEST:
        raise SerializationError(f"a message's index has {count} parts; the limit is {DEEPEST}")
    index: list[int] = []
    for _ in range(count):
        number, offset = _read_number(data, offset, is_zigzag=is_zigzag)
        if number < 0:
            raise SerializationError(f"a message's index has the part {number}")
        index.append(number)
    return tuple(index), offset


def _read_number(data: bytes, offset: int, *, is_zigzag: bool) -> tuple[int, int]:
    number = 0
    for length, byte in enumerate(data[offset : offset + LONGEST_VARINT]):
        number |= (byte & 0x7F) << (7 * length)
        if byte < 0x80:
            return (number >> 1 ^ -(number & 1) if is_zigzag else number), offset + length + 1
    raise SerializationError("the index of the message ends too early")


def message_index(descriptor: Descriptor) -> tuple[int, ...]:
    """Where a message is: in its file, and in each of the messages that it lies in."""
    index: list[int] = []
    while descriptor.containing_type is not None:
        outer = descriptor.containing_type
        names = [each.name for each in outer.nested_types]
        index.append(names.index(descriptor.name))
        descriptor = outer
    index.append(list(descriptor.file.message_types_by_name).index(descriptor.name))
    return tuple(reversed(index))


def message_at(file: FileDescriptor, index: Sequence[int]) -> Descriptor:
    """The opposite. Raises: SerializationError."""
    found: Descriptor = None
    messages: list[Descriptor] = list(file.message_types_by_name.values())
    for depth, number in enumerate(index):
        if not 0 <= number < len(messages):
            where = f"message {found.full_name}" if depth else "schema"
            raise SerializationError(
                f"the index of the message has {number}, where the {where} has {len(messages)} messages"
            )
        found = messages[number]
        messages = list(found.nested_types)
    if found is None:
        raise SerializationError("the index of the message is empty")
    return found


def file_of(descriptor_set: bytes) -> FileDescriptor:
    """The last file of a FileDescriptorSet, as `compile_text` gives one, in a pool of its own.

    Raises: SchemaError, MissingExtraError.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool
        from google.protobuf.message import DecodeError
    except ImportError:
        raise MissingExtraError("Protocol Buffers", "protobuf") from None
    pool = descriptor_pool.DescriptorPool()
    name = ""
    try:
        for file in descriptor_pb2.FileDescriptorSet.FromString(descriptor_set).file:
            pool.AddSerializedFile(file.SerializeToString())
            name = file.name
        return pool.FindFileByName(name)
    except (DecodeError, TypeError, KeyError) as error:
        raise SchemaError(f"the descriptor set is broken: {error}") from None


def message_class(descriptor: Descriptor) -> MessageClass:
    """The class of a message that a descriptor tells of."""
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(descriptor)


def referenced_files(file: FileDescriptor, *, skips_known: bool = True) -> list[FileDescriptor]:
    """The files that a schema needs as references: what it imports, without what registries have built in
    if `skips_known`."""
    return [each for each in file.dependencies if not (skips_known and is_known(each.name))]


def is_known(name: str) -> bool:
    return name.startswith(PREFIXES)


def descriptor_text(file: FileDescriptor) -> str:
    """The descriptor in base64, as Confluent's serializers register it."""
    return base64.b64encode(file.serialized_pb).decode()
