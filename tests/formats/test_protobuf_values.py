"""Messages in a registry's framing: message indexes as Confluent's serializers write them, and what broken
bytes say."""

# google.protobuf has no types.
# pyright: basic

from __future__ import annotations

import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka.schema_registry import protobuf as original
from google.protobuf import descriptor_pb2, timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st

from barnabas.errors import SerializationError
from barnabas.formats import ProtobufValues, SchemaError
from barnabas.formats.protobuf_schema import compile_text
from barnabas.formats.protobuf_values import (
    descriptor_text,
    file_of,
    framing,
    message_at,
    message_class,
    message_index,
    read_index,
    referenced_files,
)

TEXT = """
syntax = "proto3";
import "google/protobuf/timestamp.proto"; import "b.proto";
message A { int32 x = 1; message B { message C { string y = 1; } } message D { B.C c = 1; } }
message E { A a = 1; google.protobuf.Timestamp at = 2; Needed needed = 3; }
"""
REFERENCES = {"b.proto": "message Needed { required int32 x = 1; }"}
FILE = file_of(compile_text(TEXT, REFERENCES))


def class_at(*index: int) -> Any:
    return message_class(message_at(FILE, index))


@pytest.mark.parametrize(
    ("index", "name", "data"),
    [
        ((0,), "A", b"\0"),
        ((1,), "E", b"\2\2"),
        ((0, 0), "A.B", b"\4\0\0"),
        ((0, 0, 0), "A.B.C", b"\6\0\0\0"),
        ((0, 1), "A.D", b"\4\0\2"),
    ],
)
def test_a_message_is_behind_its_place_in_its_file(index: tuple[int, ...], name: str, data: bytes) -> None:
    values = ProtobufValues(class_at(*index))
    assert values.message_index == index == message_index(FILE.pool.FindMessageTypeByName(name))
    assert values.encode(class_at(*index)()) == data == framing(index)
    assert values.encode(class_at(*index)(), b"header") == b"header" + data
    assert read_index(b"header" + data, 6) == (index, 6 + len(data))


@given(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=20), st.booleans())
def test_indexes_are_those_of_the_original(index: list[int], is_zigzag: bool) -> None:
    buffer = io.BytesIO()
    original.ProtobufSerializer._encode_varints(buffer, index, zigzag=is_zigzag)
    assert framing(index, is_zigzag=is_zigzag) == buffer.getvalue()
    assert read_index(buffer.getvalue(), is_zigzag=is_zigzag) == (tuple(index), len(buffer.getvalue()))


def test_values_come_back_whatever_index_is_before_them() -> None:
    values = ProtobufValues(class_at(1))
    value = class_at(1)(a={"x": 7}, at={"seconds": 5})
    for index in (b"\0", b"\2\0", b"\2\2", b"\4\2\4"):
        assert values.decode(b"12345" + index + value.SerializeToString(), 5) == value
    for data in (bytearray, memoryview):
        assert values.decode(data(values.encode(value))) == value


def test_the_indexes_of_old_clients_are_read_and_written_on_demand() -> None:
    values = ProtobufValues(class_at(0, 1), is_zigzag=False)
    assert values.encode(class_at(0, 1)()) == b"\2\0\1"
    assert values.decode(b"\2\0\1\x0a\0").HasField("c")
    assert ProtobufValues(class_at(0), is_zigzag=False).encode(class_at(0)()) == b"\0"


def test_what_is_no_such_message_is_refused() -> None:
    values = ProtobufValues(class_at(1))
    with pytest.raises(SerializationError, match="the value is D, where E is due"):
        values.encode(class_at(0, 1)())
    with pytest.raises(SerializationError, match="the value is dict, where E is due"):
        values.encode({"a": 1})
    value = class_at(1)()
    value.needed.SetInParent()
    with pytest.raises(SerializationError, match=r"E: .*required.*needed\.x"):
        values.encode(value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the index of the message ends too early"),
        (b"\4\0", "the index of the message ends too early"),
        (b"\xff" * 30, "the index of the message ends too early"),
        (b"\1", "index has -1 parts"),
        (b"\xfe\xff\xff\xff\x0f", "index has 2147483647 parts; the limit is 100"),
        (b"\2\1", "index has the part -1"),
        (b"\0\x0a\xff", "E: "),
        (b"\0\xff", "E: "),
    ],
)
def test_broken_bytes_say_what_is_broken(data: bytes, words: str) -> None:
    with pytest.raises(SerializationError, match=words):
        ProtobufValues(class_at(1)).decode(b"12345" + data, 5)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_message_or_broken(data: bytes) -> None:
    try:
        assert isinstance(ProtobufValues(class_at(1)).decode(data), class_at(1))
    except SerializationError:
        return


def test_an_index_that_a_file_does_not_have_is_refused() -> None:
    for index, words in (
        ((2,), "the schema has 2 messages"),
        ((0, 7), "the message A has 2 messages"),
        ((), "empty"),
    ):
        with pytest.raises(SerializationError, match=words):
            message_at(FILE, index)


def test_values_are_for_all_threads_and_may_be_pickled() -> None:
    values = pickle.loads(pickle.dumps(ProtobufValues(timestamp_pb2.Timestamp)))
    assert values.decode(values.encode(timestamp_pb2.Timestamp(seconds=5))).seconds == 5
    with ThreadPoolExecutor(4) as pool:
        sent = [timestamp_pb2.Timestamp(seconds=number) for number in range(500)]
        assert list(pool.map(values.decode, map(values.encode, sent))) == sent


def test_references_are_the_imports_that_a_registry_does_not_have_built_in() -> None:
    assert [each.name for each in referenced_files(FILE)] == ["b.proto"]
    assert [each.name for each in referenced_files(FILE, skips_known=False)] == [
        "google/protobuf/timestamp.proto",
        "b.proto",
    ]


def test_a_descriptor_is_registered_as_the_original_does() -> None:
    file = timestamp_pb2.DESCRIPTOR
    assert descriptor_text(file) == original._schema_to_str(file)


@pytest.mark.parametrize("data", [b"\xff", b"", descriptor_pb2.FileDescriptorSet(
    file=[descriptor_pb2.FileDescriptorProto(name="a", dependency=["b"])]
).SerializeToString()])  # fmt: skip
def test_a_set_that_is_broken_is_refused(data: bytes) -> None:
    with pytest.raises(SchemaError, match="the descriptor set is broken"):
        file_of(data)
