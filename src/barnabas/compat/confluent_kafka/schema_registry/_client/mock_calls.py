# pyright: basic
"""The calls of a mock client: a registry of its own, in memory, for tests. What is not here goes over
HTTP, to nobody, as in the original."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

from barnabas.compat.confluent_kafka.schema_registry._client.calls import Latest, SchemaRegistryCalls
from barnabas.compat.confluent_kafka.schema_registry._client.config import RestConfig
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import (
    Association,
    AssociationCreateOrUpdateRequest,
    AssociationInfo,
    AssociationResponse,
    RegisteredSchema,
    Schema,
    ServerConfig,
)
from barnabas.compat.confluent_kafka.schema_registry.error import SchemaRegistryError
from barnabas.registry.exchange import Steps


class MockCalls(SchemaRegistryCalls):
    """Each version has an id of its own, also where its schema is another version's. For all threads."""

    def __init__(self, config: RestConfig) -> None:
        super().__init__(config)
        self._lock = threading.Lock()
        self._last_id = 0
        self._by_id: dict[int, RegisteredSchema] = {}
        self._by_guid: dict[str | None, RegisteredSchema] = {}
        self._by_subject: dict[str, list[RegisteredSchema]] = {}
        self._associations: dict[str, list[Association]] = {}

    def _first(self, subject: str, is_wanted: Callable[[RegisteredSchema], Any]) -> RegisteredSchema | None:
        return next(filter(is_wanted, self._by_subject.get(subject, [])), None)

    def _latest_of(
        self, subject: str, is_wanted: Callable[[RegisteredSchema], bool] = lambda _: True
    ) -> RegisteredSchema | None:
        wanted = filter(is_wanted, self._by_subject.get(subject, []))
        return max(wanted, key=lambda each: each.version or 0, default=None)

    # Schemas

    def register_schema_full_response(
        self, subject_name: str, schema: Schema, normalize_schemas: bool = False
    ) -> Steps[RegisteredSchema]:
        yield from ()
        with self._lock:
            known = self._first(subject_name, lambda each: each.schema == schema)
            if known is not None:
                return known
            latest = self._latest_of(subject_name)
            version = 1 if latest is None or latest.version is None else latest.version + 1
            self._last_id += 1
            made = RegisteredSchema(subject_name, version, self._last_id, str(uuid.uuid4()), schema)
            self._by_id[self._last_id] = made
            self._by_guid[made.guid] = made
            self._by_subject.setdefault(subject_name, []).append(made)
            return made

    def get_schema(
        self,
        schema_id: int,
        subject_name: str | None = None,
        fmt: str | None = None,
        reference_format: str | None = None,
    ) -> Steps[Schema]:
        yield from ()
        return _found(self._by_id.get(schema_id)).schema

    def get_schema_by_guid(self, guid: str, fmt: str | None = None) -> Steps[Schema]:
        yield from ()
        return _found(self._by_guid.get(guid)).schema

    def lookup_schema(
        self,
        subject_name: str,
        schema: Schema,
        normalize_schemas: bool = False,
        fmt: str | None = None,
        deleted: bool = False,
    ) -> Steps[RegisteredSchema]:
        yield from ()
        with self._lock:
            return _found(self._first(subject_name, lambda each: each.schema == schema))

    # Subjects and their versions

    def get_subjects(
        self,
        subject_prefix: str | None = None,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> Steps[list[str]]:
        yield from ()
        with self._lock:
            subjects = [each for each in self._by_subject if each.startswith(subject_prefix or "")]
        return _paged(subjects, offset, limit)

    def delete_subject(self, subject_name: str, permanent: bool = False) -> Steps[list[int]]:
        yield from ()
        with self._lock:
            deleted = self._by_subject.pop(subject_name, [])
            for each in deleted:
                self._by_id.pop(each.schema_id or 0, None)
            return [each.version or 0 for each in deleted]

    def get_latest_version(self, subject_name: str, fmt: str | None = None) -> Steps[RegisteredSchema]:
        yield from ()
        with self._lock:
            return _found(self._latest_of(subject_name))

    def get_latest_with_metadata(
        self, subject_name: str, metadata: dict[str, str], deleted: bool = False, fmt: str | None = None
    ) -> Steps[RegisteredSchema]:
        yield from ()

        def has_them(each: RegisteredSchema) -> bool:
            known = each.schema.metadata
            properties = None if known is None else known.properties
            return properties is not None and metadata.items() <= properties.properties.items()

        with self._lock:
            return _found(self._latest_of(subject_name, has_them))

    def get_version(
        self,
        subject_name: str,
        version: int | Latest = "latest",
        deleted: bool = False,
        fmt: str | None = None,
    ) -> Steps[RegisteredSchema]:
        yield from ()
        with self._lock:
            if version == "latest":
                return _found(self._latest_of(subject_name))
            return _found(self._first(subject_name, lambda each: each.version == version))

    def get_versions(
        self,
        subject_name: str,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> Steps[list[int]]:
        yield from ()
        with self._lock:
            versions = [each.version or 0 for each in self._by_subject.get(subject_name, [])]
        return _paged(versions, offset, limit)

    def delete_version(self, subject_name: str, version: int, permanent: bool = False) -> Steps[int]:
        """Gives the id of what was deleted, as the original's mock does."""
        yield from ()
        with self._lock:
            deleted = _found(self._first(subject_name, lambda each: each.version == version))
            self._by_subject[subject_name].remove(deleted)
            return deleted.schema_id or 0

    # Settings: there are none

    def set_config(self, subject_name: str | None = None, config: ServerConfig | None = None) -> Steps[Any]:
        yield from ()

    def get_config(self, subject_name: str | None = None) -> Steps[Any]:
        yield from ()

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
        yield from ()
        with self._lock:
            return [
                each
                for of_resource in self._associations.values()
                for each in of_resource
                if resource_namespace in ("-", each.resource_namespace)
                and each.resource_name == resource_name
                and resource_type in (None, each.resource_type)
                and (association_types is None or each.association_type in association_types)
            ]

    def create_association(self, request: AssociationCreateOrUpdateRequest) -> Steps[AssociationResponse]:
        yield from ()
        made: list[AssociationInfo] = []
        with self._lock:
            for wanted in request.associations or []:
                if request.resource_id is None:
                    break
                association = Association(
                    subject=wanted.subject,
                    guid=None,
                    resource_name=request.resource_name,
                    resource_namespace=request.resource_namespace,
                    resource_id=request.resource_id,
                    resource_type=request.resource_type,
                    association_type=wanted.association_type,
                    frozen=bool(wanted.frozen),
                )
                self._associations.setdefault(request.resource_id, []).append(association)
                made.append(
                    AssociationInfo(
                        wanted.subject,
                        wanted.association_type,
                        wanted.lifecycle,
                        association.frozen,
                        wanted.schema,
                    )
                )
        return AssociationResponse(
            request.resource_name,
            request.resource_namespace,
            request.resource_id,
            request.resource_type,
            made,
        )

    def delete_associations(
        self,
        resource_id: str,
        resource_type: str | None = None,
        association_types: list[str] | None = None,
        cascade_lifecycle: bool = False,
    ) -> Steps[None]:
        yield from ()
        with self._lock:
            kept = [
                each
                for each in self._associations.pop(resource_id, [])
                if resource_type not in (None, each.resource_type)
                or (association_types is not None and each.association_type not in association_types)
            ]
            if kept:
                self._associations[resource_id] = kept


def _found(registered: RegisteredSchema | None) -> RegisteredSchema:
    if registered is None:
        raise SchemaRegistryError(404, 40400, "Schema Not Found")
    return registered


def _paged(found: list[Any], offset: int, limit: int) -> list[Any]:
    if offset > 0:
        found = found[offset:]
    return found[:limit] if limit >= 0 else found
