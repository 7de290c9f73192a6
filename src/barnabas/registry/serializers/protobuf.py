"""Protobuf for serializers: what a schema means with its references, and messages by it.

Owns how the files that a message's class imports become schemas of their own, and which of a file's messages
is meant.
"""

# google.protobuf has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from barnabas.errors import MissingExtraError, MisuseError, SerializationError
from barnabas.formats.protobuf_schema import ProtobufSchema
from barnabas.formats.protobuf_values import (
    descriptor_text,
    file_of,
    is_known,
    message_at,
    message_class,
    message_index,
    referenced_files,
)
from barnabas.registry.references import Referenced
from barnabas.registry.rules.protobuf_walk import ProtobufWalk
from barnabas.registry.schemas import RegisteredSchema, Schema, SchemaReference
from barnabas.registry.serializers.context import ContextLike
from barnabas.registry.serializers.schema_id import PROTOBUF, SchemaId
from barnabas.registry.serializers.serializing import SerializerCore
from barnabas.registry.serializers.shapes import protobuf_shape, protobuf_tags
from barnabas.registry.serializers.source import Asked
from barnabas.registry.serializers.value_format import Decode, Encode, ReadSchema, ValueFormat

ReferenceSubject = Callable[[Any, Any], str]
"""`strategy(context, file)` names the subject of a file that is imported; `file.name` is what it is imported
by."""


def reference_subject(context: ContextLike | None, file: Any) -> str:
    """The file's name."""
    return file.name


class ReadProtobuf(ReadSchema):
    """One file. `descriptor`: of the message that rules see, None where it is not known which that is."""

    def __init__(self, file: Any, encode: Encode, descriptor: Any) -> None:
        self.file = file
        self.encode = encode
        self.descriptor = descriptor
        self.name = None if descriptor is None else descriptor.full_name
        self._walk: ProtobufWalk | None = None

    def walk(self) -> ProtobufWalk:
        if self._walk is None:
            descriptor = message_at(self.file, [0]) if self.descriptor is None else self.descriptor
            self._walk = ProtobufWalk(descriptor)
        return self._walk

    def shape(self) -> Any:
        return protobuf_shape(self.file)

    def tags(self) -> set[str]:
        return protobuf_tags(self.file)

    def message(self, indexes: Sequence[int] | None) -> Any:
        """The descriptor of a message by its place. Raises: SerializationError."""
        return message_at(self.file, indexes or [0])

    def like(self, descriptor: Any) -> Any:
        """The message that has the same name, or else the first one."""
        package = self.file.package
        for name in (descriptor.full_name, f"{package}.{descriptor.name}" if package else descriptor.name):
            try:
                return self.file.pool.FindMessageTypeByName(name)
            except KeyError:
                continue
        return message_at(self.file, [0])


