"""Compatibility of JSON Schemas: Confluent's rules and words, and validators as the judges of values."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.json_schema_by_chance import Maker

from barnabas.formats.json_schema_documents import DRAFTS
from barnabas.registry.compatibility.difference import Sides
from barnabas.registry.compatibility.json_schema import differences
from barnabas.registry.compatibility.json_schema_kinds import DESCRIPTIONS
from barnabas.registry.errors import InvalidSchemaError

DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
# No value fails: the rule is one of what schemas say, and not of what values they have.
NO_VALUE: Any = object()


def open_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def closed(**properties: Any) -> dict[str, Any]:
    return {**open_object(**properties), "additionalProperties": False}


def partly_open(others: Any, **properties: Any) -> dict[str, Any]:
    return {**open_object(**properties), "additionalProperties": others}


def new(**keywords: Any) -> dict[str, Any]:
    """Of a draft that has unevaluated parts."""
    return {"$schema": DRAFT_2020, **keywords}


def array(*first: Any, **keywords: Any) -> dict[str, Any]:
    return {"type": "array", **({"items": list(first)} if first else {}), **keywords}


def one(kind: str, **keywords: Any) -> dict[str, Any]:
    return {"type": kind, **keywords}


def found(reader: Any, writer: Any, **others: Any) -> list[tuple[str, str]]:
    return [(each.kind, each.path) for each in differences(json.dumps(reader), json.dumps(writer), **others)]


def validator(schema: Any) -> Any:
    new_one = isinstance(schema, dict) and schema.get("$schema") == DRAFT_2020
    return (jsonschema_rs.Draft202012Validator if new_one else jsonschema_rs.Draft7Validator)(schema)


# Kind, path, writer's, reader's, a value of the writer's that the reader's refuses.
INCOMPATIBLE: list[tuple[str, str, Any, Any, Any]] = [
    ("TYPE_CHANGED", "#/", TEXT, WHOLE, "x"),
    ("TYPE_CHANGED", "#/properties/a", closed(a=TEXT), closed(a=one("null")), {"a": "x"}),
    ("TYPE_NARROWED", "#/properties/a", closed(a=NUMBER), closed(a=WHOLE), {"a": 1.5}),
    ("SCHEMA_ADDED", "#/items", one("array"), array(items=TEXT), [1]),
    # Texts
    ("MAX_LENGTH_ADDED", "#/maxLength", TEXT, one("string", maxLength=2), "xyz"),
    ("MAX_LENGTH_DECREASED", "#/maxLength", one("string", maxLength=3), one("string", maxLength=2), "xyz"),
    ("MIN_LENGTH_ADDED", "#/minLength", TEXT, one("string", minLength=2), "x"),
    ("MIN_LENGTH_INCREASED", "#/minLength", one("string", minLength=1), one("string", minLength=2), "x"),
    ("PATTERN_ADDED", "#/pattern", TEXT, one("string", pattern="^a"), "b"),
    ("PATTERN_CHANGED", "#/pattern", one("string", pattern="^b"), one("string", pattern="^a"), "b"),
    # Numbers
    ("MAXIMUM_ADDED", "#/maximum", WHOLE, one("integer", maximum=5), 6),
    ("MAXIMUM_DECREASED", "#/maximum", one("integer", maximum=6), one("integer", maximum=5), 6),
    ("MINIMUM_ADDED", "#/minimum", WHOLE, one("integer", minimum=5), 4),
    ("MINIMUM_INCREASED", "#/minimum", one("integer", minimum=4), one("integer", minimum=5), 4),
    ("EXCLUSIVE_MAXIMUM_ADDED", "#/exclusiveMaximum", WHOLE, one("integer", exclusiveMaximum=5), 5),
    (
        "EXCLUSIVE_MAXIMUM_DECREASED",
        "#/exclusiveMaximum",
        one("integer", exclusiveMaximum=6),
        one("integer", exclusiveMaximum=5.5),
        NO_VALUE,
    ),
    (
        "EXCLUSIVE_MAXIMUM_DECREASED",
        "#/exclusiveMaximum",
        one("number", exclusiveMaximum=6),
        one("number", exclusiveMaximum=5.5),
        5.7,
    ),
    ("EXCLUSIVE_MINIMUM_ADDED", "#/exclusiveMinimum", WHOLE, one("integer", exclusiveMinimum=5), 5),
    (
        "EXCLUSIVE_MINIMUM_INCREASED",
        "#/exclusiveMinimum",
        one("integer", exclusiveMinimum=4),
        one("integer", exclusiveMinimum=5),
        5,
    ),
    ("MULTIPLE_OF_ADDED", "#/multipleOf", NUMBER, one("number", multipleOf=0.5), 0.25),
    (
        "MULTIPLE_OF_EXPANDED",
        "#/multipleOf",
        one("number", multipleOf=0.1),
        one("number", multipleOf=0.3),
        0.1,
    ),
    ("MULTIPLE_OF_CHANGED", "#/multipleOf", one("number", multipleOf=2), one("number", multipleOf=3), 2),
    # Values
    ("ENUM_ARRAY_NARROWED", "#/enum", {"enum": ["a", 1]}, {"enum": ["a"]}, 1),
    ("ENUM_ARRAY_CHANGED", "#/enum", {"enum": ["a", 1]}, {"enum": ["a", 2]}, 1),
    ("ENUM_ARRAY_CHANGED", "#/const", {"const": None}, {"const": {"a": 1}}, None),
    # Objects
    ("REQUIRED_ATTRIBUTE_ADDED", "#/required/a", closed(a=TEXT), {**closed(a=TEXT), "required": ["a"]}, {}),
    ("MAX_PROPERTIES_ADDED", "#/maxProperties", one("object"), one("object", maxProperties=0), {"a": 1}),
    (
        "MAX_PROPERTIES_DECREASED",
        "#/maxProperties",
        one("object", maxProperties=1),
        one("object", maxProperties=0),
        {"a": 1},
    ),
    ("MIN_PROPERTIES_ADDED", "#/minProperties", one("object"), one("object", minProperties=1), {}),
    (
        "MIN_PROPERTIES_INCREASED",
        "#/minProperties",
        one("object", minProperties=1),
        one("object", minProperties=2),
        {"a": 1},
    ),
    ("ADDITIONAL_PROPERTIES_REMOVED", "#/additionalProperties", open_object(), closed(), {"a": 1}),
    ("ADDITIONAL_PROPERTIES_NARROWED", "#/additionalProperties", open_object(), partly_open(TEXT), {"a": 1}),
    ("TYPE_CHANGED", "#/additionalProperties", partly_open(WHOLE), partly_open(TEXT), {"a": 1}),
    (
        "DEPENDENCY_ARRAY_ADDED",
        "#/dependencies/a",
        one("object"),
        one("object", dependencies={"a": ["b"]}),
        {"a": 1},
    ),
    (
        "DEPENDENCY_ARRAY_EXTENDED",
        "#/dependencies/a",
        one("object", dependencies={"a": ["b"]}),
        one("object", dependencies={"a": ["b", "c"]}),
        {"a": 1, "b": 1},
    ),
    (
        "DEPENDENCY_ARRAY_CHANGED",
        "#/dependencies/a",
        one("object", dependencies={"a": ["b"]}),
        one("object", dependencies={"a": ["c"]}),
        {"a": 1, "b": 1},
    ),
    (
        "DEPENDENCY_SCHEMA_ADDED",
        "#/dependencies/a",
        one("object"),
        one("object", dependencies={"a": {"minProperties": 2}}),
        {"a": 1},
    ),
    (
        "MIN_PROPERTIES_INCREASED",
        "#/dependencies/a/minProperties",
        one("object", dependencies={"a": {"minProperties": 1}}),
        one("object", dependencies={"a": {"minProperties": 2}}),
        {"a": 1},
    ),
    (
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "#/properties/a",
        open_object(),
        open_object(a=TEXT),
        {"a": 1},
    ),
    (
        "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "#/properties/a",
        open_object(),
        {**open_object(a=TEXT), "required": ["a"]},
        {},
    ),
    (
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "#/properties/a",
        open_object(),
        {**open_object(a={**TEXT, "default": ""}), "required": ["a"]},
        {"a": 1},
    ),
    (
        "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
        "#/properties/a",
        closed(),
        {**closed(a=TEXT), "required": ["a"]},
        {},
    ),
    ("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", "#/properties/a", closed(a=TEXT), closed(), {"a": "x"}),
    (
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "#/properties/a",
        partly_open(WHOLE, a=TEXT),
        partly_open(WHOLE),
        {"a": "x"},
    ),
    (
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "#/properties/a",
        partly_open(WHOLE),
        partly_open(WHOLE, a=TEXT),
        {"a": 1},
    ),
    (
        "UNEVALUATED_PROPERTIES_REMOVED",
        "#/unevaluatedProperties",
        new(type="object"),
        new(type="object", unevaluatedProperties=False),
        {"a": 1},
    ),
    (
        "UNEVALUATED_PROPERTIES_NARROWED",
        "#/unevaluatedProperties",
        new(type="object"),
        new(type="object", unevaluatedProperties=TEXT),
        {"a": 1},
    ),
    # Arrays
    ("MAX_ITEMS_ADDED", "#/maxItems", one("array"), array(maxItems=1), [1, 2]),
    ("MAX_ITEMS_DECREASED", "#/maxItems", array(maxItems=2), array(maxItems=1), [1, 2]),
    ("MIN_ITEMS_ADDED", "#/minItems", one("array"), array(minItems=1), []),
    ("MIN_ITEMS_INCREASED", "#/minItems", array(minItems=1), array(minItems=2), [1]),
    (
        "MAX_CONTAINS_ADDED",
        "#/maxContains",
        new(type="array", contains=TEXT),
        new(type="array", contains=TEXT, maxContains=1),
        ["a", "b"],
    ),
    (
        "MAX_CONTAINS_DECREASED",
        "#/maxContains",
        new(type="array", contains=TEXT, maxContains=2),
        new(type="array", contains=TEXT, maxContains=1),
        ["a", "b"],
    ),
    ("MIN_CONTAINS_ADDED", "#/minContains", new(type="array"), new(type="array", contains=TEXT), []),
    (
        "MIN_CONTAINS_INCREASED",
        "#/minContains",
        new(type="array", contains=TEXT),
        new(type="array", contains=TEXT, minContains=2),
        ["a"],
    ),
    ("UNIQUE_ITEMS_ADDED", "#/uniqueItems", one("array"), array(uniqueItems=True), [1, 1]),
    (
        "ADDITIONAL_ITEMS_REMOVED",
        "#/additionalItems",
        array(TEXT),
        array(TEXT, additionalItems=False),
        ["a", 1],
    ),
    (
        "ADDITIONAL_ITEMS_NARROWED",
        "#/additionalItems",
        array(TEXT),
        array(TEXT, additionalItems=TEXT),
        ["a", 1],
    ),
    ("TYPE_CHANGED", "#/items/1", array(TEXT, TEXT), array(TEXT, WHOLE), ["a", "b"]),
    ("TYPE_CHANGED", "#/items", array(items=TEXT), array(items=WHOLE), ["a"]),
    ("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", "#/items/1", array(TEXT), array(TEXT, TEXT), ["a", 1]),
    (
        "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "#/items/1",
        array(TEXT, TEXT, additionalItems=False),
        array(TEXT, additionalItems=False),
        ["a", "b"],
    ),
    (
        "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "#/items/1",
        array(TEXT, TEXT, additionalItems=WHOLE),
        array(TEXT, additionalItems=WHOLE),
        ["a", "b"],
    ),
    (
        "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "#/items/1",
        array(TEXT, additionalItems=WHOLE),
        array(TEXT, TEXT, additionalItems=WHOLE),
        ["a", 1],
    ),
    (
        "UNEVALUATED_ITEMS_REMOVED",
        "#/unevaluatedItems",
        new(prefixItems=[TEXT]),
        new(prefixItems=[TEXT], unevaluatedItems=False),
        ["a", 1],
    ),
    (
        "UNEVALUATED_ITEMS_NARROWED",
        "#/unevaluatedItems",
        new(prefixItems=[TEXT]),
        new(prefixItems=[TEXT], unevaluatedItems=TEXT),
        ["a", 1],
    ),
    # Combinations
    ("SUM_TYPE_NARROWED", "#/", {"anyOf": [TEXT, WHOLE]}, {"anyOf": [TEXT]}, 1),
    ("SUM_TYPE_NARROWED", "#/", {"type": ["string", "integer"]}, {"type": ["string"]}, 1),
    ("PRODUCT_TYPE_EXTENDED", "#/", {"allOf": [TEXT]}, {"allOf": [TEXT, {"maxLength": 1}]}, "xy"),
    ("COMBINED_TYPE_CHANGED", "#/", {"anyOf": [TEXT, WHOLE]}, {"allOf": [TEXT, {"maxLength": 1}]}, 1),
    # What fits both would be none of the oneOf's; these have nothing in common.
    ("COMBINED_TYPE_CHANGED", "#/", {"anyOf": [TEXT, WHOLE]}, {"oneOf": [TEXT, WHOLE]}, NO_VALUE),
    (
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
        "#/",
        {"anyOf": [TEXT, WHOLE]},
        {"anyOf": [TEXT, one("boolean")]},
        1,
    ),
    ("NOT_TYPE_EXTENDED", "#/not", {"not": WHOLE}, {"not": NUMBER}, 1.5),
]


@pytest.mark.parametrize(("kind", "path", "writer", "reader", "value"), INCOMPATIBLE)
def test_what_is_not_compatible_is_told_and_a_value_fails(
    kind: str, path: str, writer: Any, reader: Any, value: Any
) -> None:
    assert (kind, path) in found(reader, writer)
    if value is not NO_VALUE:
        assert validator(writer).is_valid(value)
        assert not validator(reader).is_valid(value)


def test_each_kind_that_there_is_has_a_case() -> None:
    assert {kind for kind, *_ in INCOMPATIBLE} == set(DESCRIPTIONS)


def test_a_difference_is_told_as_by_confluents_registry() -> None:
    [told] = differences(json.dumps(closed(a=WHOLE)), json.dumps(closed(a=TEXT)))
    assert str(told) == (
        '{errorType:"TYPE_CHANGED", description:"A type at path \'#/properties/a\' is different between the '
        "new schema and the old schema'}"
    )
    [told] = differences(json.dumps(closed()), json.dumps(closed(a=TEXT)), sides=Sides("old", "new"))
    assert str(told) == (
        '{errorType:"PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", description:"The old has a closed content '
        "model and is missing a property or item present at path '#/properties/a' in the new schema'}"
    )
    [told] = differences(json.dumps(array(items=TEXT)), json.dumps(one("array")))
    assert str(told) == '{errorType:"SCHEMA_ADDED", description:"\'}'


COMPATIBLE: list[tuple[Any, Any]] = [
    (TEXT, {}),
    (TEXT, True),
    (False, TEXT),
    (WHOLE, NUMBER),
    (one("string", maxLength=2), one("string", maxLength=3)),
    (one("string", pattern="a"), TEXT),
    (one("integer", multipleOf=4), one("integer", multipleOf=2)),
    (one("number", multipleOf=0.3), one("number", multipleOf=0.1)),
    (one("number", multipleOf=0.5), one("number", multipleOf=0.50)),
    ({"enum": ["a"]}, {"enum": ["b", "a"]}),
    ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b", "a"]}),
    ({"const": 1}, {"const": 1}),
    # Properties
    (closed(), closed(a=TEXT)),
    (open_object(a=TEXT), open_object()),
    (open_object(), open_object(a={})),
    (closed(a=False), closed()),
    (partly_open(TEXT), partly_open(TEXT, a=one("string"))),
    (partly_open(TEXT, a=TEXT), partly_open(TEXT)),
    (closed(), open_object()),
    (closed(), partly_open(TEXT)),
    (partly_open(TEXT), open_object()),
    ({**closed(a=TEXT), "required": ["a"]}, closed(a=TEXT)),
    (one("object", dependencies={"a": ["b", "c"]}), one("object", dependencies={"a": ["b"]})),
    (one("object", dependencies={"a": {"minProperties": 3}}), one("object")),
    (new(type="object", unevaluatedProperties=False), new(type="object")),
    (new(type="object", unevaluatedProperties=TEXT), new(type="object", properties={"a": TEXT})),
    # Items
    (array(TEXT, additionalItems=False), array(TEXT, TEXT, additionalItems=False)),
    (array(TEXT, TEXT), array(TEXT)),
    (array(TEXT, additionalItems=TEXT), array(TEXT, TEXT, additionalItems=TEXT)),
    (array(TEXT, TEXT, additionalItems=TEXT), array(TEXT, additionalItems=TEXT)),
    (array(TEXT, {"not": {}}, additionalItems=False), array(TEXT, {"not": {}}, additionalItems=False)),
    (array(TEXT), array(TEXT, {})),
    (array(items=TEXT), one("array")),
    (new(prefixItems=[TEXT], items=False), new(prefixItems=[TEXT, TEXT], items=False)),
    (new(prefixItems=[TEXT], items=TEXT), new(prefixItems=[TEXT])),
    (new(type="array", contains=TEXT, minContains=2), new(type="array", contains=TEXT)),
    # Combinations
    (TEXT, {"anyOf": [TEXT, WHOLE]}),
    (TEXT, {"oneOf": [WHOLE, TEXT]}),
    (TEXT, {"allOf": [TEXT]}),
    (TEXT, {"type": ["string", "null"]}),
    ({"anyOf": [TEXT]}, TEXT),
    ({"allOf": [TEXT, {"maxLength": 3}]}, {"type": "string"}),
    ({"type": ["string"]}, {"type": ["null", "string"]}),
    ({"anyOf": [TEXT, TEXT]}, {"anyOf": [TEXT]}),
    ({"oneOf": [TEXT, WHOLE]}, {"anyOf": [WHOLE, TEXT]}),
    ({"allOf": [TEXT, {"maxLength": 3}]}, {"allOf": [{"maxLength": 3}]}),
    ({"not": NUMBER}, {"not": WHOLE}),
    # Each has to get one of its own.
    ({"anyOf": [WHOLE, one("integer", minimum=1)]}, {"anyOf": [one("integer", minimum=0), NUMBER]}),
    # What is said of a schema is none of its values.
    ({**TEXT, "title": "a", "description": "b", "default": "c"}, {**TEXT, "$id": "http://x/y"}),
]


@pytest.mark.parametrize(("writer", "reader"), COMPATIBLE)
def test_what_is_compatible_is_not_told(writer: Any, reader: Any) -> None:
    assert found(reader, writer) == []


def test_a_default_makes_up_for_what_is_missing_though_no_validator_says_so() -> None:
    # Confluent's decision: who reads fills it in.
    reader = {**closed(a={**TEXT, "default": ""}), "required": ["a"]}
    assert found(reader, closed()) == []
    assert found(reader, closed(a=TEXT)) == []
    assert not validator(reader).is_valid({})


@pytest.mark.parametrize("address", list(DRAFTS))
@pytest.mark.parametrize(
    ("writer", "kind"),
    [
        (closed(), "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"),
        (open_object(), "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"),
        (closed(a=TEXT), "REQUIRED_ATTRIBUTE_ADDED"),
    ],
)
def test_a_default_beside_a_reference_counts_from_draft_2019_on(
    address: str, writer: dict[str, Any], kind: str
) -> None:
    """As in everit-json-schema, with which Confluent's registry reads the drafts before."""
    told = {"$schema": f"https://{address}"}
    reader = {
        **told,
        **writer,
        **open_object(a={"$ref": "#/definitions/text", "default": ""}),
        "required": ["a"],
        "definitions": {"text": TEXT},
    }
    counts = DRAFTS[address] >= 2019
    assert (kind in [each for each, _ in found(reader, {**told, **writer})]) is not counts
    # Where no reference stands beside it, it counts in all.
    beside = {**reader, **open_object(a={**TEXT, "default": ""})}
    assert kind not in [each for each, _ in found(beside, {**told, **writer})]


