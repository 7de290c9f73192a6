"""The normalized form of options: google.protobuf makes of it what it makes of the text that was given."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from barnabas.formats.protobuf_schema import ProtobufSchema, compile_text

HEAD = """syntax = "proto3";
package demo;
import "google/protobuf/descriptor.proto";
message Rule { string id = 1; string expression = 2; bool strict = 3; repeated Rule inner = 4; }
message Rules {
  repeated Rule cel = 1;
  repeated string words = 2;
  repeated int32 numbers = 3;
  Rule one = 4;
  map<string, Rule> named = 5;
  oneof choice { Rule left = 6; string right = 7; }
  Rules nested = 8;
}
extend google.protobuf.MessageOptions { Rules rules = 50001; repeated Rule more = 50002; }
extend google.protobuf.FieldOptions { Rules of_field = 50003; }
"""
A, B = '{ id: "a", strict: true }', '{ id: "b", strict: true }'


def set_options(text: str) -> list[Any]:
    """Of the message Order and of its fields, as bytes that are the same for the same values."""
    found = descriptor_pb2.FileDescriptorSet.FromString(compile_text(text))
    pool: Any = descriptor_pool.DescriptorPool()
    for file in found.file:
        pool.Add(file)
    order = pool.FindMessageTypeByName("demo.Order")

    def known(options: Any) -> bytes:
        name = options.DESCRIPTOR.full_name
        made = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        return made.FromString(options.SerializeToString()).SerializeToString(deterministic=True)

    return [
        known(each.GetOptions()) for each in (order, *sorted(order.fields, key=lambda field: field.number))
    ]


@pytest.mark.parametrize(
    "body",
    [
        f"option (rules).cel = {A}; option (rules).cel = {B};",
        f"option (rules).cel = {A}; option (rules).cel = {A};",
        f"option (rules).cel = {A}; option (rules).one = {A}; option (rules).cel = {B};"
        f"option (rules).cel = {A};",
        f"option (rules) = {{ cel: [{A}, {B}] }}; option (rules).words = 'x';",
        "option (rules).words = 'x'; option (rules).words = 'x'; option (rules).words = 'y';",
        "option (rules).numbers = 1; option (rules).numbers = 1;",
        "option (rules).one.id = 'a'; option (rules).one.strict = true;",
        f"option (rules).one.inner = {A}; option (rules).one.inner = {B};",
        f"option (rules).nested.cel = {A}; option (rules).nested.cel = {B};"
        "option (rules).nested.words = 'x';",
        f"option (rules).left.inner = {A}; option (rules).left.inner = {A};",
        "option (rules).named = { key: 'k', value: { id: 'a' } };"
        "option (rules).named = { key: 'l', value: { id: 'a' } };",
        f"option (more) = {A}; option (more) = {B}; option (more) = {A};",
        f"int64 m = 2 [(of_field).cel = {A}, (of_field).cel = {B}, (of_field).words = 'x'];",
        f"int64 m = 2 [(demo.of_field).cel = {A}, (.demo.of_field).cel = {A}];",
    ],
)
def test_options_that_are_set_part_by_part_keep_all_that_they_have(body: str) -> None:
    text = HEAD + f"message Order {{ {body} int64 n = 1; }}"
    normalized = ProtobufSchema(text).normalized_text
    assert set_options(normalized) == set_options(text)
    assert ProtobufSchema(normalized).normalized_text == normalized


def test_a_repeated_group_that_is_set_twice_stays_two() -> None:
    text = """syntax = "proto2"; package demo; import "google/protobuf/descriptor.proto";
    message Rules { repeated group Part = 1 { optional string id = 2; } optional int32 n = 3; }
    extend google.protobuf.MessageOptions { optional Rules rules = 50001; }
    message Order {
      option (rules).Part = { id: "a" }; option (rules).Part = { id: "b" }; option (rules).n = 1;
      optional int64 n = 1;
    }"""
    assert set_options(ProtobufSchema(text).normalized_text) == set_options(text)
