# pyright: basic
"""Rules, subject names and ids of schemas: what (de)serializers of all formats have in common."""

from barnabas.compat.confluent_kafka.schema_registry.common._schema_ids import SchemaId

__all__ = ["SchemaId"]