def test_lenient_content_models_are_what_they_tell_of() -> None:
    for writer, reader in (
        (open_object(), open_object(a=TEXT)),
        (open_object(), {**open_object(a={**TEXT, "default": ""}), "required": ["a"]}),
        (closed(a=TEXT), closed()),
        (open_object(), closed()),
        (open_object(), partly_open(TEXT)),
        (new(type="object"), new(type="object", unevaluatedProperties=False)),
        (new(type="object"), new(type="object", unevaluatedProperties=TEXT)),
    ):
        assert found(reader, writer)
        assert found(reader, writer, is_lenient=True) == []
    # Of a property that a model covers only its own difference is told.
    covered = partly_open(WHOLE, a=TEXT)
    assert found(covered, partly_open(WHOLE), is_lenient=True) == [("TYPE_CHANGED", "#/properties/a")]
    assert found({**open_object(a=TEXT), "required": ["a"]}, open_object(), is_lenient=True)


def test_a_pattern_makes_a_model_partly_open() -> None:
    patterned = {**closed(), "patternProperties": {"^s_": TEXT}}
    assert found({**closed(s_a=TEXT), "patternProperties": {"^s_": TEXT}}, patterned) == []
    assert found({**closed(s_a=WHOLE), "patternProperties": {"^s_": TEXT}}, patterned) == [
        ("TYPE_CHANGED", "#/properties/s_a"),
        ("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "#/properties/s_a"),
    ]
    assert found(patterned, {**closed(s_a=TEXT), "patternProperties": {"^s_": TEXT}}) == []
    assert found(patterned, {**closed(a=TEXT), "patternProperties": {"^s_": TEXT}}) == [
        ("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", "#/properties/a")
    ]


def test_two_forms_of_bytes_by_connect_are_the_same() -> None:
    reader, writer = {**TEXT, "connect.type": "bytes"}, {**NUMBER, "connect.type": "bytes"}
    assert found(reader, writer) == []
    assert found(TEXT, writer) == [("TYPE_CHANGED", "#/")]


def test_what_the_rules_do_not_look_at_is_no_difference() -> None:
    # As in Confluent's registry, though values may fail.
    for before, after in (
        ({"format": "date"}, {"format": "time"}),
        ({"contains": TEXT}, {"contains": WHOLE}),
        ({"propertyNames": {"maxLength": 9}}, {"propertyNames": {"maxLength": 1}}),
        ({"patternProperties": {"a": TEXT}}, {"patternProperties": {"a": WHOLE}}),
        ({"if": TEXT, "then": {"maxLength": 2}}, {"if": TEXT, "then": {"maxLength": 1}}),
        ({"maximum": 3}, {"maximum": 3, "type": "number"}),
    ):
        assert found(after, before) == []


# Drafts


def test_each_draft_is_read_by_its_own_keywords() -> None:
    four = {"$schema": "http://json-schema.org/draft-04/schema#"}
    assert found({**four, **one("number", maximum=3, exclusiveMaximum=True)}, {**four, **NUMBER}) == [
        ("MAXIMUM_ADDED", "#/maximum")
    ]
    assert found({**four, "const": 1}, {**four, "const": 2}) == []
    # Beside $ref older drafts see nothing, newer ones all of it.
    target = {"definitions": {"a": TEXT}, "$defs": {"a": TEXT}}
    assert found({**target, "$ref": "#/definitions/a", "maxLength": 1}, TEXT) == []
    assert found(new(**target, **{"$ref": "#/$defs/a"}, maxLength=1), TEXT) == [("TYPE_CHANGED", "#/")]
    # dependentRequired of the newer is dependencies of the older.
    assert found(new(type="object", dependentRequired={"a": ["b"]}), one("object")) == [
        ("DEPENDENCY_ARRAY_ADDED", "#/dependencies/a")
    ]
    assert found(new(type="object", dependencies={"a": ["b"]}), one("object")) == []
    assert found(new(type="array", items=False), one("array")) == [
        ("ADDITIONAL_ITEMS_REMOVED", "#/additionalItems")
    ]
    nineteen = {"$schema": "https://json-schema.org/draft/2019-09/schema"}
    assert found({**nineteen, **array(TEXT)}, {**nineteen, **array(WHOLE)}) == [("TYPE_CHANGED", "#/items/0")]


# References


def test_references_are_followed_by_name_id_and_anchor() -> None:
    references = {"colour.json": '{"definitions": {"Id": {"type": "string", "maxLength": 5}}}'}
    for reader in (
        closed(a={"$ref": "colour.json#/definitions/Id"}),
        {"$id": "http://x.example/y.json", **closed(a={"$ref": "colour.json#/definitions/Id"})},
        closed(a={"$ref": "./colour.json#/definitions/Id"}),
        # Registries let $defs stand for definitions.
        closed(a={"$ref": "colour.json#/$defs/Id"}),
    ):
        assert found(reader, closed(a=TEXT), reader_references=references) == [
            ("MAX_LENGTH_ADDED", "#/properties/a/maxLength")
        ]
        assert found(closed(a=TEXT), reader, writer_references=references) == []
    short = one("string", maxLength=5)
    inner = {"$id": "inner.json", **short, "$defs": {"x": {"$anchor": "here", **short}}}
    around = {"$id": "http://x.example/all.json", "$defs": {"i": inner, "x": {"$anchor": "here", **short}}}
    for reference in (
        "inner.json",
        "http://x.example/inner.json",
        "inner.json#here",
        "inner.json#/$defs/x",
        "#here",
        "all.json#here",
        "#/$defs/i/$defs/x",
    ):
        reader = new(**around, **closed(a={"$ref": reference}))
        assert found(reader, closed(a=TEXT)) == [("MAX_LENGTH_ADDED", "#/properties/a/maxLength")]


def test_references_may_lead_through_others() -> None:
    chain = {f"d{number}": {"$ref": f"#/definitions/d{number + 1}"} for number in range(5000)}
    schema = {"$ref": "#/definitions/d0", "definitions": {**chain, "d5000": TEXT}}
    assert found(WHOLE, schema) == [("TYPE_CHANGED", "#/")]
    circle = {"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/a"}}}
    assert found(circle, TEXT) == []
    meta = {"$ref": "http://json-schema.org/draft-07/schema#"}
    assert found(closed(a=meta), closed(a=meta)) == []
    assert found(closed(a=TEXT), closed(a=meta)) == [("TYPE_CHANGED", "#/properties/a")]


