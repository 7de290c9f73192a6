"""Each format's serializer and deserializer, with its arguments, for plain calls and for asyncio: `waiting`
and `awaited` have the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from barnabas.errors import InvalidSettingError
from barnabas.formats.avro_resolution import Strictness
from barnabas.registry.rules.rule_registry import RuleRegistry
from barnabas.registry.schemas import Metadata, RuleSet
from barnabas.registry.serializers.avro import AvroFormat
from barnabas.registry.serializers.avro_models import avro_schema_of
from barnabas.registry.serializers.bases import (
    DeserializerBase,
    RegistryLike,
    SchemaLike,
    SerializerBase,
    check_rules,
    engine_of,
    schema_of,
    then,
    with_rules,
)
from barnabas.registry.serializers.deserializing import DeserializerCore
from barnabas.registry.serializers.inline_rules import InlineRules
from barnabas.registry.serializers.json_models import TEXTS, in_json, json_schema_of
from barnabas.registry.serializers.json_schema import Dumps, JsonFormat, Loads
from barnabas.registry.serializers.models import builder_of
from barnabas.registry.serializers.protobuf import (
    ProtobufFormat,
    ProtobufSerializerCore,
    ReferenceSubject,
    reference_subject,
)
from barnabas.registry.serializers.serializing import SerializerCore
from barnabas.registry.serializers.settings import (
    DeserializerKeywords,
    SerializerKeywords,
    load_deserializer_settings,
    load_serializer_settings,
)


class AvroSerializing(SerializerBase):
    """Values to Avro, behind the id of their schema in a registry.

    `schema`: what values are written with: a text, a `Schema` (with references, metadata, rules), or a
    dataclass or Pydantic model whose schema is made of its fields; None where the registry's latest is used.
    `to_dict(value)` makes a dict of a value that is neither a dict nor an instance of a dataclass or Pydantic
    model. `strict`: see AvroValues. `metadata` and `rule_set`: those of the schema, which a text and a class
    have no place for. Where neither `rule_set` nor the Schema says any rules, those of the subject hold: if
    its latest version has rules and otherwise the same schema, values are written with that version.
    `inline_rules`: when and by what conditions in the schema's text are checked. `rule_registry`: who carries
    out the schema's rules, by default `rules_of_process`; `rule_settings`: settings for them. `settings`: see
    `SerializerSettings`.

    Raises: UnknownSettingError, InvalidSettingError, ModelError, MissingExtraError.
    """

    def __init__(
        self,
        registry: RegistryLike,
        schema: SchemaLike | None = None,
        *,
        to_dict: Callable[[Any], Any] | None = None,
        strict: Strictness = "no",
        metadata: Metadata | None = None,
        rule_set: RuleSet | None = None,
        inline_rules: InlineRules | None = None,
        rule_registry: RuleRegistry | None = None,
        rule_settings: Mapping[str, Any] | None = None,
        **settings: Unpack[SerializerKeywords],
    ) -> None:
        loaded = load_serializer_settings(settings)
        made_schema = with_rules(schema_of(schema, "AVRO", avro_schema_of), metadata, rule_set)
        loaded.check(made_schema)
        check_rules(loaded, metadata, rule_set)
        rules = engine_of(registry, rule_registry, rule_settings)
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
            "metadata": metadata,
            "rule_set": rule_set,
            "inline_rules": inline_rules,
            "rule_registry": rule_registry,
            "rule_settings": rule_settings,
            **settings,
        }
        super().__init__(registry, core, rules, ((registry, schema), keywords))


class AvroDeserializing(DeserializerBase):
    """Avro behind the id of its schema in a registry, to values.

    `schema`: what values are wanted in, which what was written is resolved to: a text, a `Schema`, or a
    dataclass or Pydantic model, whose instances are given then; None for what they were written with. Where
    it says no rules, as a class cannot, those of what was written are run, and migration rules that lead to
    it as the subject's latest version. `from_dict(value)` makes what is given of what was read.
    `tells_records`: see AvroValues. The rest: see `AvroSerializer` and `DeserializerSettings`.

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
        rules = engine_of(registry, rule_registry, rule_settings)
        is_class = isinstance(schema, type)
        core = DeserializerCore(
            registry.calls,
            AvroFormat(tells_records=tells_records or is_class),
            schema_of(schema, "AVRO", avro_schema_of),
            loaded,
            convert=then(builder_of(schema) if isinstance(schema, type) else None, from_dict),
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


class JSONSerializing(SerializerBase):
    """Values to JSON, behind the id of their schema in a registry.

    `schema`: what values are valid by: a text, a `Schema` (with references, metadata, rules), or a dataclass
    or Pydantic model, whose instances are what is written then; None where the registry's latest is used.
    `to_dict(value)` makes what is written of a value. `validates`: whether values are held against the
    schema. `dumps(value)` writes JSON in place of the kernel. The rest: see `AvroSerializer`.

    Raises: UnknownSettingError, InvalidSettingError, ModelError, MissingExtraError.
    """

    def __init__(
        self,
        registry: RegistryLike,
        schema: SchemaLike | None = None,
        *,
        to_dict: Callable[[Any], Any] | None = None,
        validates: bool = True,
        dumps: Dumps | None = None,
        metadata: Metadata | None = None,
        rule_set: RuleSet | None = None,
        inline_rules: InlineRules | None = None,
        rule_registry: RuleRegistry | None = None,
        rule_settings: Mapping[str, Any] | None = None,
        **settings: Unpack[SerializerKeywords],
    ) -> None:
        loaded = load_serializer_settings(settings)
        made_schema = with_rules(schema_of(schema, "JSON", json_schema_of), metadata, rule_set)
        loaded.check(made_schema)
        check_rules(loaded, metadata, rule_set)
        rules = engine_of(registry, rule_registry, rule_settings)
        core = SerializerCore(
            registry.calls,
            JsonFormat(validates=validates, dumps=dumps),
            made_schema,
            loaded,
            convert=then(to_dict, in_json if isinstance(schema, type) else None),
            rules=rules,
            inline_rules=inline_rules,
        )
        keywords = {
            "to_dict": to_dict,
            "validates": validates,
            "dumps": dumps,
            "metadata": metadata,
            "rule_set": rule_set,
            "inline_rules": inline_rules,
            "rule_registry": rule_registry,
            "rule_settings": rule_settings,
            **settings,
        }
        super().__init__(registry, core, rules, ((registry, schema), keywords))


class JSONDeserializing(DeserializerBase):
    """JSON behind the id of its schema in a registry, to values.

    `schema`: what values are to be valid by: a text, a `Schema`, or a dataclass or Pydantic model, whose
    instances are given then; None for what they were written with. `from_dict(value)` makes what is given of
    what was read. `loads(data)` reads JSON in place of the kernel. The rest: see `JSONSerializer` and
    `DeserializerSettings`.

    Raises: UnknownSettingError, InvalidSettingError, ModelError, MissingExtraError.
    """

    def __init__(
        self,
        registry: RegistryLike,
        schema: SchemaLike | None = None,
        *,
        from_dict: Callable[[Any], Any] | None = None,
        validates: bool = True,
        loads: Loads | None = None,
        rule_registry: RuleRegistry | None = None,
        rule_settings: Mapping[str, Any] | None = None,
        **settings: Unpack[DeserializerKeywords],
    ) -> None:
        rules = engine_of(registry, rule_registry, rule_settings)
        core = DeserializerCore(
            registry.calls,
            JsonFormat(validates=validates, loads=loads),
            schema_of(schema, "JSON", json_schema_of),
            load_deserializer_settings(settings),
            convert=then(builder_of(schema, TEXTS) if isinstance(schema, type) else None, from_dict),
            rules=rules,
        )
        keywords = {
            "from_dict": from_dict,
            "validates": validates,
            "loads": loads,
            "rule_registry": rule_registry,
            "rule_settings": rule_settings,
            **settings,
        }
        super().__init__(registry, core, rules, ((registry, schema), keywords))


class ProtobufSerializing(SerializerBase):
    """Protobuf messages to bytes, behind the id of their schema in a registry and their place in it.

    `message`: their class, whose file is the schema; files that it imports are registered before it, under
    the subjects that `reference_subject_name_strategy` gives them, without those that registries have built
    in if `skip_known_types`. `inline_rules`: when and by what conditions in the schema's options are checked.
    `metadata`, `rule_set` and the rest: see `AvroSerializer`.

    Raises: UnknownSettingError, InvalidSettingError, MissingExtraError.
    """

    def __init__(
        self,
        registry: RegistryLike,
        message: Any,
        *,
        reference_subject_name_strategy: ReferenceSubject = reference_subject,
        skip_known_types: bool = True,
        metadata: Metadata | None = None,
        rule_set: RuleSet | None = None,
        inline_rules: InlineRules | None = None,
        rule_registry: RuleRegistry | None = None,
        rule_settings: Mapping[str, Any] | None = None,
        **settings: Unpack[SerializerKeywords],
    ) -> None:
        _check_class(message)
        loaded = load_serializer_settings(settings)
        check_rules(loaded, metadata, rule_set)
        rules = engine_of(registry, rule_registry, rule_settings)
        core = ProtobufSerializerCore(
            registry.calls,
            ProtobufFormat(message),
            None,
            loaded,
            message=message,
            name_reference=reference_subject_name_strategy,
            skips_known=skip_known_types,
            rules=rules,
            inline_rules=inline_rules,
            metadata=metadata,
            rule_set=rule_set,
        )
        keywords = {
            "reference_subject_name_strategy": reference_subject_name_strategy,
            "skip_known_types": skip_known_types,
            "metadata": metadata,
            "rule_set": rule_set,
            "inline_rules": inline_rules,
            "rule_registry": rule_registry,
            "rule_settings": rule_settings,
            **settings,
        }
        super().__init__(registry, core, rules, ((registry, message), keywords))


class ProtobufDeserializing(DeserializerBase):
    """Protobuf behind the id of its schema in a registry, to messages.

    `message`: the class of what is given; None for classes that are made of the schemas. The rest: see
    `ProtobufSerializer` and `DeserializerSettings`.

    Raises: UnknownSettingError, InvalidSettingError, MissingExtraError.
    """

    def __init__(
        self,
        registry: RegistryLike,
        message: Any = None,
        *,
        rule_registry: RuleRegistry | None = None,
        rule_settings: Mapping[str, Any] | None = None,
        **settings: Unpack[DeserializerKeywords],
    ) -> None:
        if message is not None:
            _check_class(message)
        rules = engine_of(registry, rule_registry, rule_settings)
        format = ProtobufFormat(message)
        core = DeserializerCore(
            registry.calls,
            format,
            None,
            load_deserializer_settings(settings),
            rules=rules,
            own=None if message is None else format.read_class(),
        )
        keywords = {"rule_registry": rule_registry, "rule_settings": rule_settings, **settings}
        super().__init__(registry, core, rules, ((registry, message), keywords))


def _check_class(message: Any) -> None:
    if not isinstance(message, type) or not hasattr(message, "DESCRIPTOR"):
        raise InvalidSettingError(f"message must be the class of a Protobuf message, not {message!r}")
