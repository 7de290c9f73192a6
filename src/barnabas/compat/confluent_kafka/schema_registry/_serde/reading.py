# pyright: basic
"""Bytes to values: with which schema they were written, in which they are wanted, by which rules, as the
original goes about it.

Asks a client step by step; bytes like some before take the short way, which asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from barnabas.compat.confluent_kafka.schema_registry._serde.base import CAPACITY, KEY, VALUE, Flow
from barnabas.compat.confluent_kafka.schema_registry._serde.conf import Chosen, Subjects
from barnabas.compat.confluent_kafka.schema_registry._serde.steps import Asked
from barnabas.compat.confluent_kafka.schema_registry.common._schema_ids import (
    SchemaId,
    dual_schema_id_deserializer,
    has_id_in_headers,
    prefix_schema_id_deserializer,
)
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import Schema
from barnabas.compat.confluent_kafka.serialization import (
    SerializationContext,
    SerializationError,
)
from barnabas.errors import SerializationError as ValueDoesNotFitError
from barnabas.registry.rules.engine import Migration, RuleEngine, has_rules, migrations
from barnabas.registry.rules.kinds import RuleMode, RulePhase
from barnabas.registry.serializers.remembered import Remembered
from barnabas.registry.serializers.value_format import Decode, ReadSchema, ValueFormat

S = TypeVar("S", bound=ReadSchema)

# An id; behind it, the first message of a Protobuf schema takes one byte more. Others go the long way.
PREFIX_BYTES = 5


class ReadablePayload(bytes):
    """Bytes that may be read like a file, which is what the original gives to rules."""

    def read(self) -> bytes:
        return bytes(self)


class Reading(Flow[S]):
    """`schema`: what values are wanted in, where the registry does not choose."""

    def __init__(
        self,
        client: Any,
        format: ValueFormat[S],
        subjects: Subjects,
        chosen: Chosen,
        rules: RuleEngine,
        *,
        schema: Schema | None,
        take_id: Callable[[bytes, Any, Any], Any],
        from_dict: Callable[[Any, Any], Any] | None = None,
        needs_context: bool = True,
    ) -> None:
        super().__init__(client, format, subjects, chosen, rules)
        self.schema = schema
        self._take_id = take_id
        self._from_dict = from_dict
        # Without one Avro and Protobuf have no subject; JSON asks for one all the same.
        self._needs_context = needs_context
        self._own: S | None = None
        self._decoders: Remembered[tuple[Any, ...], Decode] = Remembered(CAPACITY)
        self._of_keys: Remembered[tuple[str, bytes, int], Decode] = Remembered(CAPACITY)
        self._of_values: Remembered[tuple[str, bytes, int], Decode] = Remembered(CAPACITY)
        self._is_short = (
            subjects.is_of_place
            and not chosen.is_any
            and from_dict is None
            and take_id in (dual_schema_id_deserializer, prefix_schema_id_deserializer)
        )
        self.prefix_bytes = PREFIX_BYTES + (format.type == "PROTOBUF")
        self._looks_into_headers = take_id is dual_schema_id_deserializer

    def prepare(self) -> Asked[None]:
        """Reads its own schema."""
        if self.schema is not None:
            self._own = yield from self.reading(self.schema)

    def short_way(self, data: bytes, ctx: SerializationContext | None) -> Decode | None:
        """How such bytes are read, if that is known and nobody is to be asked."""
        if ctx is None or (ctx.headers and self._looks_into_headers and has_id_in_headers(ctx)):
            return None
        if ctx.field is VALUE:
            return self._of_values.get((ctx.topic, data[: self.prefix_bytes], self._strategy.changes))
        if ctx.field is KEY:
            return self._of_keys.get((ctx.topic, data[: self.prefix_bytes], self._strategy.changes))
        return None

    def read(self, data: bytes, ctx: SerializationContext | None) -> Asked[Any]:
        """Raises: SerializationError, ValueError, TypeError; what the client raises."""
        changes = self._strategy.changes
        subject = None
        if ctx is not None or not self._needs_context:
            subject = yield from self.subject(ctx, None)
        chosen = yield from self.chosen(subject)
        schema_id = SchemaId(self.format.type)
        payload = self._take_id(data, ctx, schema_id)
        written, writer = None, None
        if self.source is not None:
            written = yield from self._written(schema_id, subject)
            writer = yield from self.reading(written)
            name = self.format.record_name(writer, schema_id.message_indexes)
            if subject is None and name is not None and (ctx is not None or not self._needs_context):
                subject = yield from self.subject(ctx, name)
                chosen = yield from self.chosen(subject)
        if not isinstance(payload, bytes):
            payload = payload.read()
        prefix = data[: len(data) - len(payload)]
        is_ruled = False
        if ctx is not None and subject is not None and written is not None:
            is_ruled = has_rules(written.rule_set, RulePhase.ENCODING, RuleMode.READ)
            if is_ruled:
                payload = self.rules.run(
                    ctx,
                    subject,
                    RuleMode.READ,
                    None,
                    written,
                    ReadablePayload(payload),
                    rule_phase=RulePhase.ENCODING,
                    original_message=data,
                )
        wanted, reader, way = written, writer, []
        if chosen is not None and subject is not None and written is not None:
            way = yield from migrations(self.source, subject, written, chosen)  # pyright: ignore
            wanted = chosen.schema
            reader = yield from self.reading(chosen.schema)
        elif self.schema is not None:
            wanted, reader = self.schema, self._own
        indexes = schema_id.message_indexes
        if ctx is None or subject is None:
            way = []
        has_message_rules = (
            ctx is not None
            and subject is not None
            and wanted is not None
            and has_rules(wanted.rule_set, RulePhase.DOMAIN, RuleMode.READ)
        )
        if not way and not has_message_rules:
            decode = self._decoder(written, writer, wanted, reader, indexes)
            value = self._decoded(decode, payload)
            is_plain = not is_ruled and len(prefix) == self.prefix_bytes
            if is_plain and self._is_short and ctx is not None and ctx.topic is not None:
                known = self._of_keys if ctx.field == KEY else self._of_values
                known.put((ctx.topic, prefix, changes), decode)
        else:
            value = self._by_rules(
                data, payload, ctx, subject, wanted, writer, reader, way, indexes, has_message_rules
            )
        if self._from_dict is not None:
            if ctx is None:
                raise TypeError("SerializationContext cannot be None")
            return self._from_dict(value, ctx)
        return value

    def _written(self, schema_id: SchemaId, subject: str | None) -> Asked[Schema]:
        assert self.source is not None
        if schema_id.id is not None:
            return (yield from self.source.schema(schema_id.id, subject=subject, format=self.format.asked_as))
        if schema_id.guid is not None:
            return (yield from self.source.schema_by_guid(str(schema_id.guid), format=self.format.asked_as))
        raise SerializationError("Schema ID or GUID is not set")

    def _decoder(
        self,
        written: Schema | None,
        writer: S | None,
        wanted: Schema | None,
        reader: S | None,
        indexes: list[int] | None,
    ) -> Decode:
        """Made once."""
        key = (written, wanted, None if indexes is None else tuple(indexes))
        decode = self._decoders.get(key)
        if decode is None:
            decode = self.format.decoder(writer, reader, indexes)
            self._decoders.put(key, decode)
        return decode

    def _by_rules(
        self,
        data: bytes,
        payload: bytes,
        ctx: Any,
        subject: Any,
        wanted: Schema | None,
        writer: S | None,
        reader: S | None,
        way: list[Migration],
        indexes: list[int] | None,
        has_message_rules: bool,
    ) -> Any:
        decode = self.format.rule_decoder(writer, reader, indexes, migrates=bool(way))
        value = self._decoded(decode, payload)
        if way:
            value = self.rules.migrate(ctx, subject, way, value)
            value = self.format.after_migrations(value, reader)
        if has_message_rules:
            assert reader is not None
            value = self.rules.run(
                ctx,
                subject,
                RuleMode.READ,
                None,
                wanted,
                value,
                inline_tags=reader.walk().inline_tags,
                field_transformer=reader.walk().transform,
                original_message=data,
            )
        return self.format.after_rules(value, reader)

    @staticmethod
    def _decoded(decode: Decode, payload: bytes) -> Any:
        try:
            return decode(payload, 0)
        except ValueDoesNotFitError as error:
            raise SerializationError(str(error)) from error
