"""KEKs and DEKs, what they look like in answers, and in records: JSON with Confluent's names.

Knows nothing of what may be done with them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast

from barnabas.registry_server.entities import JsonObject, json_bytes
from barnabas.values import frozen

TENANT = "default"
ALGORITHMS = ("AES128_GCM", "AES256_GCM", "AES256_SIV")
DEFAULT_ALGORITHM = "AES256_GCM"


@frozen
class KekId:
    name: str

    def __bytes__(self) -> bytes:
        return json_bytes({"tenant": TENANT, "name": self.name, "type": "KEK"})


@frozen
class DekId:
    kek_name: str
    subject: str
    algorithm: str
    version: int

    def __bytes__(self) -> bytes:
        return json_bytes(
            {
                "tenant": TENANT,
                "kekName": self.kek_name,
                "subject": self.subject,
                "algorithm": self.algorithm,
                "version": self.version,
                "type": "DEK",
            }
        )


@frozen
class StoredKek:
    """`shared`: the registry itself may use it, and hands out the keys that it has encrypted."""

    name: str
    kms_type: str
    kms_key_id: str
    kms_properties: Mapping[str, str] = field(default_factory=dict[str, str])
    doc: str | None = None
    shared: bool = False
    deleted: bool = False
    timestamp_ms: int | None = None

    @property
    def id(self) -> KekId:
        return KekId(self.name)

    @property
    def value(self) -> bytes:
        return json_bytes(_filled({**self._fields, "deleted": self.deleted, "type": "KEK"}))

    @property
    def answer(self) -> JsonObject:
        return _filled({**self._fields, "ts": self.timestamp_ms, "deleted": self.deleted or None})

    @property
    def _fields(self) -> JsonObject:
        return {
            "name": self.name,
            "kmsType": self.kms_type,
            "kmsKeyId": self.kms_key_id,
            "kmsProps": dict(sorted(self.kms_properties.items())),
            "doc": self.doc,
            "shared": self.shared,
        }

    def is_equivalent(self, other: StoredKek) -> bool:
        return self._fields == other._fields


@frozen
class StoredDek:
    kek_name: str
    subject: str
    algorithm: str
    version: int
    encrypted: str | None
    """The key, encrypted with the KEK, in base64."""
    deleted: bool = False
    timestamp_ms: int | None = None

    @property
    def id(self) -> DekId:
        return DekId(self.kek_name, self.subject, self.algorithm, self.version)

    @property
    def value(self) -> bytes:
        fields = {
            "kekName": self.kek_name,
            "subject": self.subject,
            "algorithm": self.algorithm,
            "version": self.version,
            "encryptedKeyMaterial": self.encrypted,
            "deleted": self.deleted,
            "type": "DEK",
        }
        return json_bytes(_filled(fields))

    def answer(self, key: str | None = None) -> JsonObject:
        """`key`: the key itself, in base64."""
        return _filled(
            {
                "kekName": self.kek_name,
                "subject": self.subject,
                "version": self.version,
                "algorithm": self.algorithm,
                "encryptedKeyMaterial": self.encrypted,
                "keyMaterial": key,
                "ts": self.timestamp_ms,
                "deleted": self.deleted or None,
            }
        )


def read_id(key: bytes) -> KekId | DekId | None:
    """None for what no registry of keys writes."""
    match _json(key):
        case {"type": "KEK", "name": str(name), "tenant": "default"}:
            return KekId(name)
        case {
            "type": "DEK",
            "tenant": "default",
            "kekName": str(kek_name),
            "subject": str(subject),
            "algorithm": str(algorithm),
            "version": int(version),
        }:
            return DekId(kek_name, subject, algorithm, version)
        case _:
            return None


def read_kek(value: bytes, timestamp_ms: int) -> StoredKek | None:
    found = _json(value)
    match found:
        case {"name": str(name), "kmsType": str(kms_type), "kmsKeyId": str(kms_key_id)}:
            properties = cast("Mapping[Any, Any]", found.get("kmsProps") or {})
            doc = found.get("doc")
            return StoredKek(
                name,
                kms_type,
                kms_key_id,
                {str(each): str(text) for each, text in properties.items()},
                None if doc is None else str(doc),
                found.get("shared") is True,
                found.get("deleted") is True,
                timestamp_ms,
            )
        case _:
            return None


def read_dek(key: DekId, value: bytes, timestamp_ms: int) -> StoredDek | None:
    found = _json(value)
    if not isinstance(found, dict):
        return None
    fields = cast("Mapping[str, Any]", found)
    encrypted = fields.get("encryptedKeyMaterial")
    return StoredDek(
        key.kek_name,
        key.subject,
        key.algorithm,
        key.version,
        None if encrypted is None else str(encrypted),
        fields.get("deleted") is True,
        timestamp_ms,
    )


def _filled(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
