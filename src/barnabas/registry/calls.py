"""The calls of a Registry, as steps: what is remembered, what is asked, and what is remembered of the answer.

Does no I/O. The fronts, for plain calls and for asyncio, have these calls under these names.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Literal, TypeVar

from barnabas.registry import requests
from barnabas.registry.cache import Cache
from barnabas.registry.config import RegistryConfig
from barnabas.registry.exchange import Exchange, Steps
from barnabas.registry.schemas import (
    Association,
    Compatibility,
    Metadata,
    RegisteredSchema,
    RegistrySettings,
    Resource,
    Schema,
    SubjectVersion,
)

F = TypeVar("F", bound=Callable[..., Any])
Latest = Literal["latest"]


def described_as(call: Callable[..., Steps[Any]]) -> Callable[[F], F]:
    """Gives a front's call the name, the words and the arguments of `call`, and what comes of its steps."""

    def describe(front: F) -> F:
        described = signature(call)
        result = str(described.return_annotation).removeprefix("Steps[").removesuffix("]")
        functools.update_wrapper(front, call)
        front.__dict__["__signature__"] = described.replace(return_annotation=result)
        return front

    return describe


class RegistryCalls:
    """Remembers what cannot change: schemas by id and guid, versions, and what was registered; and for
    cache_latest_ttl_ms what was the latest. A context is named in a subject, `:.context:subject`, or in the
    URL, `http://host:8081/contexts/.context`."""

    def __init__(self, config: RegistryConfig) -> None:
        self.config = config
        self._exchange = Exchange(config)
        capacity = config.cache_capacity
        self._by_id: Cache[tuple[int, str | None, str | None], Schema] = Cache(capacity)
        self._by_guid: Cache[tuple[str, str | None], Schema] = Cache(capacity)
        self._by_version: Cache[tuple[str, int, str | None], RegisteredSchema] = Cache(capacity)
        self._by_schema: Cache[tuple[str, str, bool], RegisteredSchema] = Cache(capacity)
        self._latest: Cache[tuple[str, str, str | None], RegisteredSchema] = Cache(
            capacity, self.latest_seconds
        )

    @property
    def latest_seconds(self) -> float:
        """How long what was the latest is taken for it."""
        return self.config.cache_latest_ttl_ms / 1000

    def clear_caches(self) -> None:
        """Forgets all that was answered."""
        for cache in (self._by_id, self._by_guid, self._by_version, self._by_schema, self._latest):
            cache.clear()

    def _forget(self, subject: str) -> None:
        self._by_version.drop(lambda key, _: key[0] == subject)
        self._by_schema.drop(lambda key, _: key[0] == subject)
        self._latest.drop(lambda key, _: key[0] == subject)

    # Schemas

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> Steps[RegisteredSchema]:
        """Makes `schema` a version of `subject`, unless it is one. `normalize`: as the registry writes it, so
        that texts which mean the same are the same.

        Raises: IncompatibleSchemaError, InvalidSchemaError, RegistryError.
        """
        key = (subject, _text_of(schema), normalize)
        known = self._by_schema.get(key)
        if known is not None:
            return known
        found = yield from self._exchange.ask(requests.register(subject, schema, normalize))
        if isinstance(found, int):
            found = yield from self._exchange.ask(requests.look_up(subject, schema, normalize, False))
        self._by_schema.put(key, found)
        self._latest.drop(lambda key, _: key[0] == subject)
        return found

    def look_up(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> Steps[RegisteredSchema]:
        """The version of `subject` that `schema` is. `deleted`: also of those that were deleted.

        Raises: SubjectNotFoundError, SchemaNotFoundError, RegistryError.
        """
        key = (subject, _text_of(schema), normalize)
        known = self._by_schema.get(key)
        if known is not None and not known.is_deleted:
            return known
        found = yield from self._exchange.ask(requests.look_up(subject, schema, normalize, deleted))
        if not deleted:
            self._by_schema.put(key, found)
        return found

    def schema(self, id: int, *, subject: str | None = None, format: str | None = None) -> Steps[Schema]:
        """The schema with this id. `subject`: one of its subjects, where ids are a context's. `format`: what
        the registry makes of it: `resolved` (Avro, with its references), `serialized` (Protobuf), ...

        Raises: SchemaNotFoundError, RegistryError.
        """
        key = (id, subject, format)
        known = self._by_id.get(key)
        if known is None:
            known = yield from self._exchange.ask(requests.schema_by_id(id, subject, format))
            self._by_id.put(key, known)
        return known

    def schema_by_guid(self, guid: str, *, format: str | None = None) -> Steps[Schema]:
        """The schema with this id, which is the same in every registry. Raises: SchemaNotFoundError,
        RegistryError."""
        known = self._by_guid.get((guid, format))
        if known is None:
            known = yield from self._exchange.ask(requests.schema_by_guid(guid, format))
            self._by_guid.put((guid, format), known)
        return known

    def subjects_of(
        self,
        id: int,
        *,
        subject: str | None = None,
        deleted: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Steps[list[str]]:
        """Returns the subjects under which the schema with this id is registered. Raises:
        SchemaNotFoundError, RegistryError."""
        request = requests.subjects_of_schema(id, subject, deleted, offset, limit)
        return self._exchange.ask(request)

    def versions_of(
        self,
        id: int,
        *,
        subject: str | None = None,
        deleted: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Steps[list[SubjectVersion]]:
        """Returns the subjects and versions under which the schema with this id is registered. Raises:
        SchemaNotFoundError, RegistryError."""
        request = requests.versions_of_schema(id, subject, deleted, offset, limit)
        return self._exchange.ask(request)

    def schemas(
        self,
        prefix: str | None = None,
        *,
        deleted: bool = False,
        latest_only: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Steps[list[RegisteredSchema]]:
        """All versions of all subjects, or of those whose names begin with `prefix`. Raises:
        RegistryError."""
        return self._exchange.ask(requests.schemas(prefix, deleted, latest_only, offset, limit))

    def schema_types(self) -> Steps[list[str]]:
        """Those that the registry knows. Raises: RegistryError."""
        return self._exchange.ask(requests.schema_types())

    # Subjects and their versions

    def subjects(
        self,
        prefix: str | None = None,
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Steps[list[str]]:
        """All subjects, or those that begin with `prefix`. Raises: RegistryError."""
        return self._exchange.ask(requests.subjects(prefix, deleted, deleted_only, offset, limit))

    def versions(
        self,
        subject: str,
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Steps[list[int]]:
        """The numbers of a subject's versions. Raises: SubjectNotFoundError, RegistryError."""
        return self._exchange.ask(requests.versions(subject, deleted, deleted_only, offset, limit))

    def version(
        self, subject: str, version: int | Latest, *, deleted: bool = False, format: str | None = None
    ) -> Steps[RegisteredSchema]:
        """One version of a subject. Raises: SubjectNotFoundError, VersionNotFoundError, RegistryError."""
        if version == "latest":
            return (yield from self._exchange.ask(requests.version(subject, version, deleted, format)))
        known = self._by_version.get((subject, version, format))
        if known is None:
            known = yield from self._exchange.ask(requests.version(subject, version, deleted, format))
            if not deleted:
                self._by_version.put((subject, version, format), known)
        return known

    def latest(
        self,
        subject: str,
        *,
        metadata: Mapping[str, str] | Metadata | None = None,
        format: str | None = None,
        is_renewed: bool = False,
    ) -> Steps[RegisteredSchema]:
        """The latest version of a subject, or the latest of those that have these properties; one that was
        asked for in the last cache_latest_ttl_ms is taken for it, unless `is_renewed`.

        Raises: SubjectNotFoundError, SchemaNotFoundError, RegistryError.
        """
        properties = requests.properties_of(metadata)
        key = (subject, json.dumps(properties, sort_keys=True, default=dict), format)
        known = None if is_renewed else self._latest.get(key)
        if known is None:
            request = (
                requests.latest_with_metadata(subject, properties, False, format)
                if properties
                else requests.version(subject, "latest", False, format)
            )
            known = yield from self._exchange.ask(request)
            self._latest.put(key, known)
        return known

    def delete_subject(self, subject: str, *, permanent: bool = False) -> Steps[list[int]]:
        """Gives the versions that were deleted. `permanent`: for good, which takes a subject that was deleted
        before. Raises: SubjectNotFoundError, RegistryError."""
        found = yield from self._exchange.ask(requests.delete_subject(subject, permanent))
        self._forget(subject)
        return found

    def delete_version(self, subject: str, version: int | Latest, *, permanent: bool = False) -> Steps[int]:
        """Gives the version that was deleted. `permanent`: for good, which takes one that was deleted before.
        Raises: SubjectNotFoundError, VersionNotFoundError, RegistryError."""
        found = yield from self._exchange.ask(requests.delete_version(subject, version, permanent))
        self._forget(subject)
        return found

    def referenced_by(
        self, subject: str, version: int | Latest, *, offset: int = 0, limit: int | None = None
    ) -> Steps[list[int]]:
        """The ids of schemas that refer to a version. Raises: SubjectNotFoundError, VersionNotFoundError,
        RegistryError."""
        return self._exchange.ask(requests.referenced_by(subject, version, offset, limit))

    def check(
        self,
        subject: str,
        schema: Schema,
        *,
        version: int | Literal["latest", "all"] = "all",
        normalize: bool = False,
    ) -> Steps[Compatibility]:
        """Returns whether `schema` may follow a version of `subject`, by default all those that its
        compatibility is about, as `register` asks. With "all", any schema may be the first of a subject.

        Raises: SubjectNotFoundError and VersionNotFoundError for a version that is not there,
        InvalidSchemaError, RegistryError.
        """
        return self._exchange.ask(requests.check(subject, schema, version, normalize))

    # Settings

    def settings(
        self, subject: str | None = None, *, default_to_global: bool = False
    ) -> Steps[RegistrySettings]:
        """What is set for a subject, for a context (`:.context:`), or for the registry. `default_to_global`:
        what holds for it, wherever that is set. Raises: SubjectNotFoundError (nothing is set for it),
        RegistryError."""
        return self._exchange.ask(requests.settings(subject, default_to_global))

    def set_settings(self, settings: RegistrySettings, subject: str | None = None) -> Steps[RegistrySettings]:
        """Sets what is not None. Raises: RegistryError."""
        return self._exchange.ask(requests.set_settings(subject, settings))

    def delete_settings(self, subject: str | None = None) -> Steps[RegistrySettings]:
        """Gives those that were set. Raises: SubjectNotFoundError, RegistryError."""
        return self._exchange.ask(requests.delete_settings(subject))

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> Steps[str]:
        """READWRITE, READONLY, READONLY_OVERRIDE or IMPORT. Raises: SubjectNotFoundError (none is set for
        it), RegistryError."""
        return self._exchange.ask(requests.mode(subject, default_to_global))

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> Steps[str]:
        """`force`: also IMPORT where there are schemas. Raises: RegistryError."""
        return self._exchange.ask(requests.set_mode(subject, mode, force))

    def delete_mode(self, subject: str) -> Steps[str]:
        """Gives the mode that was set. Raises: SubjectNotFoundError, RegistryError."""
        return self._exchange.ask(requests.delete_mode(subject))

    def contexts(self, *, offset: int = 0, limit: int | None = None) -> Steps[list[str]]:
        """Those with schemas; `.` is the default one. Raises: RegistryError."""
        return self._exchange.ask(requests.contexts(offset, limit))

    # Associations

    def associations(
        self,
        resource_name: str,
        *,
        namespace: str = "-",
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        offset: int = 0,
        limit: int | None = None,
    ) -> Steps[list[Association]]:
        """Which subjects have the schemas of a resource, a topic mostly. `namespace`: the cluster's id, `-`
        is any. Raises: RegistryError."""
        request = requests.associations(
            resource_name, namespace, resource_type, association_types, offset, limit
        )
        return self._exchange.ask(request)

    def associate(
        self,
        resource: Resource,
        associations: Sequence[Association],
        *,
        must_be_new: bool = False,
        normalize: bool | None = None,
    ) -> Steps[list[Association]]:
        """Makes or changes associations of a resource; with `must_be_new` only makes them. A schema in one is
        registered under its subject. Raises: RegistryError."""
        request = requests.associate(resource, associations, must_be_new=must_be_new, normalize=normalize)
        return self._exchange.ask(request)

    def dissociate(
        self,
        resource_id: str,
        *,
        resource_type: str | None = None,
        association_types: Sequence[str] = (),
        cascade: bool = False,
    ) -> Steps[None]:
        """Ends associations of a resource, all if no types are named. `cascade`: subjects that lasted as long
        as the association are deleted. Raises: RegistryError."""
        return self._exchange.ask(requests.dissociate(resource_id, resource_type, association_types, cascade))

    # The registry itself

    def server_version(self) -> Steps[str]:
        """Returns the version of the registry's software. Raises: RegistryError."""
        return self._exchange.ask(requests.server_version())

    def cluster_id(self) -> Steps[str]:
        """Returns the id of the Kafka cluster that the registry keeps its schemas in. Raises:
        RegistryError."""
        return self._exchange.ask(requests.cluster_id())


def _text_of(schema: Schema) -> str:
    """The same for schemas that are the same."""
    if not schema.references and schema.metadata is None and schema.rule_set is None:
        return f"{schema.type} {schema.text}"
    return json.dumps(schema.to_json(), sort_keys=True)
