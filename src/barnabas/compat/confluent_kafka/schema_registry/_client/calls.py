# pyright: basic
"""The calls of a client of a registry, as steps: what is remembered, what is asked, what is remembered of the
answer. By the original's names.

Does no I/O. The clients for plain calls and for asyncio have these calls.
"""

from __future__ import annotations

from typing import Any, Literal

from barnabas.compat.confluent_kafka.schema_registry._client.config import RestConfig
from barnabas.compat.confluent_kafka.schema_registry._client.exchange import RestExchange, quoted
from barnabas.compat.confluent_kafka.schema_registry.common._schema_cache import _SchemaCache
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import (
    Association,
    AssociationCreateOrUpdateRequest,
    AssociationResponse,
    RegisteredSchema,
    Schema,
    SchemaVersion,
    ServerConfig,
)
from barnabas.registry.cache import Cache
from barnabas.registry.exchange import Steps

Latest = Literal["latest"]


class SchemaRegistryCalls:
    def __init__(self, config: RestConfig) -> None:
        self._exchange = RestExchange(config)
        self.cache = _SchemaCache(config.cache_capacity)
        capacity, seconds = config.cache_capacity, config.cache_latest_ttl_sec
        self._latest: Cache[str, RegisteredSchema] = Cache(capacity, seconds)
        self._latest_with_metadata: Cache[tuple[str, frozenset[tuple[str, str]], bool], RegisteredSchema] = (
            Cache(capacity, seconds)
        )

    def clear_latest_caches(self) -> None:
        self._latest.clear()
        self._latest_with_metadata.clear()

    def clear_caches(self) -> None:
        self.clear_latest_caches()
        self.cache.clear()

    # Schemas

    def register_schema_full_response(
        self, subject_name: str, schema: Schema, normalize_schemas: bool = False
    ) -> Steps[RegisteredSchema]:
        """Makes `schema` a version of a subject, unless it is one. Gives what the registry says of it; of
        what is remembered, version and subject as far as they are known. Raises: SchemaRegistryError."""
        known_id = self.cache.get_id_by_schema(subject_name, schema)
        if known_id is not None:
            known = self.cache.get_schema_by_id(subject_name, known_id)
            if known is not None:
                guid, known_schema = known
                return RegisteredSchema(subject_name, None, known_id, guid, known_schema)
        path = f"subjects/{quoted(subject_name)}/versions?normalize={normalize_schemas}"
        found = RegisteredSchema.from_dict(
            (yield from self._exchange.ask("POST", path, body=schema.to_dict()))
        )
        registered = RegisteredSchema(
            found.subject or subject_name, found.version, found.schema_id, found.guid, found.schema
        )
        # Older registries answer an id alone.
        known_schema = schema if registered.schema.schema_str is None else registered.schema
        self.cache.set_schema(subject_name, registered.schema_id, registered.guid, known_schema)
        return registered

    def get_schema(
        self,
        schema_id: int,
        subject_name: str | None = None,
        fmt: str | None = None,
        reference_format: str | None = None,
    ) -> Steps[Schema]:
        """The schema with this id, which is remembered. `fmt`, `reference_format`: what the registry is to
        make of it, and of what it refers to. Raises: SchemaRegistryError."""
        known = self.cache.get_schema_by_id(subject_name, schema_id)
        if known is not None:
            return known[1]
        query = _given(subject=subject_name, format=fmt, reference_format=reference_format)
        answer = yield from self._exchange.ask("GET", f"schemas/ids/{schema_id}", query=query)
        found = RegisteredSchema.from_dict(answer)
        self.cache.set_schema(subject_name, schema_id, found.guid, found.schema)
        if subject_name is not None:
            self.cache.set_registered_schema(found.schema, found)
        return found.schema

    def get_schema_by_guid(self, guid: str, fmt: str | None = None) -> Steps[Schema]:
        """The schema with this id, which is the same in every registry. Raises: SchemaRegistryError."""
        known = self.cache.get_schema_by_guid(guid)
        if known is not None:
            return known
        answer = yield from self._exchange.ask("GET", f"schemas/guids/{guid}", query=_given(format=fmt))
        found = RegisteredSchema.from_dict(answer)
        self.cache.set_schema(None, found.schema_id, found.guid, found.schema)
        return found.schema

    def get_schema_types(self) -> Steps[list[str]]:
        """Those that the registry knows. Raises: SchemaRegistryError."""
        return self._exchange.ask("GET", "schemas/types")

    def get_subjects_by_schema_id(
        self,
        schema_id: int,
        subject_name: str | None = None,
        deleted: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> Steps[list[str]]:
        """Where the schema with this id is registered. Raises: SchemaRegistryError."""
        query = _page(offset, limit) | _given(subject=subject_name, deleted=deleted or None)
        return self._exchange.ask("GET", f"schemas/ids/{schema_id}/subjects", query=query)

    def get_schema_versions(
        self,
        schema_id: int,
        subject_name: str | None = None,
        deleted: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> Steps[list[SchemaVersion]]:
        """As which versions the schema with this id is registered. Raises: SchemaRegistryError."""
        query = _page(offset, limit) | _given(subject=subject_name, deleted=deleted or None)
        answer = yield from self._exchange.ask("GET", f"schemas/ids/{schema_id}/versions", query=query)
        return [SchemaVersion.from_dict(each) for each in answer]

    def lookup_schema(
        self,
        subject_name: str,
        schema: Schema,
        normalize_schemas: bool = False,
        fmt: str | None = None,
        deleted: bool = False,
    ) -> Steps[RegisteredSchema]:
        """The version of a subject that `schema` is. Raises: SchemaRegistryError."""
        known = self.cache.get_registered_by_subject_schema(subject_name, schema)
        if known is not None:
            return known
        path = f"subjects/{quoted(subject_name)}?normalize={normalize_schemas}&deleted={deleted}"
        if fmt is not None:
            path += f"&format={fmt}"
        found = RegisteredSchema.from_dict(
            (yield from self._exchange.ask("POST", path, body=schema.to_dict()))
        )
        registered = RegisteredSchema(found.subject, found.version, found.schema_id, found.guid, schema)
        self.cache.set_registered_schema(schema, registered)
        return registered

    # Subjects and their versions

    def get_subjects(
        self,
        subject_prefix: str | None = None,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> Steps[list[str]]:
        """All subjects, or those that begin with a prefix. Raises: SchemaRegistryError."""
        query = {"deleted": deleted, "deleted_only": deleted_only, **_page(offset, limit)}
        query |= _given(subjectPrefix=subject_prefix)
        return self._exchange.ask("GET", "subjects", query=query)

    def delete_subject(self, subject_name: str, permanent: bool = False) -> Steps[list[int]]:
        """Deletes all versions of a subject, and gives their numbers. `permanent`: for good. Raises:
        SchemaRegistryError."""
        path = f"subjects/{quoted(subject_name)}"
        if not permanent:
            return (yield from self._exchange.ask("DELETE", path))
        versions = yield from self._exchange.ask("DELETE", f"{path}?permanent=true")
        self.cache.remove_by_subject(subject_name)
        return versions

    def get_latest_version(self, subject_name: str, fmt: str | None = None) -> Steps[RegisteredSchema]:
        """The latest version of a subject, which is remembered for `cache.latest.ttl.sec`. Raises:
        SchemaRegistryError."""
        known = self._latest.get(subject_name)
        if known is not None:
            return known
        path = f"subjects/{quoted(subject_name)}/versions/latest"
        found = RegisteredSchema.from_dict(
            (yield from self._exchange.ask("GET", path, query=_given(format=fmt)))
        )
        self._latest.put(subject_name, found)
        return found

    def get_latest_with_metadata(
        self, subject_name: str, metadata: dict[str, str], deleted: bool = False, fmt: str | None = None
    ) -> Steps[RegisteredSchema]:
        """The latest of the versions that have these properties, which is remembered as the latest version
        is. Raises: SchemaRegistryError."""
        key = (subject_name, frozenset(metadata.items()), deleted)
        known = self._latest_with_metadata.get(key)
        if known is not None:
            return known
        query = {"deleted": deleted, **_given(format=fmt)}
        if metadata:
            # Quoted twice, as by the original.
            query["key"] = [quoted(name) for name in metadata]
            query["value"] = [quoted(value) for value in metadata.values()]
        path = f"subjects/{quoted(subject_name)}/metadata"
        found = RegisteredSchema.from_dict((yield from self._exchange.ask("GET", path, query=query)))
        self._latest_with_metadata.put(key, found)
        return found

    def get_version(
        self,
        subject_name: str,
        version: int | Latest = "latest",
        deleted: bool = False,
        fmt: str | None = None,
    ) -> Steps[RegisteredSchema]:
        """A version of a subject; what has a number is remembered. Raises: SchemaRegistryError."""
        if version != "latest":
            known = self.cache.get_registered_by_subject_version(subject_name, version)
            if known is not None:
                return known
        path = f"subjects/{quoted(subject_name)}/versions/{version}"
        query = {"deleted": deleted, **_given(format=fmt)}
        found = RegisteredSchema.from_dict((yield from self._exchange.ask("GET", path, query=query)))
        self.cache.set_registered_schema(found.schema, found)
        return found

    def get_referenced_by(
        self, subject_name: str, version: int | Latest = "latest", offset: int = 0, limit: int = -1
    ) -> Steps[list[int]]:
        """The ids of schemas that refer to a version. Raises: SchemaRegistryError."""
        path = f"subjects/{quoted(subject_name)}/versions/{version}/referencedby"
        return self._exchange.ask("GET", path, query=_page(offset, limit))

    def get_versions(
        self,
        subject_name: str,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> Steps[list[int]]:
        """The numbers of a subject's versions. Raises: SchemaRegistryError."""
        query = {"deleted": deleted, "deleted_only": deleted_only, **_page(offset, limit)}
        return self._exchange.ask("GET", f"subjects/{quoted(subject_name)}/versions", query=query)

    def delete_version(self, subject_name: str, version: int, permanent: bool = False) -> Steps[int]:
        """Deletes a version, and gives its number. `permanent`: for good. Raises: SchemaRegistryError."""
        path = f"subjects/{quoted(subject_name)}/versions/{version}"
        answer = yield from self._exchange.ask("DELETE", f"{path}?permanent=true" if permanent else path)
        self.cache.remove_by_subject_version(subject_name, version)
        return answer

    # Compatibility

    def set_compatibility(self, subject_name: str | None = None, level: str | None = None) -> Steps[Any]:
        """Sets the level of a subject, or of all, and gives what the registry answers. Raises:
        SchemaRegistryError, ValueError (no level)."""
        if level is None:
            raise ValueError("level must be set")
        path = _of_subject("config", subject_name)
        return (yield from self._exchange.ask("PUT", path, body={"compatibility": level.upper()}))

    def get_compatibility(self, subject_name: str | None = None) -> Steps[str]:
        """The level that is set for a subject, or for all. Raises: SchemaRegistryError."""
        answer = yield from self._exchange.ask("GET", _of_subject("config", subject_name))
        return answer["compatibilityLevel"]

    def test_compatibility(
        self,
        subject_name: str,
        schema: Schema,
        version: int | str = "latest",
        normalize: bool = False,
        verbose: bool = False,
    ) -> Steps[bool]:
        """Whether `schema` is compatible with a version of a subject. Raises: SchemaRegistryError."""
        path = f"compatibility/subjects/{quoted(subject_name)}/versions/{version}"
        return self._is_compatible(path, schema, normalize, verbose)

    def test_compatibility_all_versions(
        self, subject_name: str, schema: Schema, normalize: bool = False, verbose: bool = False
    ) -> Steps[bool]:
        """Whether `schema` is compatible with all versions of a subject that its level is about. Raises:
        SchemaRegistryError."""
        path = f"compatibility/subjects/{quoted(subject_name)}/versions"
        return self._is_compatible(path, schema, normalize, verbose)

    def _is_compatible(self, path: str, schema: Schema, normalize: bool, verbose: bool) -> Steps[bool]:
        path += f"?normalize={normalize}&verbose={verbose}"
        answer = yield from self._exchange.ask("POST", path, body=schema.to_dict())
        return answer["is_compatible"]

    # Settings of a subject, or of all

    def set_config(self, subject_name: str | None = None, config: ServerConfig | None = None) -> Steps[Any]:
        """Sets what is not None for a subject, or for all, and gives what the registry answers. Raises:
        SchemaRegistryError, ValueError (no config)."""
        if config is None:
            raise ValueError("config must be set")
        return (
            yield from self._exchange.ask("PUT", _of_subject("config", subject_name), body=config.to_dict())
        )

    def delete_config(self, subject_name: str | None = None) -> Steps[ServerConfig]:
        """Forgets what is set for a subject, or for all, and gives it. Raises: SchemaRegistryError."""
        answer = yield from self._exchange.ask("DELETE", _of_subject("config", subject_name))
        return ServerConfig.from_dict(answer)

    def get_config(self, subject_name: str | None = None) -> Steps[ServerConfig]:
        """What is set for a subject, or for all. Raises: SchemaRegistryError."""
        answer = yield from self._exchange.ask("GET", _of_subject("config", subject_name))
        return ServerConfig.from_dict(answer)

    def get_mode(self, subject_name: str) -> Steps[str]:
        """IMPORT, READONLY or READWRITE, as it is set for a subject. Raises: SchemaRegistryError."""
        answer = yield from self._exchange.ask("GET", _of_subject("mode", subject_name))
        return answer["mode"]

    def update_mode(self, subject_name: str, mode: str, force: bool = False) -> Steps[str]:
        """Sets a subject's mode, and gives it. `force`: even where there are schemas. Raises:
        SchemaRegistryError."""
        path = f"{_of_subject('mode', subject_name)}?force={force}"
        answer = yield from self._exchange.ask("PUT", path, body={"mode": mode})
        return answer["mode"]

    def delete_mode(self, subject_name: str) -> Steps[str]:
        """Forgets a subject's mode, and gives what the registry answers. Raises: SchemaRegistryError."""
        answer = yield from self._exchange.ask("DELETE", _of_subject("mode", subject_name))
        return answer["mode"]

    def get_global_mode(self) -> Steps[str]:
        """The mode of all that has none of its own. Raises: SchemaRegistryError."""
        answer = yield from self._exchange.ask("GET", "mode")
        return answer["mode"]

    def update_global_mode(self, mode: str, force: bool = False) -> Steps[str]:
        """Sets the mode of all, and gives it. `force`: even where there are schemas. Raises:
        SchemaRegistryError."""
        answer = yield from self._exchange.ask("PUT", f"mode?force={force}", body={"mode": mode})
        return answer["mode"]

    def get_contexts(self, offset: int = 0, limit: int = -1) -> Steps[list[str]]:
        """The contexts of the registry. Raises: SchemaRegistryError."""
        return self._exchange.ask("GET", "contexts", query=_page(offset, limit))

    # Associations of subjects with resources

    def get_associations_by_resource_name(
        self,
        resource_name: str,
        resource_namespace: str,
        resource_type: str | None = None,
        association_types: list[str] | None = None,
        offset: int = 0,
        limit: int = -1,
    ) -> Steps[list[Association]]:
        """What a resource, such as a topic, is associated with. `resource_namespace`: the id of its
        cluster, or `-` for any. Raises: SchemaRegistryError."""
        query = _given(
            resourceType=resource_type,
            associationType=association_types,
            offset=offset if offset > 0 else None,
            limit=limit if limit >= 1 else None,
        )
        path = f"associations/resources/{quoted(resource_namespace)}/{quoted(resource_name)}"
        answer = yield from self._exchange.ask("GET", path, query=query)
        return [Association.from_dict(each) for each in answer]

    def create_association(self, request: AssociationCreateOrUpdateRequest) -> Steps[AssociationResponse]:
        """Associates a resource with subjects. Raises: SchemaRegistryError."""
        answer = yield from self._exchange.ask("POST", "associations", body=request.to_dict())
        return AssociationResponse.from_dict(answer)

    def delete_associations(
        self,
        resource_id: str,
        resource_type: str | None = None,
        association_types: list[str] | None = None,
        cascade_lifecycle: bool = False,
    ) -> Steps[None]:
        """Ends the associations of a resource, or those of some types. `cascade_lifecycle`: with the schemas
        that depend on them. Raises: SchemaRegistryError."""
        query = {"cascadeLifecycle": cascade_lifecycle}
        query |= _given(resourceType=resource_type, associationType=association_types)
        path = f"associations/resources/{quoted(resource_id)}"
        yield from self._exchange.ask("DELETE", path, query=query)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _page(offset: int, limit: int) -> dict[str, Any]:
    return {"offset": offset, "limit": limit}


def _of_subject(what: str, subject: str | None) -> str:
    return what if subject is None else f"{what}/{quoted(subject)}"
