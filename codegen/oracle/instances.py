"""Random instances of messages, drawn from their schema; and the list of all message classes."""

from __future__ import annotations

import pkgutil
import random
import uuid
from importlib import import_module
from typing import Any

import barnabas.protocol.messages as messages
from barnabas.protocol.schema import PRIMITIVE_TYPES, Message, WireField, fields_of, keeps_tags

_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}

_ALPHABET = "abcXYZ019._- \u00e4\u20ac\u4e16\U0001f600\0"


def message_classes() -> list[type[Message]]:
    """Every generated message class, in the order of their names."""
    found: list[type[Message]] = []
    for module_info in pkgutil.iter_modules(messages.__path__):
        module = import_module(f"{messages.__name__}.{module_info.name}")
        found += [
            each
            for each in vars(module).values()
            if isinstance(each, type) and issubclass(each, Message) and each.__module__ == module.__name__
        ]
    return sorted(found, key=lambda cls: cls.__name__)


def struct_classes(cls: type[Message], version: int) -> dict[str, type[Any]]:
    """The structs that a message has in a version, by name."""
    found: dict[str, type[Any]] = {}
    pending: list[type[Any]] = [cls]
    while pending:
        for field in fields_of(pending.pop()):
            name = field.wire.element_type
            if name not in PRIMITIVE_TYPES and field.wire.present(version) and name not in found:
                found[name] = getattr(cls, name)
                pending.append(found[name])
    return found


def random_message(cls: type[Message], version: int, source: random.Random) -> Any:
    """An instance whose fields that `version` has are random, and whose others are at their defaults."""
    return _random_struct(cls, cls, version, source)


def _random_struct(root: type[Message], cls: type[Any], version: int, source: random.Random) -> Any:
    values = {
        field.name: _random_value(root, field.wire, version, source)
        for field in fields_of(cls)
        if field.wire.present(version)
        # Leave tagged fields out now and then: their absence must be written too.
        and not (field.wire.tagged(version) and source.random() < 0.4)
    }
    if keeps_tags(cls) and version >= root.FLEXIBLE_VERSIONS and source.random() < 0.15:
        tags = source.sample([100, 127, 128, 9999, 2_000_000_000], source.randint(1, 3))
        values["unknown_tagged_fields"] = {
            tag: source.randbytes(source.choice([0, 1, 200])) for tag in sorted(tags)
        }
    return cls(**values)


def _random_value(root: type[Message], wire: WireField, version: int, source: random.Random) -> Any:
    if wire.nullable(version) and source.random() < 0.2:
        return None
    if not wire.is_array:
        return _random_item(root, wire.type, version, source)
    count = source.choice([0, 1, 1, 2, 3])
    if wire.element_type in _RANGES and source.random() < 0.05:
        count = source.choice([126, 127, 128, 300])
    return [_random_item(root, wire.element_type, version, source) for _ in range(count)]


def _random_item(root: type[Message], type_name: str, version: int, source: random.Random) -> Any:
    if type_name in _RANGES:
        lowest, highest = _RANGES[type_name]
        edges = [value for value in (0, 1, -1, lowest, highest) if lowest <= value <= highest]
        return source.choice([*edges, source.randint(lowest, highest), source.randint(lowest, highest)])
    if type_name == "bool":
        return source.random() < 0.5
    if type_name == "float64":
        return source.choice([0.0, -1.5, 1e300, source.uniform(-1e6, 1e6)])
    if type_name == "uuid":
        return source.choice([uuid.UUID(int=0), uuid.UUID(int=source.getrandbits(128))])
    if type_name == "string":
        length = (
            source.choice([0, 1, 5, 12]) if source.random() < 0.97 else source.choice([126, 127, 128, 400])
        )
        return "".join(source.choice(_ALPHABET) for _ in range(length))
    if type_name in {"bytes", "records"}:
        return source.randbytes(source.choice([0, 1, 9]) if source.random() < 0.95 else 20_000)
    return _random_struct(root, getattr(root, type_name), version, source)
