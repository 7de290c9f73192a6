"""Message sets in the registry: their extensions have numbers that no field has. What is kept can be read."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from tests.registry_server.conftest import Ask

from barnabas.formats.protobuf_schema import ProtobufSchema, compile_text

TEXT = """syntax = "proto2"; package p;
message Set { %s }
message Other { optional int32 a = 1; extend Set { optional Other item = 500; } }
"""
OPTION = "option message_set_wire_format = true;"
WHOLE = 2_147_483_647
"""Where ranges end in descriptors, which is one behind the last number."""


def message_set(start: int = 4, end: int = WHOLE) -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="m.proto", package="p", syntax="proto2")
    made = file.message_type.add(name="Set")
    made.options.message_set_wire_format = True
    made.extension_range.add(start=start, end=end)
    file.message_type.add(name="Other").field.add(name="a", number=1, label=1, type=5)
    return file


def ranges(file: Any) -> list[tuple[int, int]]:
    return [(each.start, each.end) for each in file.message_type[0].extension_range]


@pytest.mark.parametrize("end", [WHOLE, 1_000_000_000, 536_870_912, 536_870_913, 5])
@pytest.mark.parametrize("normalize", ["false", "true"])
def test_a_descriptor_of_a_message_set_is_given_out_as_it_was_registered(
    ask: Ask, end: int, normalize: str
) -> None:
    given = message_set(end=end)
    body = {"schema": base64.b64encode(given.SerializeToString()).decode(), "schemaType": "PROTOBUF"}
    status, answer = ask(f"POST /subjects/s/versions?normalize={normalize}", body)
    assert status == 200
    status, found = ask(f"GET /schemas/ids/{answer['id']}?format=serialized")
    assert status == 200
    read = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(found["schema"]))
    assert ranges(read) == ranges(given)
    assert read.message_type[0].options.message_set_wire_format
    # The text that is kept is the same schema.
    kept = ask(f"GET /schemas/ids/{answer['id']}")[1]["schema"]
    again = ask(f"POST /subjects/s/versions?normalize={normalize}", {**body, "schema": kept})
    assert again[1]["id"] == answer["id"]


@pytest.mark.parametrize(
    ("members", "end"),
    [
        (f"{OPTION} extensions 4 to max;", WHOLE),
        (f"extensions 4 to max; {OPTION}", WHOLE),
        (f"{OPTION} extensions 4 to 2147483646;", WHOLE),
        (f"{OPTION} extensions 4 to 536870911;", 536_870_912),
        ("extensions 4 to max;", 536_870_912),
        ("extensions 4 to 536870911;", 536_870_912),
    ],
)
def test_max_is_what_the_message_s_option_makes_it(members: str, end: int) -> None:
    text = TEXT % members
    for each in (text, ProtobufSchema(text).canonical_text, ProtobufSchema(text).normalized_text):
        compiled = descriptor_pb2.FileDescriptorSet.FromString(compile_text(each)).file[-1]
        assert ranges(compiled) == [(4, end)]
        descriptor_pool.DescriptorPool().Add(compiled)


@pytest.mark.parametrize("members", ["extensions 4 to 536870912;", "extensions 4 to 2147483646;"])
def test_numbers_of_message_sets_are_refused_in_other_messages(ask: Ask, members: str) -> None:
    status, said = ask("POST /subjects/s/versions", {"schema": TEXT % members, "schemaType": "PROTOBUF"})
    assert status == 422
    assert "is no range of numbers between 1 and 536870911" in said["message"]
