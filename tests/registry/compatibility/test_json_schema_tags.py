"""Tags in JSON Schemas, by Confluent's paths."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.registry.compatibility.json_schema_tags import changed, found, top_level_fields
from barnabas.registry.errors import InvalidSchemaError

ADDRESS = {"type": "object", "properties": {"city": {"type": "string", "confluent:tags": ["PII"]}}}


def tagged(schema: Any) -> dict[tuple[str, str], list[str]]:
    return found(json.dumps(schema))


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (ADDRESS, "object.city"),
        (an_object(home=ADDRESS), "object.home.object.city"),
        (an_object(homes={"type": "array", "items": ADDRESS}), "object.homes.array.object.city"),
        # In the order of kinds: NULL is before OBJECT, and that before STRING.
        ({"oneOf": [{"type": "string"}, ADDRESS, {"type": "null"}]}, "oneof.1.object.city"),
        ({"anyOf": [ADDRESS, an_object()]}, "anyof.1.object.city"),
        ({**ADDRESS, "type": ["object", "null"]}, "anyof.1.object.city"),
        ({**ADDRESS, "if": {}, "then": {}}, "allof.1.object.city"),
        ({"not": ADDRESS}, "not.object.city"),
        (an_object() | {"definitions": {"A": ADDRESS}}, "object.definitions.A.object.city"),
        (an_object() | {"$defs": {"A": ADDRESS}}, "object.$defs.A.object.city"),
        ({"if": ADDRESS, "then": {}}, "conditional.if.object.city"),
        ({"properties": ADDRESS["properties"]}, "object.city"),
    ],
)
def test_a_tag_is_found_by_its_path(schema: Any, path: str) -> None:
    assert tagged(schema) == {(path, "sr_field"): ["PII"]}
    gone = changed(json.dumps(schema), {}, {(path, "sr_field"): ["PII"]})
    assert "confluent:tags" not in gone
    again = changed(gone, {(path, "sr_field"): ["PII"]}, {})
    assert json.loads(again) == schema


def test_objects_have_tags_of_their_own() -> None:
    schema = {**an_object(home={**ADDRESS, "confluent:tags": ["HOME"]}), "confluent:tags": ["ALL"]}
    assert tagged(schema) == {
        ("object", "sr_record"): ["ALL"],
        ("object.home", "sr_field"): ["HOME"],
        ("object.home.object.city", "sr_field"): ["PII"],
    }


def test_tags_are_added_and_taken_away() -> None:
    text = '{"type":"object","properties":{"a":{"type":"number","maximum":1.50}}}'
    entity = ("object.a", "sr_field")
    assert changed(text, {entity: ["X", "Y"]}, {}) == (
        '{"type":"object","properties":{"a":{"type":"number","maximum":1.50,"confluent:tags":["X","Y"]}}}'
    )
    with_both = changed(text, {entity: ["X", "Y"], ("object", "sr_record"): ["R"]}, {})
    assert found(changed(with_both, {entity: ["Z"]}, {entity: ["X"]})) == {
        ("object", "sr_record"): ["R"],
        entity: ["Y", "Z"],
    }


def test_a_path_that_leads_nowhere_is_told() -> None:
    with pytest.raises(InvalidSchemaError, match=r"No matching path 'object\.b' found in the schema"):
        changed(json.dumps(ADDRESS), {("object.b", "sr_field"): ["X"]}, {})
    with pytest.raises(InvalidSchemaError, match=r"No matching path 'object\.city'"):
        changed(json.dumps(ADDRESS), {("object.city", "sr_record"): ["X"]}, {})


def test_the_properties_at_the_top_are_told() -> None:
    assert top_level_fields('{"properties": {"b": {}, "a": {"properties": {"c": {}}}}}') == ["b", "a"]
    assert top_level_fields("true") == top_level_fields("{}") == []
