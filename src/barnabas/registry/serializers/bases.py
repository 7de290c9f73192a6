"""What all serializers, and all deserializers, have in common, whoever waits and whatever the format is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from barnabas.errors import InvalidSettingError
from barnabas.registry.config import RegistryConfig
from barnabas.registry.rules.builtin import rules_of_process
from barnabas.registry.rules.engine import RuleEngine, clear_original_key, set_original_key
from barnabas.registry.rules.rule_registry import RuleRegistry
from barnabas.registry.schemas import Metadata, RuleSet, Schema
from barnabas.registry.serializers.context import Headers, SerializationContext
from barnabas.registry.serializers.deserializing import DeserializerCore, SchemaReader
from barnabas.registry.serializers.models import is_model
from barnabas.registry.serializers.serializing import SerializerCore, SubjectWriter
from barnabas.registry.serializers.settings import SerializerSettings
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


def engine_of(
    registry: RegistryLike, rule_registry: RuleRegistry | None, rule_settings: Mapping[str, Any] | None
) -> RuleEngine:
    engine = RuleEngine(rules_of_process() if rule_registry is None else rule_registry)
    engine.configure(registry.config, rule_settings)
    return engine


def schema_of(schema: SchemaLike | None, type: str, text_of: Callable[[type[Any]], str]) -> Schema | None:
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


def check_rules(settings: SerializerSettings, metadata: Metadata | None, rule_set: RuleSet | None) -> None:
    """Raises: InvalidSettingError."""
    if settings.uses_latest and (metadata is not None or rule_set is not None):
        raise InvalidSettingError(
            "metadata and rule_set are of the serializer's own schema, and it writes with the registry's: "
            "leave them out, or use_latest_version, use_latest_with_metadata and use_schema_id"
        )


def with_rules(schema: Schema | None, metadata: Metadata | None, rule_set: RuleSet | None) -> Schema | None:
    """Raises: InvalidSettingError."""
    if schema is None or (metadata is None and rule_set is None):
        return schema
    if (metadata is not None and schema.metadata is not None) or (
        rule_set is not None and schema.rule_set is not None
    ):
        raise InvalidSettingError("metadata and rule_set are given twice: leave them out of the Schema")
    return replace(
        schema,
        metadata=schema.metadata if metadata is None else metadata,
        rule_set=schema.rule_set if rule_set is None else rule_set,
    )


def then(
    first: Callable[[Any], Any] | None, second: Callable[[Any], Any] | None
) -> Callable[[Any], Any] | None:
    if first is None or second is None:
        return first or second
    return lambda value: second(first(value))
