"""What a schema is made of, and by which hash it is known: the same content has the same id in a context, and
the same guid in every registry.

Knows nothing of subjects and versions.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import replace
from typing import Any

from barnabas.registry_server.entities import JsonObject, utf16
from barnabas.values import frozen

CONFLUENT_VERSION = "confluent:version"
"""A property of metadata that makes contents differ which are the same but for their version."""


@frozen
class Content:
    """`references`, `metadata` and `rule_set` are as `entities` puts them."""

    text: str
    type: str = "AVRO"
    references: tuple[JsonObject, ...] = ()
    metadata: JsonObject | None = None
    rule_set: JsonObject | None = None

    @property
    def digest(self) -> bytes:
        """MD5, as the original computes it: of all texts one after the other."""
        hashed = hashlib.md5(self.text.encode(), usedforsecurity=False)
        for reference in self.references:
            for name in ("name", "subject"):
                hashed.update(reference.get(name, "").encode())
            if "version" in reference:
                hashed.update(reference["version"].to_bytes(4, "big", signed=True))
        if self.metadata is not None:
            hashed.update(b"\x01")
            for each in _metadata_texts(self.metadata):
                hashed.update(each.encode())
        if self.rule_set is not None:
            hashed.update(b"\x01")
            for kind in ("migrationRules", "domainRules", "encodingRules"):
                for rule in self.rule_set.get(kind, ()):
                    hashed.update(_rule_bytes(rule))
            hashed.update(self.rule_set.get("enableAt", "").encode())
        return hashed.digest()

    @property
    def guid(self) -> str:
        return guid_of(self.digest)

    @property
    def properties(self) -> JsonObject:
        """Of the metadata."""
        return {} if self.metadata is None else self.metadata.get("properties", {})

    @property
    def says_version(self) -> bool:
        return CONFLUENT_VERSION in self.properties

    @property
    def confluent_version(self) -> int | None:
        version = self.properties.get(CONFLUENT_VERSION, "")
        return int(version) if version.isascii() and version.isdigit() and len(version) < 11 else None

    @property
    def reserved_fields(self) -> list[str]:
        """Names that no field may have."""
        named = self.properties.get("confluent:reserved", "").split(",")
        return list(dict.fromkeys(name.strip() for name in named if name.strip()))

    def with_text(self, text: str) -> Content:
        return replace(self, text=text)

    def with_settings(self, metadata: JsonObject | None, rule_set: JsonObject | None) -> Content:
        return replace(self, metadata=metadata, rule_set=rule_set)

    def with_version(self, version: int) -> Content:
        return replace(self, metadata=with_confluent_version(self.metadata, version))

    def without_version(self) -> Content:
        if self.metadata is None:
            return replace(self, metadata={})
        properties = {name: each for name, each in self.properties.items() if name != CONFLUENT_VERSION}
        return replace(self, metadata=_with("properties", properties, self.metadata))


def guid_of(digest: bytes) -> str:
    return str(uuid.UUID(bytes=digest))


def with_confluent_version(metadata: JsonObject | None, version: int) -> JsonObject:
    properties = {**(metadata or {}).get("properties", {}), CONFLUENT_VERSION: str(version)}
    return _with("properties", _sorted(properties), metadata or {})


def merged_metadata(old: JsonObject | None, new: JsonObject | None) -> JsonObject | None:
    """What both have; where they differ, what `new` has."""
    if old is None or new is None:
        return old if new is None else new
    merged: JsonObject = {}
    for part in ("tags", "properties"):
        merged[part] = _sorted({**old.get(part, {}), **new.get(part, {})})
    merged["sensitive"] = sorted({*old.get("sensitive", ()), *new.get("sensitive", ())}, key=utf16)
    return {name: each for name, each in merged.items() if each}


def merged_rule_sets(old: JsonObject | None, new: JsonObject | None) -> JsonObject | None:
    """Rules of both; of those with the same name, `new`'s."""
    if old is None or new is None:
        return old if new is None else new
    merged: JsonObject = {}
    for kind in ("migrationRules", "domainRules", "encodingRules"):
        rules = new.get(kind, [])
        names = {rule.get("name") for rule in rules}
        merged[kind] = [rule for rule in old.get(kind, []) if rule.get("name") not in names] + rules
    merged["enableAt"] = new.get("enableAt", old.get("enableAt"))
    return {name: each for name, each in merged.items() if each}


def _metadata_texts(metadata: JsonObject) -> list[str]:
    texts: list[str] = []
    for path, tags in metadata.get("tags", {}).items():
        texts += [path, *tags]
    for name, value in metadata.get("properties", {}).items():
        texts += [name, value or ""]
    return texts + metadata.get("sensitive", [])


def _rule_bytes(rule: JsonObject) -> bytes:
    texts = [rule.get(name) for name in ("name", "doc", "kind", "mode", "type")]
    texts += rule.get("tags", [])
    for name, value in rule.get("params", {}).items():
        texts += [name, value]
    texts += [rule.get(name) for name in ("expr", "onSuccess", "onFailure")]
    return "".join(each or "" for each in texts).encode() + (b"\x01" if rule.get("disabled") else b"")


def _with(part: str, value: Any, metadata: JsonObject) -> JsonObject:
    parts = {**metadata, part: value}
    return {name: parts[name] for name in ("tags", "properties", "sensitive") if parts.get(name)}


def _sorted(found: JsonObject) -> JsonObject:
    return {name: found[name] for name in sorted(found, key=utf16)}
