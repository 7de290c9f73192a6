"""No bytes whatever make the decoder fail with another error, hang, or allocate out of proportion."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.errors import BrokenProtocolError
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.messages.fetch import FetchResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.schema import Message
from barnabas.protocol.server_frame import decode_request
from oracle.instances import message_classes, random_message

CLASSES = message_classes()
any_class = st.sampled_from(CLASSES)


def try_to_decode(cls: type[Message], version: int, content: bytes) -> None:
    """Fails on any error but BrokenProtocolError, and on a message that cannot be written again."""
    try:
        message = decode(cls, version, content)
    except BrokenProtocolError:
        return
    assert type(message) is cls


@settings(max_examples=400)
@given(any_class, st.integers(0, 20), st.binary(max_size=300))
def test_any_bytes_are_a_message_or_a_broken_protocol_error(
    cls: type[Message], version: int, content: bytes
) -> None:
    try_to_decode(cls, cls.VERSIONS[0] + version % (cls.VERSIONS[1] - cls.VERSIONS[0] + 1), content)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_changed_bytes_of_a_message_are_a_message_or_a_broken_protocol_error(cls: type[Message]) -> None:
    for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
        source = random.Random(f"{cls.__name__} {version}")
        content = bytearray(encode(random_message(cls, version, source), version)[:2000])
        for _ in range(20):
            changed = bytearray(content)
            for _ in range(min(len(changed), source.randint(1, 3))):
                changed[source.randrange(len(changed))] = source.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF])
            try_to_decode(cls, version, bytes(changed))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_message_cut_short_anywhere_is_refused(cls: type[Message]) -> None:
    for version in (cls.VERSIONS[0], cls.VERSIONS[1]):
        source = random.Random(f"{cls.__name__} {version}")
        content = encode(random_message(cls, version, source), version)
        for end in sorted(source.sample(range(len(content)), min(len(content), 30))):
            with pytest.raises(BrokenProtocolError, match=f"{cls.__name__} version {version}"):
                decode(cls, version, content[:end])


@settings(max_examples=200)
@given(st.binary(max_size=100))
def test_any_bytes_are_a_request_or_a_broken_protocol_error(content: bytes) -> None:
    try:
        decode_request(content)
    except BrokenProtocolError:
        return


@pytest.mark.parametrize(
    ("cls", "version", "content"),
    [
        (MetadataRequest, 0, b"\x7f\xff\xff\xff" + bytes(100)),
        (MetadataRequest, 12, b"\xff\xff\xff\xff\x07" + bytes(100)),
        (MetadataResponse, 12, bytes(4) + b"\xff\xff\xff\xff\x07" + bytes(100)),
        (FetchResponse, 4, bytes(4) + b"\x7f\xff\xff\xff" + bytes(100)),
        (FetchResponse, 12, bytes(11) + b"\xff\xff\xff\xff\x07" + bytes(100)),
        # A topic with a partition whose array of replicas claims 2^31 - 2 nodes.
        (
            MetadataResponse,
            8,
            bytes(16) + b"\0\0\0\1\0\0\0\0\0\0\0\0\1" + bytes(14) + b"\x7f\xff\xff\xfe" + bytes(9),
        ),
    ],
)
def test_a_huge_length_is_refused_without_allocating_for_it(
    cls: type[Message], version: int, content: bytes
) -> None:
    with pytest.raises(BrokenProtocolError):
        decode(cls, version, content)
    tracemalloc.start()
    try:
        with pytest.raises(BrokenProtocolError):
            decode(cls, version, content)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_an_array_that_may_not_be_null_is_refused_when_null() -> None:
    with pytest.raises(BrokenProtocolError, match="MetadataRequest version 0 is malformed at byte 4 of 4"):
        decode(MetadataRequest, 0, b"\xff\xff\xff\xff")


def test_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(BrokenProtocolError, match="utf-8"):
        decode(MetadataRequest, 0, b"\0\0\0\1\0\1\xff")


def test_a_varint_without_end_is_refused() -> None:
    with pytest.raises(BrokenProtocolError, match="varint"):
        decode(MetadataRequest, 12, b"\xff\xff\xff\xff\xff\xff\xff")


def test_a_tagged_field_of_another_length_than_it_claims_is_refused() -> None:
    content = bytearray(encode(MetadataRequest(topics=[]), 12))
    content[-1:] = b"\x01\x05\x7fx"
    with pytest.raises(BrokenProtocolError, match="tagged field of 127 bytes"):
        decode(MetadataRequest, 12, bytes(content))
