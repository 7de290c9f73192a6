# pyright: basic
"""Clients of a schema registry, what it keeps, what subjects are called, and where messages say which
schema they have. (De)serializers are in `avro`, `json_schema` and `protobuf`."""

from barnabas.compat.confluent_kafka.schema_registry.common import _schema_ids
from barnabas.compat.confluent_kafka.schema_registry.common._schema_ids import (
    dual_schema_id_deserializer,
    header_schema_id_serializer,
    prefix_schema_id_deserializer,
    prefix_schema_id_serializer,
)
from barnabas.compat.confluent_kafka.schema_registry.common._strategies import (
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
    topic_subject_name_strategy,
)
from barnabas.compat.confluent_kafka.schema_registry.common._strategies import (
    reference_subject_name_strategy as reference_subject_name_strategy,
)
from barnabas.compat.confluent_kafka.schema_registry.schema_registry_client import (
    Association,
    AssociationCreateOrUpdateInfo,
    AssociationCreateOrUpdateRequest,
    AssociationInfo,
    AssociationResponse,
    AsyncSchemaRegistryClient,
    ConfigCompatibilityLevel,
    Metadata,
    MetadataProperties,
    MetadataTags,
    RegisteredSchema,
    Rule,
    RuleKind,
    RuleMode,
    RuleParams,
    RuleSet,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    ServerConfig,
)
from barnabas.compat.confluent_kafka.serialization import MessageField as MessageField
from barnabas.compat.confluent_kafka.serialization import SerializationContext as SerializationContext
from barnabas.compat.confluent_kafka.serialization import SerializationError as SerializationError

__all__ = [
    "Association",
    "AssociationCreateOrUpdateInfo",
    "AssociationCreateOrUpdateRequest",
    "AssociationInfo",
    "AssociationResponse",
    "AsyncSchemaRegistryClient",
    "ConfigCompatibilityLevel",
    "Metadata",
    "MetadataProperties",
    "MetadataTags",
    "RegisteredSchema",
    "Rule",
    "RuleKind",
    "RuleMode",
    "RuleParams",
    "RuleSet",
    "Schema",
    "SchemaReference",
    "SchemaRegistryClient",
    "SchemaRegistryError",
    "ServerConfig",
    "dual_schema_id_deserializer",
    "header_schema_id_serializer",
    "prefix_schema_id_deserializer",
    "prefix_schema_id_serializer",
    "record_subject_name_strategy",
    "topic_record_subject_name_strategy",
    "topic_subject_name_strategy",
]

# Programs that read messages themselves take these from here.
_KEY_SCHEMA_ID = _schema_ids.KEY_SCHEMA_ID
_VALUE_SCHEMA_ID = _schema_ids.VALUE_SCHEMA_ID
_MAGIC_BYTE = _MAGIC_BYTE_V0 = 0
_MAGIC_BYTE_V1 = 1
