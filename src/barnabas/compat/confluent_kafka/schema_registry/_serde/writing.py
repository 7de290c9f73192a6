# pyright: basic
"""Values to bytes: under which subject, with which schema, by which rules, as the original goes about it.

Asks a client step by step; a value like one before takes the short way, which asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from barnabas.compat.confluent_kafka.schema_registry._serde.base import (
    CAPACITY,
    KEY,
    VALUE,
    Flow,
    InvalidValueError,
    track_key,
)
from barnabas.compat.confluent_kafka.schema_registry._serde.conf import Chosen, Subjects
from barnabas.compat.confluent_kafka.schema_registry._serde.steps import Asked
from barnabas.compat.confluent_kafka.schema_registry.common._schema_ids import (
    SchemaId,
    prefix_schema_id_serializer,
)
from barnabas.compat.confluent_kafka.schema_registry.common._validation import (
    Validation,
    ValidationRulesExecution,
)
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import (
    RegisteredSchema,
    Schema,
)
from barnabas.compat.confluent_kafka.serialization import (
    SerializationContext,
    SerializationError,
)
from barnabas.errors import SerializationError as ValueDoesNotFitError
from barnabas.registry.rules.engine import RuleEngine, has_rules, original_key
from barnabas.registry.rules.kinds import RuleMode, RulePhase
from barnabas.registry.serializers.remembered import Remembered
from barnabas.registry.serializers.value_format import Encode, ReadSchema, ValueFormat

S = TypeVar("S", bound=ReadSchema)

ShortWay = tuple[Encode, bytes, int]
"""What writes, what goes before it, and how often the strategy had forgotten what it knew by then."""


class Writing(Flow[S]):
    """`schema`: what values are written with, where the registry does not choose."""

    def __init__(
        self,
        client: Any,
        format: ValueFormat[S],
        subjects: Subjects,
        chosen: Chosen,
        rules: RuleEngine,
        *,
        schema: Schema | None,
        auto_register: bool,
        normalize: bool,
        validation: Validation,
        put_id: Callable[[bytes, Any, Any], bytes],
        to_dict: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        super().__init__(client, format, subjects, chosen, rules)
        self.schema = schema
        self._auto_register = auto_register
        self._normalize = normalize
        self._validation = validation
        self._put_id = put_id
        self._error = InvalidValueError if format.type == "AVRO" else SerializationError
        self._to_dict = to_dict
        self._own: S | None = None
        self._ids: Remembered[str, SchemaId] = Remembered(CAPACITY)
        self._of_keys: Remembered[str, ShortWay] = Remembered(CAPACITY)
        self._of_values: Remembered[str, ShortWay] = Remembered(CAPACITY)
        self._is_short = (
            subjects.is_of_place
            and not chosen.is_any
            and not validation.is_enabled
            and to_dict is None
            and put_id is prefix_schema_id_serializer
        )

    def prepare(self) -> Asked[None]:
        """Reads its own schema."""
        if self.schema is not None:
            self._own = yield from self.reading(self.schema)

    def at_once(self, value: Any, ctx: SerializationContext | None) -> bytes | None:
        """Writes it as a value from there was written before; None where somebody is to be asked. Raises:
        SerializationError, ValueError."""
        if ctx is None:
            return None
        if ctx.field is VALUE:
            known = self._of_values.get(ctx.topic)
        elif ctx.field is KEY:
            known = self._of_keys.get(ctx.topic)
        else:
            return None
        if known is None or known[2] != self._strategy.changes:
            return None
        if ctx.field is KEY or original_key.get() is not None:
            track_key(ctx, value)
        try:
            return known[0](value, known[1])
        except ValueDoesNotFitError as error:
            raise self._error(str(error)) from error

    def write(self, value: Any, ctx: SerializationContext | None) -> Asked[bytes]:
        """Raises: SerializationError, ValueError, TypeError; what the client raises."""
        changes = self._strategy.changes
        subject = yield from self.subject(ctx, self.name_of(value))
        chosen = yield from self.chosen(subject)
        schema_id = None
        if chosen is not None:
            read = yield from self.reading(chosen.schema)
            schema_id = self._id_of(chosen)
        else:
            if subject is not None:
                schema_id = yield from self._own_id(subject, value, ctx)
            if self._own is None:
                raise TypeError("a schema is missing: the serializer has none, and the registry is not asked")
            read = self._own
        if self._to_dict is not None:
            if ctx is None:
                raise TypeError("SerializationContext cannot be None")
            value = self._to_dict(value, ctx)
        if chosen is None or ctx is None or subject is None:
            if self._validation.is_enabled:
                self._validation.check(read.walk(), self.format.plain(value))
            payload = self._encoded(read, value)
            if schema_id is not None and self._is_short and ctx is not None and ctx.topic is not None:
                known = self._of_keys if ctx.field == KEY else self._of_values
                known.put(ctx.topic, (read.encode, schema_id.id_to_bytes(), changes))
        else:
            payload = self._by_rules(value, ctx, subject, chosen.schema, read)
        return self._put_id(payload, ctx, schema_id)

    def name_of(self, value: Any) -> str | None:
        """By which subjects may be named."""
        return None if self._own is None else self._own.name

    def own_schema(self, value: Any, ctx: SerializationContext | None) -> Asked[Schema]:
        """As it is registered."""
        yield from ()
        return self.schema  # pyright: ignore[reportReturnType]

    def _id_of(self, registered: RegisteredSchema) -> SchemaId:
        return SchemaId(self.format.type, registered.schema_id, registered.guid, self.message_indexes)

    @property
    def message_indexes(self) -> list[int] | None:
        return None

    def _own_id(self, subject: str, value: Any, ctx: SerializationContext | None) -> Asked[SchemaId]:
        known = self._ids.get(subject)
        if known is None:
            assert self.source is not None
            schema = yield from self.own_schema(value, ctx)
            ask = self.source.register if self._auto_register else self.source.look_up
            registered = yield from ask(subject, schema, normalize=self._normalize)
            known = self._id_of(registered)
            self._ids.put(subject, known)
        return known

    def _by_rules(
        self, value: Any, ctx: SerializationContext, subject: str, schema: Schema, read: S
    ) -> bytes:
        check, time = self._validation, self._validation.execution
        has_message_rules = has_rules(schema.rule_set, RulePhase.DOMAIN, RuleMode.WRITE)
        if has_message_rules or check.is_enabled:
            value = self.format.plain(value)
        if time == ValidationRulesExecution.BEFORE_DOMAIN_RULES:
            check.check(read.walk(), value)
        if has_message_rules:
            value = self.rules.run(
                ctx,
                subject,
                RuleMode.WRITE,
                None,
                schema,
                value,
                inline_tags=read.walk().inline_tags,
                field_transformer=read.walk().transform,
            )
        if time == ValidationRulesExecution.AFTER_DOMAIN_RULES:
            check.check(read.walk(), value)
        payload = self._encoded(read, value)
        if has_rules(schema.rule_set, RulePhase.ENCODING, RuleMode.WRITE):
            payload = self.rules.run(
                ctx, subject, RuleMode.WRITE, None, schema, payload, rule_phase=RulePhase.ENCODING
            )
        return payload

    def _encoded(self, read: S, value: Any) -> bytes:
        try:
            return read.encode(value, b"")
        except ValueDoesNotFitError as error:
            raise self._error(str(error)) from error
