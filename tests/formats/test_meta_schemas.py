"""The meta-schemas of JSON Schema, which schemas may refer to without a reference of the registry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.errors import SerializationError
from barnabas.formats.json_schema_documents import DRAFTS, Documents
from barnabas.formats.json_values import JsonValues
from barnabas.formats.meta_schemas import FILES, meta_schema

PLACES = sorted(path.relative_to(FILES).with_suffix("").as_posix() for path in FILES.rglob("*.json"))


@pytest.mark.parametrize("place", PLACES)
def test_each_is_itself_and_all_that_it_refers_to_is_there(place: str) -> None:
    for scheme in ("http", "https"):
        address = f"{scheme}://json-schema.org/{place}"
        documents = Documents(json.dumps({"$schema": address, "$ref": address}))
        found = documents.resolve(address, documents.root)
        assert (found.schema.get("$id") or found.schema["id"]).partition("://")[2].strip("#") == (
            f"json-schema.org/{place}"
        )
        waiting = [found]
        while waiting:
            each = waiting.pop()
            if isinstance(each.schema, dict):
                for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                    if isinstance(each.schema.get(keyword), str):
                        documents.resolve(each.schema[keyword], each)
                waiting += [documents.child(each, name) for name in each.schema]
            elif isinstance(each.schema, list):
                waiting += [documents.child(each, str(number)) for number in range(len(each.schema))]


def test_all_drafts_that_are_known_have_one() -> None:
    assert {name.partition("/")[2] for name in DRAFTS} - {"schema"} <= set(PLACES)
    assert meta_schema("https://json-schema.org/draft-03/schema") is None
    assert meta_schema("json-schema.org/draft-04/schema") is None


@pytest.mark.parametrize(
    ("reference", "good", "bad"),
    [
        ("http://json-schema.org/draft-04/schema#/properties/title", "a", 1),
        ("http://json-schema.org/draft-06/schema#", {"type": "string"}, {"type": "text"}),
        ("http://json-schema.org/draft-07/schema", {"minLength": 1}, {"minLength": -1}),
        ("https://json-schema.org/draft/2019-09/meta/validation", {"maxItems": 1}, {"maxItems": "1"}),
        ("https://json-schema.org/draft/2020-12/meta/core", {"$id": "a"}, {"$id": 1}),
        ("https://json-schema.org/draft/2020-12/schema", {"$defs": {"a": True}}, {"$defs": {"a": 1}}),
    ],
)
def test_values_are_held_against_them(reference: str, good: Any, bad: Any) -> None:
    values = JsonValues(json.dumps({"properties": {"x": {"$ref": reference}}}))
    values.decode(json.dumps({"x": good}).encode())
    with pytest.raises(SerializationError, match=r"^x"):
        values.decode(json.dumps({"x": bad}).encode())


def test_a_document_that_is_given_by_the_same_name_comes_first() -> None:
    address = "http://json-schema.org/draft-04/schema"
    documents = Documents(json.dumps({"$ref": address}), {address: '{"type": "null"}'})
    assert documents.resolve(address, documents.root).schema == {"type": "null"}
