"""Compares messages with what Kafka's Java classes make of them: bytes, and the value of every field."""

from __future__ import annotations

import base64
import json
import random
import uuid
from typing import Any

from barnabas.protocol.codec import decode, encode
from barnabas.protocol.schema import Message, WireField, fields_of
from oracle.instances import random_message, struct_classes
from oracle.java_oracle import JavaOracle, OracleError


class DisagreementError(Exception):
    """Barnabas and Kafka's classes differ."""


def compare_instances(oracle: JavaOracle, cls: type[Message], version: int, seed: int, count: int) -> None:
    """Have Java read and rewrite random instances. Raises DisagreementError where anything differs."""
    for index in range(count):
        source = random.Random(f"{cls.__name__} {version} {seed} {index}")
        message = random_message(cls, version, source)
        ours = encode(message, version)
        where = f"{cls.__name__} version {version}, seed {seed}, instance {index}"
        try:
            theirs, text = oracle.round_trip(cls.__name__, version, ours)
        except OracleError as error:
            raise DisagreementError(f"{where}: {error}, reading {ours.hex():.2000}") from error
        if ours != theirs:
            raise DisagreementError(f"{where}: {ours.hex():.2000} comes back as {theirs.hex():.2000}")
        _compare(as_json(cls, message, version), _normal(json.loads(text)), where)
        if decode(cls, version, theirs) != message:
            raise DisagreementError(f"{where}: decoded from Java's bytes, it is another message")


def compare_defaults(oracle: JavaOracle, cls: type[Message], version: int) -> None:
    """Compare the defaults of a message and of the structs in it. Raises DisagreementError."""
    for name, each in {"": cls, **struct_classes(cls, version)}.items():
        fields = [field for field in fields_of(each) if field.wire.present(version)]
        # Java has null as the default even of records that may not be null, and cannot show that.
        if not fields or any(
            field.wire.type == "records" and not field.wire.nullable(version) for field in fields
        ):
            continue
        java_name = f"{cls.__name__}${name}" if name else cls.__name__
        theirs = _normal(json.loads(oracle.defaults(java_name, version)))
        _compare(as_json(cls, each(), version), theirs, f"defaults of {java_name} version {version}")


def as_json(root: type[Message], value: Any, version: int) -> dict[str, Any]:
    """What Kafka's JSON converter makes of a message, with names in lower case without underscores."""
    result: dict[str, Any] = {}
    for field in fields_of(type(value)):
        wire = field.wire
        item = getattr(value, field.name)
        if not wire.present(version):
            continue
        default = field.default_factory() if field.default_factory else field.default
        if version >= root.FLEXIBLE_VERSIONS and wire.tagged(version) and item == default:
            continue
        name = field.name.replace("_", "")
        if wire.type == "records":
            result[name if item is None else name + "sizeinbytes"] = None if item is None else len(item)
        else:
            result[name] = _json_value(root, wire, item, version)
    return result


def _json_value(root: type[Message], wire: WireField, value: Any, version: int) -> Any:
    if value is None:
        return None
    if wire.is_array:
        return [_json_item(root, item, version) for item in value]
    return _json_item(root, value, version)


def _json_item(root: type[Message], value: Any, version: int) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, uuid.UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    if isinstance(value, bool | int | float | str):
        return value
    return as_json(root, value, version)


def _normal(value: Any) -> Any:
    """Java's JSON with its names in lower case."""
    if isinstance(value, dict):
        return {name.lower(): _normal(item) for name, item in value.items()}
    return [_normal(item) for item in value] if isinstance(value, list) else value


def _compare(ours: Any, theirs: Any, where: str) -> None:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if ours.keys() != theirs.keys():
            raise DisagreementError(
                f"{where}: fields {sorted(ours.keys() ^ theirs.keys())} are on one side only"
            )
        for name, value in ours.items():
            _compare(value, theirs[name], f"{where}: {name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (our_item, their_item) in enumerate(zip(ours, theirs, strict=True)):
            _compare(our_item, their_item, f"{where}[{index}]")
    elif ours != theirs:
        raise DisagreementError(f"{where}: {ours!r} here, {theirs!r} in Java")
