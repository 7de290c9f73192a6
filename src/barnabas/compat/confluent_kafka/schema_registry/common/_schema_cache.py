# pyright: basic
"""What a client knows of subjects, schemas and versions, since a registry said so.

Keyed as the original's: what is found by one way of asking is there for others, whatever format was asked
for. Knows nothing of requests."""

from __future__ import annotations

from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import (
    RegisteredSchema,
    Schema,
)
from barnabas.registry.cache import Cache

DEFAULT_CAPACITY = 1000


class _SchemaCache:
    """`capacity` entries of each kind. For all threads."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._by_id: Cache[tuple[str | None, int], tuple[str | None, Schema]] = Cache(capacity)
        self._by_guid: Cache[str, Schema] = Cache(capacity)
        self._id_of: Cache[tuple[str | None, Schema], int] = Cache(capacity)
        self._registered_by_id: Cache[tuple[str | None, int], RegisteredSchema] = Cache(capacity)
        self._registered_by_version: Cache[tuple[str | None, int | None], RegisteredSchema] = Cache(capacity)
        self._registered_by_schema: Cache[tuple[str | None, Schema], RegisteredSchema] = Cache(capacity)

    def set_schema(
        self, subject: str | None, schema_id: int | None, guid: str | None, schema: Schema
    ) -> None:
        if schema_id is not None:
            self._by_id.put((subject, schema_id), (guid, schema))
            self._id_of.put((subject, schema), schema_id)
        if guid is not None:
            self._by_guid.put(guid, schema)

    def set_registered_schema(self, schema: Schema, registered_schema: RegisteredSchema) -> None:
        subject, schema_id = registered_schema.subject, registered_schema.schema_id
        self.set_schema(subject, schema_id, registered_schema.guid, schema)
        if schema_id is not None:
            self._registered_by_id.put((subject, schema_id), registered_schema)
        self._registered_by_version.put((subject, registered_schema.version), registered_schema)
        self._registered_by_schema.put((subject, schema), registered_schema)

    def get_schema_by_id(self, subject: str | None, schema_id: int) -> tuple[str | None, Schema] | None:
        """Its guid, and the schema."""
        return self._by_id.get((subject, schema_id))

    def get_schema_by_guid(self, guid: str) -> Schema | None:
        return self._by_guid.get(guid)

    def get_id_by_schema(self, subject: str, schema: Schema) -> int | None:
        return self._id_of.get((subject, schema))

    def get_registered_by_subject_schema(self, subject: str, schema: Schema) -> RegisteredSchema | None:
        return self._registered_by_schema.get((subject, schema))

    def get_registered_by_subject_id(self, subject: str, schema_id: int) -> RegisteredSchema | None:
        return self._registered_by_id.get((subject, schema_id))

    def get_registered_by_subject_version(self, subject: str, version: int) -> RegisteredSchema | None:
        return self._registered_by_version.get((subject, version))

    def remove_by_subject(self, subject: str) -> None:
        self._by_id.drop(lambda key, _: key[0] == subject)
        self._id_of.drop(lambda key, _: key[0] == subject)
        self._registered_by_id.drop(lambda key, _: key[0] == subject)
        self._registered_by_version.drop(lambda key, _: key[0] == subject)
        self._registered_by_schema.drop(lambda key, _: key[0] == subject)

    def remove_by_subject_version(self, subject: str, version: int) -> None:
        registered = self._registered_by_version.get((subject, version))

        def is_it(key: tuple[str | None, object], found: RegisteredSchema) -> bool:
            return key[0] == subject and found.version == version

        self._registered_by_id.drop(is_it)
        self._registered_by_schema.drop(is_it)
        self._registered_by_version.drop(is_it)
        if registered is not None:
            self._by_id.drop(lambda key, _: key == (subject, registered.schema_id))
            self._id_of.drop(lambda key, _: key == (subject, registered.schema))

    def clear(self) -> None:
        for cache in (self._by_id, self._by_guid, self._id_of):
            cache.clear()
        for cache in (self._registered_by_id, self._registered_by_version, self._registered_by_schema):
            cache.clear()
