"""What serializers and deserializers are made of, the same for plain calls and for asyncio: a class each,
with its arguments. `waiting` and `awaited` have the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, Unpack

from barnabas.errors import InvalidSettingError
from barnabas.formats.avro_values import Strictness
from barnabas.registry.config import RegistryConfig
from barnabas.registry.rules.engine import RuleEngine, clear_original_key, set_original_key
from barnabas.registry.rules.rule_registry import RuleRegistry
from barnabas.registry.schemas import Schema
from barnabas.registry.serializers.avro import AvroFormat
from barnabas.registry.serializers.avro_models import avro_schema_of
from barnabas.registry.serializers.context import Headers, SerializationContext
from barnabas.registry.serializers.deserializing import DeserializerCore, SchemaReader
from barnabas.registry.serializers.inline_rules import InlineRules
from barnabas.registry.serializers.models import builder_of, is_model
from barnabas.registry.serializers.serializing import SerializerCore, SubjectWriter
from barnabas.registry.serializers.settings import (
    DeserializerKeywords,
    SerializerKeywords,
    load_deserializer_settings,
    load_serializer_settings,
)
from barnabas.registry.serializers.source import SchemaSource

SchemaLike = str | Schema | type[Any]
"""A schema's text; a Schema, which may have references, metadata and rules; a dataclass or Pydantic model."""


class RegistryLike(Protocol):
    """Either front of a registry."""

    @property
    def config(self) -> RegistryConfig: ...
    @property
    def calls(self) -> SchemaSource: ...


class SerializerBase:
    """Owns the way from a call's arguments to what the core knows. All threads may share one, and it may be
    pickled with its registry; what it has found stays behind."""

    def __init__(
        self, registry: RegistryLike, core: SerializerCore[Any], rules: RuleEngine, made_of: tuple[Any, ...]
    ) -> None:
        self._registry: Any = registry
        self._core = core
        self._made_of = made_of
        # An action that wants a value's key is told by whoever serialized the key.
        self._tracks_keys = bool(rules.registry.get_actions())
        self._is_always_slow = core.needs_context or self._tracks_keys

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), *self._made_of)

    def _known(self, context: SerializationContext) -> SubjectWriter | None:
        return self._core.known(context.topic, context.field == "key", context)

    def _written(self, writer: SubjectWriter, value: Any, context: SerializationContext) -> bytes:
        try:
            return writer.write(value, context)
        finally:
            self._track(value, context)

    def _track(self, value: Any, context: SerializationContext) -> None:
        if self._tracks_keys and context.field == "key":
            set_original_key(value)
        elif self._tracks_keys:
            clear_original_key()


class DeserializerBase:
    """Owns the way from a call's arguments to what the core knows. All threads may share one, and it may be
    pickled with its registry; what it has found stays behind."""

    def __init__(
        self, registry: RegistryLike, core: DeserializerCore[Any], rules: RuleEngine, made_of: tuple[Any, ...]
    ) -> None:
        self._registry: Any = registry
        self._core = core
        self._made_of = made_of
        self._tracks_keys = bool(rules.registry.get_actions())

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), *self._made_of)

    def _read(self, reader: SchemaReader, data: bytes, context: SerializationContext) -> Any:
        try:
            return reader.read(data, context)
        finally:
            if self._tracks_keys and context.field == "key":
                set_original_key(data)
            elif self._tracks_keys:
                clear_original_key()


