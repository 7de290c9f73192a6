"""What a registry is asked: Confluent's REST API, version 1, call by call.

Pure: a request, and how its answer is read. Knows nothing of HTTP's connections, of caches, or of who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, cast
from urllib.parse import quote

from barnabas.registry.schemas import (
    Association,
    BadAnswerError,
    Compatibility,
    Metadata,
    Reader,
    RegisteredSchema,
    RegistrySettings,
    Resource,
    Schema,
    SubjectVersion,
    to_json,
)
from barnabas.values import frozen

T = TypeVar("T")
Method = Literal["GET", "POST", "PUT", "DELETE"]
Query = Sequence[tuple[str, str]]


@frozen
class RegistryRequest(Generic[T]):
    """`read` makes what the call gives of the JSON that was answered. Raises: BadAnswerError."""

    method: Method
    path: str
    read: Callable[[Any], T]
    query: Query = ()
    body: Any = None


def _path(*parts: str | int) -> str:
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def _query(**values: Any) -> Query:
    """Without those that are None or False, which is what a registry takes for granted."""
    found: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, list):
            found += [(name, str(part)) for part in cast(list[Any], value)]
        elif value is True:
            found.append((name, "true"))
        elif value is not None and value is not False:
            found.append((name, str(value)))
    return found


def _list_of(read: Callable[[Any], T]) -> Callable[[Any], list[T]]:
    def read_all(found: Any) -> list[T]:
        if not isinstance(found, list):
            raise BadAnswerError(f"a list was to be expected, not {found!r:.100}")
        return [read(part) for part in cast(list[Any], found)]

    return read_all


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise BadAnswerError(f"a text was to be expected, not {found!r:.100}")
    return found


def _number(found: Any) -> int:
    if not isinstance(found, int):
        raise BadAnswerError(f"a whole number was to be expected, not {found!r:.100}")
    return found


def _nothing(_found: Any) -> None:
    pass


def _mode(found: Any) -> str:
    return Reader(found).text("mode")


# Schemas


def schema_by_id(
    schema_id: int, subject: str | None = None, format: str | None = None
) -> RegistryRequest[Schema]:
    return RegistryRequest(
        "GET", _path("schemas", "ids", schema_id), Schema.from_json, _query(subject=subject, format=format)
    )


def schema_by_guid(guid: str, format: str | None = None) -> RegistryRequest[Schema]:
    return RegistryRequest("GET", _path("schemas", "guids", guid), Schema.from_json, _query(format=format))


def subjects_of_schema(
    schema_id: int, subject: str | None, deleted: bool, offset: int, limit: int | None
) -> RegistryRequest[list[str]]:
    query = _query(subject=subject, deleted=deleted, offset=offset or None, limit=limit)
    return RegistryRequest("GET", _path("schemas", "ids", schema_id, "subjects"), _list_of(_text), query)


def versions_of_schema(
    schema_id: int, subject: str | None, deleted: bool, offset: int, limit: int | None
) -> RegistryRequest[list[SubjectVersion]]:
    query = _query(subject=subject, deleted=deleted, offset=offset or None, limit=limit)
    path = _path("schemas", "ids", schema_id, "versions")
    return RegistryRequest("GET", path, _list_of(SubjectVersion.from_json), query)


def schemas(
    subject_prefix: str | None, deleted: bool, latest_only: bool, offset: int, limit: int | None
) -> RegistryRequest[list[RegisteredSchema]]:
    query = _query(
        subjectPrefix=subject_prefix,
        deleted=deleted,
        latestOnly=latest_only,
        offset=offset or None,
        limit=limit,
    )
    return RegistryRequest("GET", "/schemas", _list_of(RegisteredSchema.from_json), query)


def schema_types() -> RegistryRequest[list[str]]:
    return RegistryRequest("GET", "/schemas/types", _list_of(_text))


# Subjects and their versions


def subjects(
    prefix: str | None, deleted: bool, deleted_only: bool, offset: int, limit: int | None
) -> RegistryRequest[list[str]]:
    query = _query(
        subjectPrefix=prefix, deleted=deleted, deletedOnly=deleted_only, offset=offset or None, limit=limit
    )
    return RegistryRequest("GET", "/subjects", _list_of(_text), query)


def versions(
    subject: str, deleted: bool, deleted_only: bool, offset: int, limit: int | None
) -> RegistryRequest[list[int]]:
    query = _query(deleted=deleted, deletedOnly=deleted_only, offset=offset or None, limit=limit)
    return RegistryRequest("GET", _path("subjects", subject, "versions"), _list_of(_number), query)


def version(
    subject: str, version: int | Literal["latest"], deleted: bool, format: str | None = None
) -> RegistryRequest[RegisteredSchema]:
    path = _path("subjects", subject, "versions", version)
    return RegistryRequest("GET", path, RegisteredSchema.from_json, _query(deleted=deleted, format=format))


def latest_with_metadata(
    subject: str, metadata: Mapping[str, str], deleted: bool, format: str | None = None
) -> RegistryRequest[RegisteredSchema]:
    query = _query(format=format, deleted=deleted, key=list(metadata), value=list(metadata.values()))
    return RegistryRequest("GET", _path("subjects", subject, "metadata"), RegisteredSchema.from_json, query)


def register(subject: str, schema: Schema, normalize: bool) -> RegistryRequest[RegisteredSchema | int]:
    """Gives only the id where a registry answers no more."""

    def read(found: Any) -> RegisteredSchema | int:
        read = Reader(found)
        if read.any("version") is None:
            return read.number("id")
        registered = Schema.from_json({"schema": schema.text, **schema.to_json(), **found})
        return RegisteredSchema(
            subject, read.number("version"), read.number("id"), read.any("guid"), registered
        )

    path = _path("subjects", subject, "versions")
    return RegistryRequest("POST", path, read, _query(normalize=normalize), schema.to_json())


def look_up(
    subject: str, schema: Schema, normalize: bool, deleted: bool
) -> RegistryRequest[RegisteredSchema]:
    query = _query(normalize=normalize, deleted=deleted)
    return RegistryRequest(
        "POST", _path("subjects", subject), RegisteredSchema.from_json, query, schema.to_json()
    )


def delete_subject(subject: str, permanent: bool) -> RegistryRequest[list[int]]:
    return RegistryRequest(
        "DELETE", _path("subjects", subject), _list_of(_number), _query(permanent=permanent)
    )


def delete_version(subject: str, version: int | Literal["latest"], permanent: bool) -> RegistryRequest[int]:
    path = _path("subjects", subject, "versions", version)
    return RegistryRequest("DELETE", path, _number, _query(permanent=permanent))


def referenced_by(
    subject: str, version: int | Literal["latest"], offset: int, limit: int | None
) -> RegistryRequest[list[int]]:
    path = _path("subjects", subject, "versions", version, "referencedby")
    return RegistryRequest("GET", path, _list_of(_number), _query(offset=offset or None, limit=limit))


def check(
    subject: str, schema: Schema, version: int | Literal["latest", "all"], normalize: bool
) -> RegistryRequest[Compatibility]:
    path = _path("compatibility", "subjects", subject, "versions", *(() if version == "all" else (version,)))
    query = _query(normalize=normalize, verbose=True)
    return RegistryRequest("POST", path, Compatibility.from_json, query, schema.to_json())


# Settings of a subject, of a context (`:.name:` in a subject's place), or of all


def _of_subject(what: str, subject: str | None) -> str:
    return _path(what) if subject is None else _path(what, subject)


def settings(subject: str | None, default_to_global: bool) -> RegistryRequest[RegistrySettings]:
    query = _query(defaultToGlobal=default_to_global)
    return RegistryRequest("GET", _of_subject("config", subject), RegistrySettings.from_json, query)


def set_settings(subject: str | None, wanted: RegistrySettings) -> RegistryRequest[RegistrySettings]:
    path = _of_subject("config", subject)
    return RegistryRequest("PUT", path, RegistrySettings.from_json, body=to_json(wanted))


def delete_settings(subject: str | None) -> RegistryRequest[RegistrySettings]:
    """Gives those that were set."""
    return RegistryRequest("DELETE", _of_subject("config", subject), RegistrySettings.from_json)


def mode(subject: str | None, default_to_global: bool) -> RegistryRequest[str]:
    query = _query(defaultToGlobal=default_to_global)
    return RegistryRequest("GET", _of_subject("mode", subject), _mode, query)


def set_mode(subject: str | None, mode: str, force: bool) -> RegistryRequest[str]:
    path = _of_subject("mode", subject)
    return RegistryRequest("PUT", path, _mode, _query(force=force), {"mode": mode})


def delete_mode(subject: str) -> RegistryRequest[str]:
    return RegistryRequest("DELETE", _path("mode", subject), _mode)


def contexts(offset: int, limit: int | None) -> RegistryRequest[list[str]]:
    return RegistryRequest("GET", "/contexts", _list_of(_text), _query(offset=offset or None, limit=limit))


# Associations of subjects with resources


def _associations(found: Any) -> list[Association]:
    return [Association.from_json(part) for part in Reader(found).sequence("associations")]


def associations(
    resource_name: str,
    namespace: str,
    resource_type: str | None,
    association_types: Sequence[str],
    offset: int,
    limit: int | None,
) -> RegistryRequest[list[Association]]:
    query = _query(
        resourceType=resource_type,
        associationType=list(association_types),
        offset=offset or None,
        limit=limit,
    )
    path = _path("associations", "resources", namespace, resource_name)
    return RegistryRequest("GET", path, _list_of(Association.from_json), query)


def associate(
    resource: Resource, associations: Sequence[Association], *, must_be_new: bool, normalize: bool | None
) -> RegistryRequest[list[Association]]:
    wanted: list[dict[str, Any]] = []
    for association in associations:
        entry = association.to_json()
        if normalize is not None:
            entry["normalize"] = normalize
        wanted.append(entry)
    body = {
        "resourceName": resource.name,
        "resourceNamespace": resource.namespace,
        "resourceId": resource.id,
        "resourceType": resource.type,
        "associations": wanted,
    }
    if must_be_new:
        return RegistryRequest("POST", "/associations", _associations, body=body)
    path = _path("associations", "resources", resource.id)
    return RegistryRequest("PUT", path, _associations, body=body)


def dissociate(
    resource_id: str, resource_type: str | None, association_types: Sequence[str], cascade: bool
) -> RegistryRequest[None]:
    query = _query(
        resourceType=resource_type, associationType=list(association_types), cascadeLifecycle=cascade
    )
    return RegistryRequest("DELETE", _path("associations", "resources", resource_id), _nothing, query)


# The registry itself


def server_version() -> RegistryRequest[str]:
    return RegistryRequest("GET", "/v1/metadata/version", lambda found: Reader(found).text("version"))


def cluster_id() -> RegistryRequest[str]:
    def read(found: Any) -> str:
        scope = Reader(Reader(found).mapping("scope"))
        clusters = Reader(scope.mapping("clusters"))
        return str(clusters.any("schema-registry-cluster") or "")

    return RegistryRequest("GET", "/v1/metadata/id", read)


def properties_of(metadata: Metadata | Mapping[str, str] | None) -> Mapping[str, str]:
    """By which a version is looked for."""
    found: Mapping[str, str] = {}
    if metadata is not None:
        found = metadata.properties if isinstance(metadata, Metadata) else metadata
    return found