def tree(leaf: Any) -> dict[str, Any]:
    node = closed(value=leaf, left={"$ref": "#/definitions/node"}, right={"$ref": "#/definitions/node"})
    return {"$ref": "#/definitions/node", "definitions": {"node": node}}


def test_recursive_schemas_are_compared() -> None:
    assert found(tree(NUMBER), tree(WHOLE)) == []
    # Once for the tree itself, and once for each of its own places that it is in.
    assert ("TYPE_CHANGED", "#/properties/value") in found(tree(TEXT), tree(WHOLE))


@pytest.mark.parametrize(
    ("draft", "anchor", "reference"),
    [
        (
            "https://json-schema.org/draft/2020-12/schema",
            {"$dynamicAnchor": "node"},
            {"$dynamicRef": "#node"},
        ),
        ("https://json-schema.org/draft/2019-09/schema", {"$recursiveAnchor": True}, {"$recursiveRef": "#"}),
        ("https://json-schema.org/draft/2020-12/schema", {"$anchor": "node"}, {"$ref": "#node"}),
    ],
)
def test_references_to_what_is_around_them_are_followed(draft: str, anchor: Any, reference: Any) -> None:
    def nested(leaf: Any) -> dict[str, Any]:
        return {"$schema": draft, **anchor, **closed(leaf=leaf, children=array(items=reference))}

    assert found(nested(NUMBER), nested(WHOLE)) == []
    assert found(nested(TEXT), nested(WHOLE)) == [
        ("TYPE_CHANGED", "#/properties/leaf"),
        ("TYPE_CHANGED", "#/properties/children/items/properties/leaf"),
    ]


