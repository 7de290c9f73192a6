# pyright: basic
"""Protobuf: what its (de)serializers are made of, by their properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from barnabas.compat.confluent_kafka.schema_registry._serde.base import SerdeParts
from barnabas.compat.confluent_kafka.schema_registry._serde.conf import (
    STRATEGY,
    Chosen,
    refuse_the_rest,
    take_callable,
    take_chosen,
    take_flag,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.reading import Reading
from barnabas.compat.confluent_kafka.schema_registry._serde.steps import Asked
from barnabas.compat.confluent_kafka.schema_registry._serde.writing import Writing
from barnabas.compat.confluent_kafka.schema_registry.common._schema_ids import (
    dual_schema_id_deserializer,
    prefix_schema_id_serializer,
)
from barnabas.compat.confluent_kafka.schema_registry.common._strategies import reference_subject_name_strategy
from barnabas.compat.confluent_kafka.schema_registry.common._validation import ValidationRulesExecution
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import (
    Schema,
    SchemaReference,
)
from barnabas.compat.confluent_kafka.serialization import SerializationContext, SerializationError
from barnabas.formats.protobuf_values import descriptor_text, message_index, referenced_files
from barnabas.registry.serializers.protobuf import ProtobufFormat, ReadProtobuf
from barnabas.registry.serializers.value_format import Decode, Encode

PROTOBUF_TYPE = "PROTOBUF"

WRITING: dict[str, Any] = {
    "auto.register.schemas": True,
    "normalize.schemas": False,
    "use.schema.id": None,
    "use.latest.version": False,
    "use.latest.with.metadata": None,
    "skip.known.types": True,
    **STRATEGY,
    "reference.subject.name.strategy": reference_subject_name_strategy,
    "schema.id.serializer": prefix_schema_id_serializer,
    "use.deprecated.format": False,
    "validation.rules.execution": ValidationRulesExecution.DISABLED,
    "validation.rules.fail.fast": False,
    "validation.rules.executor": None,
}
READING: dict[str, Any] = {
    "use.latest.version": False,
    "use.latest.with.metadata": None,
    **STRATEGY,
    "schema.id.deserializer": dual_schema_id_deserializer,
    "use.deprecated.format": False,
}


class OriginalsProtobufFormat(ProtobufFormat):
    """Says what the original says of bytes that are no message, and of messages that a schema does not
    have."""

    def _encoder_of(self, message: Any) -> Encode:
        name, broken = message.DESCRIPTOR.full_name, self._encode_error

        def encode(value: Any, header: bytes = b"") -> bytes:
            if not isinstance(value, message):
                _refuse_class(value, message)
            try:
                return header + value.SerializeToString()
            except (broken, ValueError) as error:
                raise SerializationError(f"{name}: {error}") from error

        return encode

    def _decoder_of(self, kind: Any) -> Decode:
        parse, broken = kind.FromString, self._decode_error

        def decode(data: Any, offset: int = 0) -> Any:
            try:
                return parse(data[offset:])
            except broken as error:
                raise SerializationError(str(error)) from error

        return decode

    def decoder(
        self, writer: ReadProtobuf | None, reader: ReadProtobuf | None, indexes: Sequence[int] | None
    ) -> Decode:
        if writer is not None:
            check_indexes(writer.file, indexes or [0])
        return super().decoder(writer, reader, indexes)

    def record_name(self, writer: ReadProtobuf, indexes: Sequence[int] | None) -> str | None:
        check_indexes(writer.file, indexes or [0])
        return super().record_name(writer, indexes)


def _refuse_class(value: Any, message: Any) -> NoReturn:
    """Raises: ValueError."""
    raise ValueError(f"message must be of type {message} not {type(value)}")


def check_indexes(file: Any, indexes: Sequence[int]) -> None:
    """Raises: SerializationError, where there is no such message."""
    messages = list(file.message_types_by_name.values())
    for depth, index in enumerate(indexes):
        if not 0 <= index < len(messages):
            where = "message has {} nested message(s)" if depth else "schema has {} top-level message(s)"
            raise SerializationError(f"message index {index} out of range, {where.format(len(messages))}")
        messages = list(messages[index].nested_types)


class ProtobufWriting(Writing[ReadProtobuf]):
    """Of messages of one class. Files that it imports are schemas of their own."""

    def __init__(
        self,
        *arguments: Any,
        message: Any,
        name_reference: Callable[[Any, Any], str],
        skips_known: bool,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, schema=None, **settings)
        self._message = message
        self._name_reference = name_reference
        self._skips_known = skips_known
        self._indexes = list(message_index(message.DESCRIPTOR))
        self._own = self.format.read_class()  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def message_indexes(self) -> list[int] | None:
        return self._indexes

    def write(self, value: Any, ctx: SerializationContext | None) -> Asked[bytes]:
        if not isinstance(value, self._message):
            _refuse_class(value, self._message)
        return (yield from super().write(value, ctx))

    def subject(self, ctx: SerializationContext | None, name: str | None) -> Asked[str | None]:
        if ctx is None:
            return None
        return (yield from super().subject(ctx, name))

    def name_of(self, value: Any) -> str | None:
        return value.DESCRIPTOR.full_name

    def own_schema(self, value: Any, ctx: SerializationContext | None) -> Asked[Schema]:
        file = value.DESCRIPTOR.file
        references = yield from self._references(file, ctx)
        return Schema(descriptor_text(file), PROTOBUF_TYPE, references)

    def _references(self, file: Any, ctx: SerializationContext | None) -> Asked[list[SchemaReference]]:
        """Registers what a file imports, and gives where."""
        assert self.source is not None
        found: list[SchemaReference] = []
        for imported in referenced_files(file, skips_known=self._skips_known):
            references = yield from self._references(imported, ctx)
            subject = self._name_reference(ctx, imported)
            schema = Schema(descriptor_text(imported), PROTOBUF_TYPE, references)
            if self._auto_register:
                register = self.source.client.register_schema
                yield partial(register, subject, schema, normalize_schemas=self._normalize)
            registered = yield from self.source.look_up(subject, schema, normalize=self._normalize)
            found.append(SchemaReference(imported.name, subject, registered.version))
        return found


def protobuf_writing(
    parts: SerdeParts,
    client: Any,
    msg_type: Any,
    conf: dict[str, Any] | None,
    rule_conf: dict[str, Any] | None,
    rule_registry: Any,
) -> ProtobufWriting:
    """Raises: ValueError."""
    left = WRITING | (conf or {})
    auto_register = take_flag(left, "auto.register.schemas")
    normalize = take_flag(left, "normalize.schemas")
    chosen = take_chosen(left, auto_register=auto_register, has_id=True)
    skips_known = take_flag(left, "skip.known.types")
    _refuse_deprecated(left)
    parts.configure_subject_name_strategy(*(left.pop(name) for name in STRATEGY))
    name_reference = take_callable(left, "reference.subject.name.strategy")
    put_id = take_callable(left, "schema.id.serializer")
    parts.configure_validation_rules(left)
    refuse_the_rest(left)
    parts._registry = client
    parts._rule_conf = rule_conf
    parts._take_rules(rule_registry)
    return ProtobufWriting(
        client,
        OriginalsProtobufFormat(msg_type),
        parts._subjects,
        chosen,
        parts._rules,
        message=msg_type,
        name_reference=name_reference,
        skips_known=skips_known,
        auto_register=auto_register,
        normalize=normalize,
        validation=parts._validation,
        put_id=put_id,
    )


def protobuf_reading(
    parts: SerdeParts,
    client: Any,
    message_type: Any,
    conf: dict[str, Any] | None,
    rule_conf: dict[str, Any] | None,
    rule_registry: Any,
) -> Reading[ReadProtobuf]:
    """Raises: ValueError."""
    parts._registry = client
    parts._rule_conf = rule_conf
    parts._take_rules(rule_registry)
    left = READING | (conf or {})
    chosen: Chosen = take_chosen(left, auto_register=False, has_id=False)
    parts.configure_subject_name_strategy(*(left.pop(name) for name in STRATEGY))
    take_id = take_callable(left, "schema.id.deserializer")
    _refuse_deprecated(left)
    # The original overlooks what is left.
    return Reading(
        client,
        OriginalsProtobufFormat(message_type),
        parts._subjects,
        chosen,
        parts._rules,
        schema=None,
        take_id=take_id,
    )


def _refuse_deprecated(conf: dict[str, Any]) -> None:
    if take_flag(conf, "use.deprecated.format"):
        raise ValueError("use.deprecated.format is no longer supported")
