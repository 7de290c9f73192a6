"""Messages of the core as structs of kafka.protocol, which is how kafka-python 2 gives and quotes them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, cast

from barnabas.compat.kafka_engine.generations.struct_messages import STRUCT_MESSAGES
from barnabas.compat.kafka_engine.wire.struct_classes import struct_class
from barnabas.compat.kafka_engine.wire.translation import fitting
from barnabas.protocol.codec import encode
from barnabas.protocol.schema import Message, Request, Struct, fields_of

__all__ = ["STRUCT_VERSIONS", "struct_of"]

_TABLE = {each.name: each for each in STRUCT_MESSAGES["2"]}

STRUCT_VERSIONS = {name: each.highest for name, each in _TABLE.items()} | {"DescribeAcls": 1}
"""The newest version of each message that kafka-python 2 asks for, by Kafka's name for it."""


def struct_of(message: Message, version: int) -> Any:
    """A request or response of the core as a struct of `version`. Members of enumerations in a request stay
    what they are: kafka-python 2 quotes requests with them."""
    is_request = isinstance(message, Request)
    name = f"{message.NAME}{'Request' if is_request else 'Response'}_v{version}"
    struct = struct_class(_TABLE[message.NAME].module, name)
    found: Any = struct.decode(encode(fitting(message, version), version))
    if is_request:
        for field, value in zip(
            struct.SCHEMA.names, _values(cast("Message", message), version), strict=False
        ):
            setattr(found, field, _as_given(getattr(found, field), value, version))
    return found


def _values(part: Message | Struct, version: int) -> list[Any]:
    """Of the fields of a message, or of a part of one, that `version` has, in their order."""
    return [
        getattr(part, field.name)
        for field in fields_of(type(part))
        if field.wire.present(version) and not field.wire.tagged(version)
    ]


def _as_given(decoded: Any, given: Any, version: int) -> Any:
    """kafka-python's structs have tagged fields behind the others, and new partitions one level deeper: what
    does not belong together stays as it was decoded."""
    if isinstance(given, IntEnum):
        return given if given == decoded else decoded
    if isinstance(given, list) and isinstance(decoded, list):
        return _each_as_given(cast("list[Any]", decoded), cast("list[Any]", given), version)
    if isinstance(given, Struct) and isinstance(decoded, tuple):
        return tuple(_each_as_given(cast("tuple[Any, ...]", decoded), _values(given, version), version))
    return decoded


def _each_as_given(decoded: Sequence[Any], given: Sequence[Any], version: int) -> list[Any]:
    of_given = [_as_given(one, other, version) for one, other in zip(decoded, given, strict=False)]
    return [*of_given, *decoded[len(of_given) :]]