def test_what_was_taken_for_compatible_within_itself_is_compared_again() -> None:
    # The first of the two is held against the writer's first. It is not compatible, for its y, but on the way
    # what is in x was, as long as the first was taken to be. The second has the same in x.
    def ref(name: str) -> dict[str, str]:
        return {"$ref": f"#/definitions/{name}"}

    inner = {"inner": closed(back=ref("first"))}
    writer = {**ref("first"), "definitions": {"first": closed(x=ref("inner"), y=TEXT), **inner}}
    reader = {
        "anyOf": [ref("first"), ref("second")],
        "definitions": {
            "first": closed(x=ref("inner"), y=WHOLE),
            "second": closed(x=ref("inner"), y=TEXT),
            **inner,
        },
    }
    value = {"x": {"back": {"y": "text"}}}
    assert validator(writer).is_valid(value)
    assert not validator(reader).is_valid(value)
    assert found(reader, writer) == [("TYPE_CHANGED", "#/")]


# No schema


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "text"}, "#/type of the JSON Schema has the type 'text'"),
        ({"type": 5}, "#/type of the JSON Schema has the type 5"),
        (closed(a={"minLength": "x"}), '#/properties/a/minLength of the JSON Schema is "x", and not a whole'),
        (closed(a={"maxItems": 1.5}), "#/properties/a/maxItems"),
        ({"properties": []}, "#/properties of the JSON Schema is .*, and not an object"),
        ({"properties": {"a/b": 5}}, "#/properties/a~1b of the JSON Schema is no schema"),
        ({"required": True}, "#/required of the JSON Schema is true, and not an array"),
        ({"required": [1]}, "#/required of the JSON Schema is no list of names"),
        ({"anyOf": {}}, "#/anyOf"),
        ({"anyOf": [1]}, "#/anyOf/0 of the JSON Schema is no schema"),
        ({"items": 5}, "#/items of the JSON Schema is no schema"),
        ({"additionalProperties": "x"}, "#/additionalProperties of the JSON Schema is no schema"),
        ({"multipleOf": 0}, "#/multipleOf of the JSON Schema is 0"),
        ({"maximum": "5"}, "#/maximum of the JSON Schema is no number"),
        ({"maximum": True}, "#/maximum of the JSON Schema is no number"),
        ({"exclusiveMaximum": True}, "#/exclusiveMaximum of the JSON Schema is no number"),
        ({"dependencies": {"a": [5]}}, "#/dependencies/a of the JSON Schema is no list of names"),
        ({"enum": 5}, "#/enum"),
        ({"title": 5}, "#/title of the JSON Schema is 5, and not a string"),
        ({"if": 5}, "#/if"),
        (new(items=[TEXT]), "#/items of the JSON Schema is a list, which draft 2020-12 calls prefixItems"),
        (new(prefixItems=5), "#/prefixItems"),
        ({"$ref": "#/definitions/a"}, "# of the JSON Schema refers to '#/definitions/a', which is not there"),
        (
            closed(a={"$ref": "b.json"}),
            r"#/properties/a of the JSON Schema refers to 'b.json', which is none of",
        ),
        ({"$ref": 5}, "#/\\$ref"),
        ([], "a JSON Schema is an object, true or false"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema: Any, message: str) -> None:
    with pytest.raises(InvalidSchemaError, match=message):
        found(schema, {})


