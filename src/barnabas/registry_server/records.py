"""The records of a registry's journal, byte for byte those of Confluent's registry in its `_schemas` topic:
JSON with its names, in its order.

Owns reading and writing them. Knows nothing of what they make together.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any, Literal, cast

from barnabas.registry_server import entities
from barnabas.registry_server.content import Content
from barnabas.registry_server.entities import EntityError, JsonObject, fields, json_bytes
from barnabas.values import frozen

SubjectKeyType = Literal["CONFIG", "MODE", "DELETE_SUBJECT", "CLEAR_SUBJECT"]
SUBJECT_KEY_TYPES = ("CONFIG", "MODE", "DELETE_SUBJECT", "CLEAR_SUBJECT")
DEFAULT_TENANT = "default"
DIGEST_BYTES = 16


class RecordError(Exception):
    """A record that no registry writes."""


@frozen
class SchemaKey:
    """A version of a subject, whose name is qualified: with its context, unless that is the default one."""

    subject: str
    version: int

    def __bytes__(self) -> bytes:
        key = {"keytype": "SCHEMA", "subject": self.subject, "version": self.version, "magic": 1}
        return json_bytes(key)

    def __str__(self) -> str:
        """As the original's errors quote it."""
        return f"{{magic=1,keytype=SCHEMA,subject={self.subject},version={self.version}}}"


@frozen
class SubjectKey:
    """What a subject, a context (`:.context:`) or, without one, the whole registry has one of."""

    keytype: SubjectKeyType
    subject: str | None

    def __bytes__(self) -> bytes:
        key: JsonObject = {"keytype": self.keytype}
        if self.subject:
            key["subject"] = self.subject
        return json_bytes(key | {"magic": 0})


@frozen
class ContextKey:
    """`context`: such as `.context`."""

    context: str
    tenant: str = DEFAULT_TENANT

    def __bytes__(self) -> bytes:
        return json_bytes({"keytype": "CONTEXT", "tenant": self.tenant, "context": self.context, "magic": 0})

    @property
    def value(self) -> bytes:
        return json_bytes({"tenant": self.tenant, "context": self.context})


@frozen
class AssociationKey:
    """That a resource has its keys or values in a subject, whose name is qualified."""

    resource_name: str
    resource_namespace: str
    resource_type: str
    association_type: str
    subject: str
    tenant: str = DEFAULT_TENANT

    def __bytes__(self) -> bytes:
        return json_bytes(
            {
                "keytype": "ASSOC",
                "tenant": self.tenant,
                "resourceName": self.resource_name,
                "resourceNamespace": self.resource_namespace,
                "resourceType": self.resource_type,
                "associationType": self.association_type,
                "subject": self.subject,
                "magic": 0,
            }
        )


@frozen
class OtherKey:
    """Of a kind that means nothing to the state: NOOP, or one that this registry does not know. Its records
    are left as they are."""

    keytype: str


Key = SchemaKey | SubjectKey | ContextKey | AssociationKey | OtherKey

NOOP_KEY = json_bytes({"keytype": "NOOP", "magic": 0})
"""The key of a record without a value, by which the end of a topic is found."""


def parse_key(key: bytes) -> Key:
    """Raises: RecordError."""
    found = _loaded(key)
    keytype, subject = found.get("keytype"), found.get("subject")
    if keytype == "SCHEMA":
        version = found.get("version")
        if not isinstance(subject, str) or not isinstance(version, int) or found.get("magic") not in (0, 1):
            raise RecordError(f"{key!r:.200} is no key of a schema")
        return SchemaKey(subject, version)
    if keytype in SUBJECT_KEY_TYPES:
        if subject is not None and not isinstance(subject, str):
            raise RecordError(f"{key!r:.200} names no subject")
        return SubjectKey(keytype, subject)
    if keytype == "CONTEXT":
        context, tenant = found.get("context"), found.get("tenant", DEFAULT_TENANT)
        if not isinstance(context, str) or not isinstance(tenant, str):
            raise RecordError(f"{key!r:.200} names no context")
        return ContextKey(context, tenant)
    if keytype == "ASSOC":
        return _association_key(found)
    return OtherKey(str(keytype))


def _association_key(found: JsonObject) -> AssociationKey:
    names = ("resourceName", "resourceNamespace", "resourceType", "associationType", "subject")
    parts = [found.get(name) for name in names] + [found.get("tenant", DEFAULT_TENANT)]
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) < len(parts):
        raise RecordError(f"{found!r:.200} is no key of an association")
    return AssociationKey(*texts)


@frozen
class StoredSchema:
    """A version of a subject, as the journal has it. `md5`: base64 of the content's hash, only where metadata
    is encrypted."""

    subject: str
    version: int
    id: int
    content: Content
    md5: str | None = None
    is_deleted: bool = False
    timestamp_ms: int | None = None
    """When it was written: the record's time."""

    @property
    def key(self) -> SchemaKey:
        return SchemaKey(self.subject, self.version)

    @property
    def digest(self) -> bytes:
        return self.content.digest if self.md5 is None else base64.b64decode(self.md5)

    def __bytes__(self) -> bytes:
        content = self.content
        parts = {
            "subject": self.subject,
            "version": self.version,
            "id": self.id,
            "md5": self.md5,
            "schemaType": content.type,
            "references": list(content.references) or None,
            "metadata": content.metadata,
            "ruleSet": content.rule_set,
            "schema": content.text or None,
            "deleted": self.is_deleted,
        }
        return json_bytes({name: part for name, part in parts.items() if part is not None})

    def deleted(self) -> StoredSchema:
        return replace(self, is_deleted=True)


