"""A client of schema registries that speak Confluent's REST API: what it takes and gives.

`barnabas.Registry` is for plain calls, `barnabas.aio.Registry` for asyncio. Must not know Kafka's clients.
"""

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

__all__ = [
    "Association",
    "BrokenRegistryError",
    "Compatibility",
    "IncompatibleSchemaError",
    "InvalidSchemaError",
    "Metadata",
    "RegisteredSchema",
    "RegistryAuthError",
    "RegistryError",
    "RegistrySettings",
    "RegistryUnreachableError",
    "Resource",
    "Rule",
    "RuleSet",
    "Schema",
    "SchemaNotFoundError",
    "SchemaReference",
    "SubjectNotFoundError",
    "SubjectVersion",
    "VersionNotFoundError",
]
