"""Messages of the core as structs of kafka.protocol, which is how kafka-python 2 gives and quotes them."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka_engine.generations.struct_messages import STRUCT_MESSAGES
from barnabas.compat.kafka_engine.wire.struct_classes import struct_class
from barnabas.compat.kafka_engine.wire.translation import fitting
from barnabas.protocol.codec import encode
from barnabas.protocol.schema import Message, Request

__all__ = ["STRUCT_VERSIONS", "struct_of"]

_TABLE = {each.name: each for each in STRUCT_MESSAGES["2"]}

STRUCT_VERSIONS = {name: each.highest for name, each in _TABLE.items()} | {"DescribeAcls": 1}
"""The newest version of each message that kafka-python 2 asks for, by Kafka's name for it."""


def struct_of(message: Message, version: int) -> Any:
    """A request or response of the core as a struct of `version`."""
    name = f"{message.NAME}{'Request' if isinstance(message, Request) else 'Response'}_v{version}"
    struct = struct_class(_TABLE[message.NAME].module, name)
    return struct.decode(encode(fitting(message, version), version))
