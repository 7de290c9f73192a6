"""JSON Schemas as types of columns."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from barnabas.formats import Codec, SchemaError
from barnabas.formats import json as json_form
from barnabas.formats.json_schema import arrow_type

TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
NEW = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def of(schema: Any, **references: Any) -> pa.DataType:
    return arrow_type(json.dumps(schema), {name: json.dumps(each) for name, each in references.items()})


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def struct(**types: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field(name, each) for name, each in types.items()])


def a_list(item: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", item))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (TEXT, pa.string()),
        (WHOLE, pa.int64()),
        (NUMBER, pa.float64()),
        ({"type": "boolean"}, pa.bool_()),
        ({"type": "string", "format": "date"}, pa.date32()),
        ({"type": "string", "format": "date-time"}, pa.timestamp("us", "UTC")),
        ({"type": "string", "format": "uuid"}, pa.string()),
        ({"type": "string", "contentEncoding": "base64"}, pa.binary()),
        # Null, and several types
        ({"type": ["null", "integer"]}, pa.int64()),
        ({"type": ["integer", "number"]}, pa.float64()),
        ({"anyOf": [{"type": "null"}, TEXT]}, pa.string()),
        ({"oneOf": [WHOLE, {"type": "null"}, NUMBER]}, pa.float64()),
        ({"enum": ["a", "b", None]}, pa.string()),
        ({"type": "string", "enum": ["a"]}, pa.string()),
        ({"enum": [1, 2.5]}, pa.float64()),
        ({"const": True}, pa.bool_()),
        # Objects
        (an_object(a=TEXT, b=an_object(c=WHOLE)), struct(a=pa.string(), b=struct(c=pa.int64()))),
        ({"properties": {"a": TEXT, "never": False}}, struct(a=pa.string())),
        ({"type": "object", "additionalProperties": WHOLE}, pa.map_(pa.string(), pa.int64())),
        ({"type": "object", "patternProperties": {"^a": WHOLE}}, pa.map_(pa.string(), pa.int64())),
        ({**an_object(a=TEXT), "additionalProperties": WHOLE}, struct(a=pa.string())),
        ({**an_object(a=TEXT), "anyOf": [{"required": ["a"]}, {"minProperties": 1}]}, struct(a=pa.string())),
        (
            {"allOf": [an_object(a=TEXT, b=NUMBER), an_object(b=WHOLE, c=TEXT), {"required": ["a"]}]},
            struct(a=pa.string(), b=pa.int64(), c=pa.string()),
        ),
        # Arrays
        ({"type": "array", "items": TEXT}, a_list(pa.string())),
        ({"type": "array", "items": [WHOLE, NUMBER]}, a_list(pa.float64())),
        ({**NEW, "type": "array", "prefixItems": [TEXT], "items": TEXT}, a_list(pa.string())),
        # Connect's
        ({"type": "integer", "connect.type": "int16"}, pa.int16()),
        ({"type": "number", "connect.type": "float32"}, pa.float32()),
        ({"type": "string", "connect.type": "bytes"}, pa.binary()),
        (
            {
                "type": "number",
                "title": "org.apache.kafka.connect.data.Decimal",
                "connect.type": "bytes",
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "9"},
            },
            pa.decimal128(9, 2),
        ),
        # References
        ({"$ref": "#/definitions/a", "definitions": {"a": an_object(b=TEXT)}}, struct(b=pa.string())),
        (
            an_object(a={"$ref": "item.json"}, b={"$ref": "item.json"}),
            struct(a=struct(id=pa.int64()), b=struct(id=pa.int64())),
        ),
        ({**NEW, "$ref": "item.json", **an_object(note=TEXT)}, struct(id=pa.int64(), note=pa.string())),
    ],
)
def test_a_schema_has_a_type_that_json_can_be_read_with(schema: Any, expected: pa.DataType) -> None:
    found = of(schema, **{"item.json": an_object(id=WHOLE)})
    assert found == expected
    assert json_form(found).data_type == expected


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, "the value may be anything"),
        (True, "the value may be anything"),
        ({"type": "null"}, "the value is always null"),
        (an_object(a=an_object(b={})), r"^a\.b may be anything"),
        (an_object(a={"type": "array", "items": {"type": "null"}}), r"^a\[\] is always null"),
        (an_object(a={"type": ["string", "integer"]}), "^a is string or int64, and no column holds both"),
        (an_object(a={"oneOf": [an_object(x=TEXT), an_object(y=TEXT)]}), "^a is an object or an object"),
        ({"oneOf": [an_object(x=TEXT), TEXT]}, "the value is an object or string"),
        (an_object(a={"allOf": [TEXT, WHOLE]}), "^a is string and int64, which no value is"),
        (an_object(a={"type": "object"}), "^a is an object without properties"),
        (an_object(a={"type": "array"}), "^a is an array without items"),
        (an_object(a={"type": "text"}), "^a has the type 'text'"),
        (an_object(a={"type": "array", "items": {"$ref": "#"}}), r"^a\[\] contains itself"),
        ({"$ref": "#"}, "contains itself"),
        (an_object(a={"$ref": "b.json"}), "b.json"),
        ({"properties": []}, "the JSON Schema is broken"),
        ({"type": 5}, "the value has the type 5"),
        ({"anyOf": 5}, "the JSON Schema is broken"),
        ({"type": {}}, r"the value has the type \{\}"),
        ({"enum": 5}, "the JSON Schema is broken"),
    ],
)
def test_what_no_column_holds_is_told_with_its_path(schema: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        of(schema)


def test_a_schema_that_grows_with_each_reference_is_refused() -> None:
    links = {
        f"d{n}": an_object(a={"$ref": f"#/definitions/d{n + 1}"}, b={"$ref": f"#/definitions/d{n + 1}"})
        for n in range(40)
    }
    with pytest.raises(SchemaError, match="more than 20000 parts"):
        of({"$ref": "#/definitions/d0", "definitions": {**links, "d40": TEXT}})
    chain = {f"d{n}": an_object(a={"$ref": f"#/definitions/d{n + 1}"}) for n in range(500)}
    with pytest.raises(SchemaError, match="is deeper than 100 schemas"):
        of({"$ref": "#/definitions/d0", "definitions": {**chain, "d500": TEXT}})


def test_values_of_a_schema_are_read_and_written_as_its_column() -> None:
    schema = an_object(
        id=WHOLE,
        note={"type": ["string", "null"]},
        day={"type": "string", "format": "date"},
        tags={"type": "array", "items": TEXT},
        counts={"type": "object", "additionalProperties": WHOLE},
    )
    value = {"id": 1, "note": None, "day": "2024-02-29", "tags": ["a"], "counts": {"x": 2}}
    codec = Codec(json_form(of(schema)))
    column, errors = codec.decode(pa.array([json.dumps(value).encode(), b'{"id": 2}']))
    assert len(errors) == 0
    assert column[0].as_py()["tags"] == ["a"]
    assert column[1].as_py()["day"] is None
    again = json.loads(codec.encode(column)[0].as_py())
    assert again == {name: each for name, each in value.items() if each is not None}
