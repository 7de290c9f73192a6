"""JSON Schemas as texts that a registry keeps."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.json_schema_by_chance import Maker

from barnabas.registry.compatibility.json_schema import differences
from barnabas.registry.compatibility.json_schema_text import canonical, normalized
from barnabas.registry.errors import InvalidSchemaError


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [
        ('{ "type" : "object" ,\n"title":"ü" }', '{"type":"object","title":"ü"}'),
        ('{"b": 1, "a": {"d": [1, 2], "c": null}}', '{"b":1,"a":{"d":[1,2],"c":null}}'),
        # Numbers keep their digits, as Java's BigDecimal writes them.
        (
            '{"maximum": 1.50, "minimum": 1e5, "default": 0.0000001}',
            '{"maximum":1.50,"minimum":1E+5,"default":1E-7}',
        ),
        ('{"default": 123456789012345678901234567890.5}', '{"default":123456789012345678901234567890.5}'),
        ('{"a": 1, "b": 2, "a": 3}', '{"a":3,"b":2}'),
        (" true ", "true"),
        ('{"title": "\\u00fc\\n\\""}', '{"title":"ü\\n\\""}'),
    ],
)
def test_a_schema_is_kept_without_spaces_in_its_own_order(given_text: str, kept: str) -> None:
    assert canonical(given_text, {}) == kept


def test_names_are_in_order_where_that_is_asked_for() -> None:
    text = '{"type":"object","properties":{"b":{"type":"string","minLength":1},"a":{}},"required":["b","a"]}'
    assert normalized(text, {}) == (
        '{"properties":{"a":{},"b":{"minLength":1,"type":"string"}},"required":["b","a"],"type":"object"}'
    )
    # Java's order: the two halves of the first come before the second.
    assert normalized('{"\ue000": 1, "\U0001f600": 2}', {}) == '{"\U0001f600":2,"\ue000":1}'


@given(st.integers(0, 1 << 48))
def test_what_is_kept_means_the_same(seed: int) -> None:
    schema = Maker(random.Random(seed)).schema()
    text = json.dumps(schema)
    for kept in (canonical(text, {}), normalized(text, {})):
        assert json.loads(kept) == schema
        assert differences(kept, text) == differences(text, kept) == []
        assert normalized(kept, {}) == normalized(text, {})
        assert canonical(kept, {}) == kept


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"type": "x"}', "has the type 'x'"),
        ('{"$ref": "a.json"}', "refers to 'a.json', which is none of its references"),
        ('{"$ref": "#/definitions/a"}', "is not there"),
        ('{"properties": {"a": {"pattern": "("}}}', r"the pattern '\(' of the JSON Schema is broken"),
        ('{"patternProperties": {"(": {}}}', r"the pattern '\('"),
        ('{"items": [{"not": {"pattern": "["}}]}', r"the pattern '\['"),
        ('{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"a": 5}}', "is no schema"),
    ],
)
def test_what_is_no_schema_is_not_kept(text: str, message: str) -> None:
    for kept in (canonical, normalized):
        with pytest.raises(InvalidSchemaError, match=message):
            kept(text, {})


@pytest.mark.parametrize("pattern", [r"^\p{L}+$", "(?i)abc", "(?=a)b", r"\d{3}-\w+", "a++"])
def test_patterns_of_all_who_may_read_them_are_kept(pattern: str) -> None:
    assert canonical(json.dumps({"pattern": pattern}), {})


def test_references_are_looked_up_and_not_kept() -> None:
    references = {"a.json": '{"type": "string"}'}
    assert canonical('{ "$ref": "a.json" }', references) == '{"$ref":"a.json"}'
    with pytest.raises(InvalidSchemaError, match=r"a\.json#/type"):
        canonical('{"$ref": "a.json"}', {"a.json": '{"type": "x"}'})
