"""Every request that kafka-python 2 quotes as a struct can be quoted, whatever it holds."""

from __future__ import annotations

import random
from typing import Any

import pytest

from barnabas.compat.kafka_engine.admin.structs import STRUCT_VERSIONS, struct_of
from barnabas.protocol.codec import Request
from oracle.instances import message_classes, random_message

QUOTED = [cls for cls in message_classes() if issubclass(cls, Request) and cls.NAME in STRUCT_VERSIONS]


@pytest.mark.parametrize("cls", QUOTED, ids=lambda cls: cls.__name__)
def test_a_request_is_a_struct_in_every_version(cls: type[Request[Any]]) -> None:
    for version in range(cls.VERSIONS[0], min(cls.VERSIONS[1], STRUCT_VERSIONS[cls.NAME]) + 1):
        for seed in range(5):
            message = random_message(cls, version, random.Random(f"{cls.__name__} {version} {seed}"))
            struct: Any = struct_of(message, version)
            again = type(struct).decode(struct.encode())
            names = struct.SCHEMA.names
            assert [getattr(again, name) for name in names] == [getattr(struct, name) for name in names]