def test_a_broken_reference_is_told_with_its_name() -> None:
    with pytest.raises(InvalidSchemaError, match=r"^a\.json#/type of the JSON Schema has the type 'x'"):
        found({"$ref": "a.json"}, {}, reader_references={"a.json": '{"type": "x"}'})
    with pytest.raises(InvalidSchemaError, match="is not JSON"):
        found({"$ref": "a.json"}, {}, reader_references={"a.json": "{"})


# By chance, and by malice


@given(st.integers(0, 1 << 48))
def test_what_is_called_compatible_is_valid(seed: int) -> None:
    # Of what the rules look at. A value may be of two schemas of a oneOf, which has none of it then: the
    # rules take oneOf for a sum, as it is meant.
    maker = Maker(random.Random(seed), is_simple=True)
    writer = maker.schema()
    reader = maker.changed(writer)
    if seed % 2:
        reader = maker.changed(reader)
    if found(reader, writer):
        return
    written, read = validator(writer), validator(reader)
    for _ in range(10):
        value = maker.value(writer)
        if written.is_valid(value):
            assert read.is_valid(value), f"{reader} does not read {value} of {writer}"


@given(st.integers(0, 1 << 48))
def test_any_schema_is_compatible_with_itself(seed: int) -> None:
    schema = Maker(random.Random(seed)).schema()
    assert found(schema, schema) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"not":' * 100_000 + "{}" + "}" * 100_000,
        '{"not":' * 300 + "{}" + "}" * 300,
        json.dumps({"allOf": [{}]}).replace("{}", "[" * 50_000),
    ],
)
def test_a_schema_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError, match=r"deep|not JSON"):
        differences(text, "{}")


