"""Tags in schemas of Protocol Buffers: found however they are written, added and taken away."""

from __future__ import annotations

import pytest

from barnabas.registry.compatibility.protobuf_tags import changed, found
from barnabas.registry.errors import InvalidSchemaError

TEXT = """
syntax = "proto3"; package p; import "confluent/meta.proto";
message M {
  option (confluent.message_meta).tags = "T";
  string a = 1 [(confluent.field_meta).tags = "A", (.confluent.field_meta).tags = "B"];
  string b = 2 [deprecated = true, (confluent.field_meta) = {doc: "d", tags: ["C"]}];
  oneof o { string c = 3 [(confluent.field_meta).doc = "d"]; }
  message N { string d = 1 [(confluent.field_meta) = {tags: "D"}]; }
}
"""


def test_tags_are_found_in_messages_and_fields() -> None:
    assert found(TEXT) == {
        ("M", "sr_record"): ["T"],
        ("M.a", "sr_field"): ["A", "B"],
        ("M.b", "sr_field"): ["C"],
        ("M.N.d", "sr_field"): ["D"],
    }


def test_tags_are_added_and_taken_away() -> None:
    to_add = {("M", "sr_record"): ["T", "U"], ("M.c", "sr_field"): ["X"], ("M.a", "sr_field"): ["B", "E"]}
    to_remove = {("M.a", "sr_field"): ["A"], ("M.b", "sr_field"): ["C"], (".M.N.d", "sr_field"): ["D"]}
    made = changed(TEXT, to_add, to_remove)
    assert found(made) == {
        ("M", "sr_record"): ["T", "U"],
        ("M.a", "sr_field"): ["B", "E"],
        ("M.c", "sr_field"): ["X"],
    }
    assert 'doc: "d"' in made
    assert "deprecated = true" in made
    assert "    string d = 1;\n" in made


@pytest.mark.parametrize(
    ("entity", "words"),
    [
        (("Q", "sr_record"), "No matching Message with name 'Q' found"),
        (("M.q", "sr_field"), "No matching Field with name 'q' found"),
        (("M.a", "sr_record"), "No matching Message with name 'a' found"),
    ],
)
def test_what_is_not_there_cannot_be_tagged(entity: tuple[str, str], words: str) -> None:
    with pytest.raises(InvalidSchemaError, match=words):
        changed(TEXT, {entity: ["A"]}, {})


def test_what_is_no_schema_cannot_be_tagged() -> None:
    with pytest.raises(InvalidSchemaError, match="broken"):
        changed("no schema", {}, {})
