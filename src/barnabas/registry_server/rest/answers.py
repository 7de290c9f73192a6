"""What answers look like: Confluent's fields, in its order, without what is empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.registry_server import subjects
from barnabas.registry_server.content import guid_of
from barnabas.registry_server.entities import JsonObject, json_bytes
from barnabas.registry_server.records import StoredAssociation, StoredSchema
from barnabas.values import frozen


@frozen
class RestAnswer:
    status: int
    body: bytes
    """JSON, mostly."""


def json_answer(found: Any, status: int = 200) -> RestAnswer:
    return RestAnswer(status, json_bytes(found))


def schema(found: StoredSchema, text: str | None = None) -> JsonObject:
    """`text`: None for the one that is kept."""
    return filled(
        {
            "subject": found.subject,
            "version": found.version,
            "id": found.id,
            "guid": guid_of(found.digest),
            **_of_content(found, text),
            **_of_time(found),
        }
    )


def registered(found: StoredSchema, text: str | None = None) -> JsonObject:
    return filled(
        {
            "id": found.id,
            "version": found.version,
            "guid": guid_of(found.digest),
            **_of_content(found, text),
        }
    )


def schema_by_id(
    found: StoredSchema, text: str | None = None, *, with_subject: bool, highest_id: int | None = None
) -> JsonObject:
    place: JsonObject = {"subject": found.subject, "version": found.version} if with_subject else {}
    content = _of_content(found, text)
    return filled(
        {
            **place,
            "guid": guid_of(found.digest),
            "schemaType": content.pop("schemaType"),
            "schema": content.pop("schema"),
            **content,
            "maxId": highest_id,
            **_of_time(found),
        }
    )


def association(found: StoredAssociation) -> JsonObject:
    key = found.key
    return filled(
        {
            "subject": key.subject,
            "guid": found.guid,
            "resourceName": key.resource_name,
            "resourceNamespace": key.resource_namespace,
            "resourceId": found.resource_id,
            "resourceType": key.resource_type,
            "associationType": key.association_type,
            "lifecycle": found.lifecycle,
            "frozen": found.is_frozen,
            "createTs": found.created_ms,
            "updateTs": found.updated_ms,
        }
    )


def qualified_references(found: JsonObject, subject: str) -> JsonObject:
    """With the context of their subjects, where the schema is not in the default one."""
    if subjects.context_of(subject) == subjects.DEFAULT_CONTEXT or not found.get("references"):
        return found
    named = [{**each, "subject": subjects.within(subject, each["subject"])} for each in found["references"]]
    return {**found, "references": named}


def error(code: int, message: str, status: int) -> RestAnswer:
    return json_answer({"error_code": code, "message": message}, status)


def filled(parts: JsonObject) -> JsonObject:
    return {name: part for name, part in parts.items() if part is not None and part not in ("", [])}


def _of_content(found: StoredSchema, text: str | None) -> JsonObject:
    content = found.content
    references: Sequence[JsonObject] = content.references
    return {
        "schemaType": content.type,
        "references": list(references),
        "metadata": content.metadata,
        "ruleSet": content.rule_set,
        "schema": content.text if text is None else text,
    }


def _of_time(found: StoredSchema) -> JsonObject:
    return {"ts": found.timestamp_ms, "deleted": found.is_deleted}