def test_chains_of_references_within_each_other_are_refused_when_too_deep() -> None:
    def chain(last: Any) -> dict[str, Any]:
        links = {f"d{n}": closed(a={"$ref": f"#/definitions/d{n + 1}"}) for n in range(3000)}
        return {"$ref": "#/definitions/d0", "definitions": {**links, "d3000": last}}

    with pytest.raises(InvalidSchemaError, match="too deep to be compared"):
        found(chain(TEXT), chain(WHOLE))


def test_what_would_take_for_ever_is_refused_soon() -> None:
    started = time.process_time()
    # Every part is held against every other one.
    many = {"anyOf": [one("string", maxLength=number) for number in range(600)]}
    with pytest.raises(InvalidSchemaError, match="more than 300000 comparisons"):
        found({"anyOf": [one("integer", maximum=number) for number in range(600)]}, many)

    # Two ways at each of sixty steps, to one difference.
    def doubled(last: Any) -> dict[str, Any]:
        steps = {
            f"d{n}": closed(a={"$ref": f"#/definitions/d{n + 1}"}, b={"$ref": f"#/definitions/d{n + 1}"})
            for n in range(60)
        }
        return {"$ref": "#/definitions/d0", "definitions": {**steps, "d60": last}}

    assert len(found(doubled(TEXT), doubled(WHOLE))) == 1000
    assert found(doubled(TEXT), doubled(TEXT)) == []
    assert time.process_time() - started < 30


def test_a_schema_of_many_parts_is_compared_in_good_time() -> None:
    wide = closed(**{f"p{number}": one("string", maxLength=number) for number in range(5000)})
    started = time.process_time()
    assert found(wide, wide) == []
    assert time.process_time() - started < 10