@frozen
class StoredAssociation:
    """`lifecycle`: STRONG, where the subject goes with the resource, or WEAK."""

    key: AssociationKey
    guid: str
    resource_id: str
    lifecycle: str
    is_frozen: bool
    created_ms: int | None = None
    updated_ms: int | None = None
    """When it was written last: the record's time."""

    def __bytes__(self) -> bytes:
        key = self.key
        parts = {
            "guid": self.guid,
            "tenant": key.tenant,
            "resourceName": key.resource_name,
            "resourceNamespace": key.resource_namespace,
            "resourceId": self.resource_id,
            "resourceType": key.resource_type,
            "associationType": key.association_type,
            "subject": key.subject,
            "lifecycle": self.lifecycle,
            "frozen": self.is_frozen,
            "createTs": self.created_ms,
        }
        return json_bytes({name: part for name, part in parts.items() if part is not None})


_SCHEMA = fields(
    {
        "subject": entities.text,
        "version": entities.number,
        "id": entities.number,
        "md5": entities.text,
        "schemaType": entities.text,
        "references": entities.REFERENCES,
        "metadata": entities.METADATA,
        "ruleSet": entities.RULE_SET,
        "schema": entities.text,
        "deleted": entities.flag,
    }
)
_CONFIG = fields({"subject": entities.text, **entities.CONFIG_FIELDS})
_ASSOCIATION = fields(
    {
        "guid": entities.text,
        "resourceId": entities.text,
        "lifecycle": entities.one_of(*entities.LIFECYCLES),
        "frozen": entities.flag,
        "createTs": entities.long_number,
    }
)
_MODE = fields({"subject": entities.text, "mode": entities.one_of(*entities.MODES)})
_WATERMARK = fields({"subject": entities.text, "version": entities.number})


def parse_schema(value: bytes, timestamp_ms: int | None = None) -> StoredSchema:
    """Raises: RecordError."""
    found = _read(_SCHEMA, value)
    md5 = found.get("md5")
    try:
        if md5 is not None and len(base64.b64decode(md5, validate=True)) != DIGEST_BYTES:
            raise RecordError(f"a schema with an md5 that is none: {value!r:.200}")
        content = Content(
            found.get("schema", ""),
            found.get("schemaType", "AVRO"),
            tuple(found.get("references", ())),
            found.get("metadata"),
            found.get("ruleSet"),
        )
        return StoredSchema(
            found["subject"], found["version"], found["id"], content, md5, found["deleted"], timestamp_ms
        )
    except KeyError as error:
        raise RecordError(f"a schema without {error.args[0]}: {value!r:.200}") from None
    except ValueError:
        raise RecordError(f"a schema with an md5 that is no base64: {value!r:.200}") from None


def config_value(subject: str | None, config: JsonObject) -> bytes:
    return json_bytes(({"subject": subject} if subject else {}) | config)


def parse_config(value: bytes) -> JsonObject:
    """Raises: RecordError."""
    config = _read(_CONFIG, value)
    config.pop("subject", None)
    return config


def mode_value(subject: str | None, mode: str) -> bytes:
    return json_bytes(({"subject": subject} if subject else {}) | {"mode": mode})


def parse_mode(value: bytes) -> str:
    """Raises: RecordError."""
    mode = _read(_MODE, value).get("mode")
    if mode is None:
        raise RecordError(f"no mode: {value!r:.200}")
    return mode


def delete_subject_value(subject: str, version: int) -> bytes:
    """That all versions up to this one are deleted, softly."""
    return json_bytes({"subject": subject, "version": version})


def parse_delete_subject(value: bytes) -> tuple[str, int]:
    """The subject, and the last version that is deleted. Raises: RecordError."""
    found = _read(_WATERMARK, value)
    if "subject" not in found or "version" not in found:
        raise RecordError(f"no deletion of a subject: {value!r:.200}")
    return found["subject"], found["version"]


def clear_subject_value(subject: str) -> bytes:
    return json_bytes({"subject": subject})


def parse_association(
    key: AssociationKey, value: bytes, timestamp_ms: int | None = None
) -> StoredAssociation:
    """Raises: RecordError."""
    found = _read(_ASSOCIATION, value)
    try:
        return StoredAssociation(
            key,
            found["guid"],
            found["resourceId"],
            found["lifecycle"],
            found["frozen"],
            found.get("createTs"),
            timestamp_ms,
        )
    except KeyError as error:
        raise RecordError(f"an association without {error.args[0]}: {value!r:.200}") from None


def _loaded(data: bytes) -> JsonObject:
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise RecordError(f"{data!r:.200} is not JSON") from None
    if not isinstance(found, dict):
        raise RecordError(f"{data!r:.200} is no JSON object")
    return cast(JsonObject, found)


def _read(kind: entities.Kind, value: bytes) -> JsonObject:
    try:
        return cast(JsonObject, kind(_loaded(value), False))
    except EntityError as error:
        raise RecordError(f"{error}: {value!r:.200}") from None
