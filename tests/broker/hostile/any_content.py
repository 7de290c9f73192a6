"""Requests of any content: what no client would send."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, cast

from barnabas import Consumer, Producer
from barnabas.protocol.frame import encode_request
from oracle.instances import random_message

FRAMES_OF_A_VERSION = 12
THERE = "there"
PATIENCE_SECONDS = 30


def make_what_is_there(bootstrap: str) -> None:
    """A topic with a record, and a group with an offset."""
    with Producer(bootstrap) as producer:
        producer.send(THERE, b"a", partition=0).result(PATIENCE_SECONDS)
    with Consumer(bootstrap, group_id=THERE) as consumer:
        consumer.commit({(THERE, 0): 1})


def name_what_is_there(part: Any, source: random.Random) -> None:
    """Has a request be about a topic and a group that are there, in most places that could name them.

    Fields that its version lacks are empty, and stay so."""
    if isinstance(part, list):
        for each in cast("list[Any]", part):
            name_what_is_there(each, source)
    for name in getattr(part, "field_specifiers", ()):
        value = getattr(part, name)
        if isinstance(value, str) and value and source.random() < 0.7:
            setattr(part, name, THERE)
        elif name in ("partition", "partition_index", "index") and source.random() < 0.7:
            setattr(part, name, 0)
        elif isinstance(value, list) and value and isinstance(value[0], str):
            setattr(part, name, [THERE, *cast("list[str]", value)])
        else:
            name_what_is_there(value, source)


def frames_of_any_content(handler: Any) -> Iterator[bytes]:
    """Requests of each version that a handler takes; two of three have bytes that were changed.

    They are the same in each run."""
    for version in range(handler.lowest, handler.highest + 1):
        source = random.Random(f"{handler.request_type.__name__} {version}")
        for number in range(FRAMES_OF_A_VERSION):
            request = random_message(handler.request_type, version, source)
            name_what_is_there(request, source)
            frame = bytearray(encode_request(request, version, number, THERE))
            for _ in range(number // 4):
                frame[source.randrange(4, len(frame))] = source.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF])
            yield bytes(frame)