def _made_again(kind: type[Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return kind(*arguments, **keywords)


def context_of(topic: str | None, is_key: bool, headers: Headers) -> SerializationContext:
    return SerializationContext(topic, "key" if is_key else "value", headers)


def _engine(
    registry: RegistryLike, rule_registry: RuleRegistry | None, rule_settings: Mapping[str, Any] | None
) -> RuleEngine:
    engine = RuleEngine(RuleRegistry.get_global_instance() if rule_registry is None else rule_registry)
    engine.configure(registry.config, rule_settings)
    return engine


def _schema_of(schema: SchemaLike | None, type: str, text_of: Callable[[type[Any]], str]) -> Schema | None:
    """Raises: InvalidSettingError, ModelError."""
    if schema is None or isinstance(schema, Schema):
        return schema
    if isinstance(schema, str):
        return Schema(schema, type)
    if is_model(schema):
        return Schema(text_of(schema), type)
    raise InvalidSettingError(
        f"the schema must be a text, a Schema, a dataclass or a Pydantic model, not {schema!r}"
    )


class AvroSerializing(SerializerBase):
    """Values to Avro, behind the id of their schema in a registry.

    `schema`: what values are written with: a text, a `Schema` (with references, metadata, rules), or a
    dataclass or Pydantic model whose schema is made of its fields; None where the registry's latest is used.
    `to_dict(value)` makes a dict of a value that is neither a dict nor an instance of a dataclass or Pydantic
    model. `strict`: see AvroValues. `inline_rules`: when and by what conditions in the schema's text are
    checked. `rule_registry`: who carries out the schema's rules, by default the process's; `rule_settings`:
    what they are told. `settings`: see `SerializerSettings`.

    Raises: UnknownSettingError, InvalidSettingError, ModelError, MissingExtraError.
    """

    def __init__(
        self,
        registry: RegistryLike,
        schema: SchemaLike | None = None,
        *,
        to_dict: Callable[[Any], Any] | None = None,
        strict: Strictness = "no",
        inline_rules: InlineRules | None = None,
        rule_registry: RuleRegistry | None = None,
        rule_settings: Mapping[str, Any] | None = None,
        **settings: Unpack[SerializerKeywords],
    ) -> None:
        loaded = load_serializer_settings(settings)
        made_schema = _schema_of(schema, "AVRO", avro_schema_of)
        loaded.check(made_schema)
        rules = _engine(registry, rule_registry, rule_settings)
        core = SerializerCore(
            registry.calls,
            AvroFormat(strict=strict),
            made_schema,
            loaded,
            convert=to_dict,
            rules=rules,
            inline_rules=inline_rules,
        )
        keywords = {
            "to_dict": to_dict,
            "strict": strict,
            "inline_rules": inline_rules,
            "rule_registry": rule_registry,
            "rule_settings": rule_settings,
            **settings,
        }
        super().__init__(registry, core, rules, ((registry, schema), keywords))


class AvroDeserializing(DeserializerBase):
    """Avro behind the id of its schema in a registry, to values.

    `schema`: what values are wanted in, which what was written is resolved to: a text, a `Schema`, or a
    dataclass or Pydantic model, whose instances are given then; None for what they were written with.
    `from_dict(value)` makes what is given of what was read. `tells_records`: see AvroValues. The rest: see
    `AvroSerializer` and `DeserializerSettings`.

    Raises: UnknownSettingError, InvalidSettingError, ModelError, MissingExtraError.
    """

    def __init__(
        self,
        registry: RegistryLike,
        schema: SchemaLike | None = None,
        *,
        from_dict: Callable[[Any], Any] | None = None,
        tells_records: bool = False,
        rule_registry: RuleRegistry | None = None,
        rule_settings: Mapping[str, Any] | None = None,
        **settings: Unpack[DeserializerKeywords],
    ) -> None:
        loaded = load_deserializer_settings(settings)
        rules = _engine(registry, rule_registry, rule_settings)
        is_class = isinstance(schema, type)
        core = DeserializerCore(
            registry.calls,
            AvroFormat(tells_records=tells_records or is_class),
            _schema_of(schema, "AVRO", avro_schema_of),
            loaded,
            convert=_then(builder_of(schema) if isinstance(schema, type) else None, from_dict),
            rules=rules,
        )
        keywords = {
            "from_dict": from_dict,
            "tells_records": tells_records,
            "rule_registry": rule_registry,
            "rule_settings": rule_settings,
            **settings,
        }
        super().__init__(registry, core, rules, ((registry, schema), keywords))


def _then(
    first: Callable[[Any], Any] | None, second: Callable[[Any], Any] | None
) -> Callable[[Any], Any] | None:
    if first is None or second is None:
        return first or second
    return lambda value: second(first(value))