class ProtobufFormat(ValueFormat[ReadProtobuf]):
    """`message`: the class of the messages that are written, or that are given; None for classes that are
    made of what was written."""

    type = PROTOBUF
    asked_as = "serialized"

    def __init__(self, message: Any = None) -> None:
        try:
            from google.protobuf.message import DecodeError, EncodeError
        except ImportError:
            raise MissingExtraError("Protocol Buffers", "protobuf") from None
        self._decode_error, self._encode_error = DecodeError, EncodeError
        self._message = message
        self._encode = _refuse_all if message is None else self._encoder_of(message)

    def read(self, schema: Schema, references: Sequence[Referenced]) -> ReadProtobuf:
        texts = {each.name: each.schema.text for each in references}
        file = file_of(ProtobufSchema(schema.text, texts).descriptor_set)
        read = ReadProtobuf(file, self._encode, None)
        if self._message is not None:
            read.descriptor = read.like(self._message.DESCRIPTOR)
            read.name = read.descriptor.full_name
        return read

    def read_class(self) -> ReadProtobuf:
        """The file of the message's own class."""
        descriptor = self._message.DESCRIPTOR
        return ReadProtobuf(descriptor.file, self._encode, descriptor)

    def decoder(
        self, writer: ReadProtobuf | None, reader: ReadProtobuf | None, indexes: Sequence[int] | None
    ) -> Decode:
        kind = self._message
        if kind is None:
            assert writer is not None, "without a class, only the schema tells what the bytes mean"
            kind = message_class(writer.message(indexes))
        elif writer is not None:
            # That the schema has such a message is said here, not overlooked.
            writer.message(indexes)
        return self._decoder_of(kind)

    def _encoder_of(self, message: Any) -> Encode:
        name, broken = message.DESCRIPTOR.full_name, self._encode_error

        def encode(value: Any, header: bytes = b"") -> bytes:
            if not isinstance(value, message):
                raise SerializationError(f"the value is of {type(value).__qualname__}, where {name} is due")
            try:
                return header + value.SerializeToString()
            except (broken, ValueError) as error:
                raise SerializationError(f"{name}: {error}") from None

        return encode

    def _decoder_of(self, kind: Any) -> Decode:
        parse, broken, name = kind.FromString, self._decode_error, kind.DESCRIPTOR.full_name

        def decode(data: Any, offset: int = 0) -> Any:
            try:
                return parse(data[offset:])
            except broken as error:
                raise SerializationError(f"{name}: {error}") from None

        return decode

    def rule_decoder(
        self,
        writer: ReadProtobuf | None,
        reader: ReadProtobuf | None,
        indexes: Sequence[int] | None,
        *,
        migrates: bool,
    ) -> Decode:
        if not migrates:
            return self.decoder(writer, reader, indexes)
        from google.protobuf.json_format import MessageToDict

        assert writer is not None
        decode = self._decoder_of(message_class(writer.message(indexes)))
        return lambda data, offset: MessageToDict(
            decode(data, offset), always_print_fields_with_no_presence=True
        )

    def after_migrations(self, value: Any, reader: ReadProtobuf | None) -> Any:
        from google.protobuf.json_format import ParseDict, ParseError

        assert reader is not None
        kind = message_class(reader.message(None) if reader.descriptor is None else reader.descriptor)
        try:
            return ParseDict(value, kind())
        except ParseError as error:
            name = kind.DESCRIPTOR.full_name
            raise SerializationError(f"what the migrations made is no {name}: {error}") from None

    def after_rules(self, value: Any, reader: ReadProtobuf | None) -> Any:
        if self._message is None or isinstance(value, self._message):
            return value
        return self._message.FromString(value.SerializeToString())

    def record_name(self, writer: ReadProtobuf, indexes: Sequence[int] | None) -> str | None:
        return writer.message(indexes).full_name

    def is_built_in(self, name: str) -> bool:
        return is_known(name)


def _refuse_all(value: Any, header: bytes) -> bytes:
    raise AssertionError("what only reads does not write")


class ProtobufSerializerCore(SerializerCore[ReadProtobuf]):
    """`message`: the class of what is written. Files that it imports are schemas of their own, under the
    subjects that `name_reference` gives them; those that registries have built in are not, if `skips_known`.
    """

    format: ProtobufFormat

    def __init__(
        self,
        *arguments: Any,
        message: Any,
        name_reference: ReferenceSubject = reference_subject,
        skips_known: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self._descriptor = message.DESCRIPTOR
        self._name_reference = name_reference
        self._skips_known = skips_known
        self._own = self.format.read_class()

    def own_schema(self, context: ContextLike | None) -> Asked[Schema]:
        schema = yield from self._schema_of(self._descriptor.file, context)
        return replace(schema, metadata=self._metadata, rule_set=self._rule_set)

    def id_of(self, registered: RegisteredSchema, read: ReadProtobuf) -> SchemaId:
        """With the message's place in the file that is registered."""
        if read.descriptor.name != self._descriptor.name:
            raise MisuseError(
                f"version {registered.version} of {registered.subject} has no message "
                f"{self._descriptor.full_name}, which is to be written"
            )
        return SchemaId(self.format.type, registered.id, registered.guid, message_index(read.descriptor))

    def _schema_of(self, file: Any, context: ContextLike | None) -> Asked[Schema]:
        """With its references, registered before it."""
        references: list[SchemaReference] = []
        for imported in referenced_files(file, skips_known=self._skips_known):
            schema = yield from self._schema_of(imported, context)
            subject = self._name_reference(context, imported)
            if self.settings.auto_register_schemas:
                yield from self._registered(subject, schema)
            normalize = self.settings.normalize_schemas
            found = yield from self.source.look_up(subject, schema, normalize=normalize)
            references.append(SchemaReference(imported.name, subject, found.version))
        return Schema(descriptor_text(file), PROTOBUF, tuple(references))
