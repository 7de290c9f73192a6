"""A client of schema registries that speak Confluent's REST API: what it takes and gives; and serializers.

`barnabas.Registry` is for plain calls, `barnabas.aio.Registry` for asyncio, and so are the serializers here
and there. Must not know Kafka's clients. Serializers are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from barnabas.registry.errors import (
    BrokenRegistryError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    RegistryAuthError,
    RegistryError,
    RegistryUnreachableError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from barnabas.registry.schemas import (
    Association,
    Compatibility,
    Metadata,
    RegisteredSchema,
    RegistrySettings,
    Resource,
    Rule,
    RuleSet,
    Schema,
    SchemaReference,
    SubjectVersion,
)

if TYPE_CHECKING:
    from barnabas.registry.serializers.avro_models import InAvro
    from barnabas.registry.serializers.context import SerializationContext
    from barnabas.registry.serializers.inline_rules import InlineRules
    from barnabas.registry.serializers.models import ModelError
    from barnabas.registry.serializers.schema_id import SchemaId
    from barnabas.registry.serializers.subjects import AssociatedSubject
    from barnabas.registry.serializers.waiting import (
        AvroDeserializer,
        AvroSerializer,
        JSONDeserializer,
        JSONSerializer,
        ProtobufDeserializer,
        ProtobufSerializer,
    )

__all__ = [
    "AssociatedSubject",
    "Association",
    "AvroDeserializer",
    "AvroSerializer",
    "BrokenRegistryError",
    "Compatibility",
    "InAvro",
    "IncompatibleSchemaError",
    "InlineRules",
    "InvalidSchemaError",
    "JSONDeserializer",
    "JSONSerializer",
    "Metadata",
    "ModelError",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "RegisteredSchema",
    "RegistryAuthError",
    "RegistryError",
    "RegistrySettings",
    "RegistryUnreachableError",
    "Resource",
    "Rule",
    "RuleSet",
    "Schema",
    "SchemaId",
    "SchemaNotFoundError",
    "SchemaReference",
    "SerializationContext",
    "SubjectNotFoundError",
    "SubjectVersion",
    "VersionNotFoundError",
]

_HOMES = {
    "AssociatedSubject": "subjects",
    "AvroDeserializer": "waiting",
    "AvroSerializer": "waiting",
    "InAvro": "avro_models",
    "InlineRules": "inline_rules",
    "JSONDeserializer": "waiting",
    "JSONSerializer": "waiting",
    "ModelError": "models",
    "ProtobufDeserializer": "waiting",
    "ProtobufSerializer": "waiting",
    "SchemaId": "schema_id",
    "SerializationContext": "context",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'barnabas.registry' has no attribute {name!r}")
    value = getattr(import_module(f"barnabas.registry.serializers.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
