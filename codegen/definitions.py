"""Kafka's message definitions as data: read from the jars' JSON, two releases merged into one.

Only names, types, versions and defaults are taken; the prose stays in the jar. Knows nothing of Python's
syntax (python_source.py) nor of where the jars are (jars.py).
"""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Versions = frozenset[int]
NO_VERSIONS: Versions = frozenset()

PRIMITIVE_TYPES = frozenset(
    {"bool", "int8", "int16", "uint16", "int32", "int64", "float64", "uuid", "string", "bytes", "records"}
)


@dataclass
class Field:
    """One field. Every set of versions is limited to those that the message really has."""

    name: str
    type: str
    versions: Versions
    nullable_versions: Versions
    tagged_versions: Versions
    tag: int | None
    default: str | int | None
    """None where the definition gives none; "null" for null; else a literal."""
    ignorable: bool
    never_flexible: bool

    @property
    def element_type(self) -> str:
        """The type itself, or that of the elements of an array."""
        return self.type.removeprefix("[]")


@dataclass
class Message:
    """One message: `kind` is request, response, header, data, coordinator-key or coordinator-value."""

    name: str
    kind: str
    api_key: int | None
    versions: Versions
    flexible_versions: Versions
    fields: list[Field]
    structs: dict[str, list[Field]] = field(default_factory=dict)
    """The nested structs by name, each before those that contain it."""


def parse_versions(text: str, highest: int) -> Versions:
    """`"0+"`, `"3"`, `"2-5"` or `"none"` as a set; an open range ends at `highest`."""
    if text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return frozenset(range(int(text[:-1]), highest + 1))
    first, _, last = text.partition("-")
    return frozenset(range(int(first), int(last or first) + 1))


def _without_comments(text: str) -> str:
    """JSON with `//` comments removed, except inside of strings."""
    return re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda match: match[1] or "", text)


def _read_field(data: dict[str, Any], valid: Versions) -> Field:
    tagged = data.get("taggedVersions", "none")

    def versions(text: str) -> Versions:
        return parse_versions(text, max(valid, default=-1)) & valid

    return Field(
        name=data["name"],
        type=data["type"],
        versions=versions(data.get("versions", tagged)),
        nullable_versions=versions(data.get("nullableVersions", "none")),
        tagged_versions=versions(tagged),
        tag=int(data["tag"]) if "tag" in data else None,
        # A null of JSON's own is no default for Kafka's generator, only the text "null" is.
        default=data.get("default"),
        ignorable=bool(data.get("ignorable", False)),
        never_flexible=data.get("flexibleVersions") == "none",
    )


def _read_message(data: dict[str, Any]) -> Message:
    valid = parse_versions(data["validVersions"], highest=-1)
    if data.get("latestVersionUnstable"):
        valid -= {max(valid)}
    structs: dict[str, list[Field]] = {}

    def read_fields(items: list[dict[str, Any]]) -> list[Field]:
        fields: list[Field] = []
        for item in items:
            each = _read_field(item, valid)
            fields.append(each)
            if "fields" in item:
                structs[each.element_type] = read_fields(item["fields"])
        return fields

    for common in data.get("commonStructs", []):
        structs[common["name"]] = read_fields(common["fields"])
    return Message(
        name=data["name"],
        kind=data["type"],
        api_key=data.get("apiKey"),
        versions=valid,
        flexible_versions=parse_versions(data.get("flexibleVersions", "none"), max(valid, default=-1))
        & valid,
        fields=read_fields(data.get("fields", [])),
        structs=structs,
    )


def read_jar(path: Path) -> dict[str, Message]:
    """Every message that the jar defines, by name."""
    messages: dict[str, Message] = {}
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.startswith("common/message/") and name.endswith(".json"):
                message = _read_message(json.loads(_without_comments(archive.read(name).decode())))
                messages[message.name] = message
    _hold_unstable_responses_back(messages)
    return messages


def _hold_unstable_responses_back(messages: dict[str, Message]) -> None:
    """Only a request says that its latest version is unstable; its response goes with it."""
    for name, message in messages.items():
        if message.kind == "response":
            _limit(message, messages[name.removesuffix("Response") + "Request"].versions)


def _limit(message: Message, versions: Versions) -> None:
    message.versions &= versions
    message.flexible_versions &= versions
    for fields in (message.fields, *message.structs.values()):
        for each in fields:
            each.versions &= versions
            each.nullable_versions &= versions
            each.tagged_versions &= versions


def merge(newer: dict[str, Message], older: dict[str, Message]) -> dict[str, Message]:
    """The newer release's messages, with the versions that only the older one knows added.

    A message that the newer one has renamed (the same API key) is left out.
    """
    known = {(message.kind, message.api_key) for message in newer.values() if message.api_key is not None}
    merged = dict(newer)
    for name, old in older.items():
        if name in newer:
            merged[name] = _merge_message(newer[name], old)
        elif (old.kind, old.api_key) not in known:
            merged[name] = old
    result = {name: message for name, message in merged.items() if message.versions}
    for message in result.values():
        _remove_absent(message)
    return result


def _merge_message(new: Message, old: Message) -> Message:
    only_old = old.versions - new.versions
    if not only_old:
        return new
    _limit(old, only_old)
    structs = {name: _merge_fields(fields, old.structs.get(name, [])) for name, fields in new.structs.items()}
    for name, fields in old.structs.items():
        structs.setdefault(name, fields)
    return Message(
        name=new.name,
        kind=new.kind,
        api_key=new.api_key,
        versions=new.versions | only_old,
        flexible_versions=new.flexible_versions | old.flexible_versions,
        fields=_merge_fields(new.fields, old.fields),
        structs=structs,
    )


def _merge_fields(new: list[Field], old: list[Field]) -> list[Field]:
    merged = list(new)
    position = 0
    for each in old:
        match = next((index for index, other in enumerate(merged) if other.name == each.name), None)
        if match is None:
            if each.versions:
                merged.insert(position, each)
                position += 1
            continue
        other = merged[match]
        if (other.type, other.tag) != (each.type, each.tag):
            raise ValueError(f"{each.name} is {each.type} in one release and {other.type} in the other")
        other.versions |= each.versions
        other.nullable_versions |= each.nullable_versions
        other.tagged_versions |= each.tagged_versions
        other.ignorable = other.ignorable or each.ignorable
        if other.default is None:
            other.default = each.default
        position = match + 1
    return merged


def _remove_absent(message: Message) -> None:
    """Drop fields that no remaining version has, then structs that no field uses; inner structs first."""
    message.fields = [each for each in message.fields if each.versions]
    available = {name: [each for each in fields if each.versions] for name, fields in message.structs.items()}
    ordered: dict[str, list[Field]] = {}

    def visit(fields: list[Field]) -> None:
        for each in fields:
            if each.element_type not in PRIMITIVE_TYPES and each.element_type not in ordered:
                visit(available[each.element_type])
                ordered[each.element_type] = available[each.element_type]

    visit(message.fields)
    message.structs = ordered
