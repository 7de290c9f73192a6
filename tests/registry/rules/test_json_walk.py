"""The walk of JSON values, beside the original's."""

from __future__ import annotations

import copy
import json
from typing import Any

import confluent_kafka.schema_registry as original
import pytest
import referencing
from confluent_kafka.schema_registry import serde as original_serde
from confluent_kafka.schema_registry.common import json_schema as original_json
from hypothesis import given
from hypothesis import strategies as st

from barnabas.errors import SerializationError
from barnabas.formats.errors import SchemaError
from barnabas.registry import Metadata, Rule, RuleSet, Schema
from barnabas.registry import rules as ours
from barnabas.registry.rules.engine import RuleEngine
from barnabas.registry.rules.json_walk import JsonWalk
from barnabas.registry.rules.validation import ValidationRule, ValidationRuleExecutor

PLACE = {
    "$id": "https://example.com/place.json",
    "type": "object",
    "confluent:rules": [{"name": "place", "expr": "fails"}],
    "properties": {"street": {"type": "string", "confluent:tags": ["PII"]}, "zip": {"$ref": "#/$defs/zip"}},
    "$defs": {"zip": {"type": "string", "minLength": 2, "confluent:tags": ["ZIP"]}},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "confluent:rules": [{"name": "whole", "expr": "this.id > 0", "doc": "ids are positive"}],
    "properties": {
        "id": {"type": "integer", "confluent:rules": [{"name": "small", "expr": "this < 10"}]},
        "name": {"type": "string", "confluent:tags": ["PII", "NAME"]},
        "note": {"type": ["null", "string", "number"], "confluent:tags": ["PII"]},
        "kind": {"enum": ["x", "y"], "confluent:tags": ["PII"]},
        "words": {"type": "array", "items": {"type": "string"}, "confluent:tags": ["PII"]},
        "more": {"type": "object"},
        "place": {"$ref": "place.json"},
        "places": {"type": "array", "items": {"$ref": "place.json"}},
        "either": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"a": {"type": "string", "confluent:tags": ["PII"]}},
                    "required": ["a"],
                },
                {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
                {"type": "string"},
                {"$ref": "#/$defs/number"},
            ],
            "confluent:tags": ["PII"],
        },
        "any": {"anyOf": [{"type": "string"}, {"maxLength": 2, "type": "string"}], "confluent:tags": ["PII"]},
        "all": {
            "allOf": [
                {"properties": {"c": {"type": "string", "confluent:tags": ["PII"]}}},
                {"type": "object"},
            ],
            "properties": {"d": {"type": "string", "confluent:tags": ["PII"]}},
        },
        "anything": True,
        "yes": {"type": "boolean", "confluent:tags": ["PII"]},
    },
    "$defs": {"number": {"type": "number"}},
}
TEXT = st.text("xyz", max_size=3)
PLACES = st.fixed_dictionaries({}, optional={"street": TEXT, "zip": TEXT})
MESSAGES = st.fixed_dictionaries(
    {"id": st.integers(-1, 20)},
    optional={
        "name": TEXT,
        "note": st.none() | TEXT | st.integers(0, 3) | st.floats(0, 1),
        "kind": st.sampled_from("xyz"),
        "words": st.lists(TEXT, max_size=2),
        "more": st.dictionaries(TEXT, TEXT, max_size=1),
        "place": PLACES,
        "places": st.lists(PLACES, max_size=2),
        "either": st.fixed_dictionaries({"a": TEXT})
        | st.fixed_dictionaries({"b": TEXT})
        | TEXT
        | st.integers(0, 3),
        "any": TEXT,
        "all": st.fixed_dictionaries({}, optional={"c": TEXT, "d": TEXT}),
        "anything": TEXT,
        "yes": st.booleans(),
    },
)
RULES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["TRANSFORM", "CONDITION"]),
        "tags": st.sampled_from([None, ["PII"], ["NAME", "ZIP"], ["META"]]),
    }
)
METADATA_TAGS = {"$.*.street": ["META"], "**.id": ["META", "PII"]}
REGISTRY: Any = referencing.Registry().with_resource(
    "place.json", referencing.Resource.from_contents(PLACE, referencing.jsonschema.DRAFT7)
)
ROOT: Any = referencing.Resource.from_contents(SCHEMA, referencing.jsonschema.DRAFT7)
RESOLVER = REGISTRY.resolver_with_root(ROOT)


def change(seen: list[Any], is_condition: bool) -> Any:
    def transform(ctx: Any, field: Any, value: Any) -> Any:
        seen.append((field.full_name, field.name, str(field.field_type.value), sorted(field.tags), value))
        if is_condition:
            return value != "x"
        return f"<{value}>" if isinstance(value, str) else value

    return transform


def walked(walk: JsonWalk, rule: Rule, message: Any, seen: list[Any]) -> Any:
    schema, mode = Schema("{}", metadata=Metadata(tags=METADATA_TAGS)), ours.RuleMode.WRITE
    context = ours.RuleContext(None, None, None, schema, "s", mode, rule, 0, [rule], None, walk.transform)
    return walk.transform(context, change(seen, rule.kind == "CONDITION"), message)


def original_walked(rule: Any, message: Any, seen: list[Any]) -> Any:
    metadata = original.Metadata(original.MetadataTags(METADATA_TAGS), None, None)
    mode, none = original.RuleMode.WRITE, None
    context = original_serde.RuleContext(
        None,
        none,
        None,
        original.Schema("{}", metadata=metadata),
        "s",
        mode,
        rule,
        0,
        [rule],
        None,
        None,  # type: ignore[arg-type]
    )
    transform = change(seen, rule.kind == "CONDITION")
    return original_json.transform(context, SCHEMA, REGISTRY, RESOLVER, "$", message, transform)


def outcome(call: Any) -> Any:
    try:
        return call()
    except (ours.RuleConditionError, original_serde.RuleConditionError) as error:
        return type(error).__name__, str(error)


def walk() -> JsonWalk:
    return JsonWalk(json.dumps(SCHEMA), {"place.json": json.dumps(PLACE)})


@given(MESSAGES, RULES)
def test_messages_are_walked_as_the_original_walks_them(
    message: dict[str, Any], words: dict[str, Any]
) -> None:
    rule = Rule("r", mode="WRITE", type="X", **words)
    kind, mode = original.RuleKind(words["kind"]), original.RuleMode.WRITE
    theirs = original.Rule("r", None, kind, mode, "X", words["tags"], None, None, None, None, None)
    kept = copy.deepcopy(message)
    expected_seen: list[Any] = []
    seen: list[Any] = []
    expected = outcome(lambda: original_walked(theirs, copy.deepcopy(message), expected_seen))
    assert outcome(lambda: walked(walk(), rule, message, seen)) == expected
    assert seen == expected_seen
    # The original changes the caller's message.
    assert message == kept


class Executor(ValidationRuleExecutor):
    def execute(self, rule: ValidationRule, schema: Any, message: Any) -> Any:
        if rule.expr == "this.id > 0":
            return message["id"] > 0
        if rule.expr == "this < 10":
            return "" if message < 10 else f"{message} is too much"
        raise ours.RuleError("cannot be evaluated")


class OriginalExecutor(original_serde.ValidationRuleExecutor):
    def execute(self, rule: Any, schema: Any, message: Any) -> Any:
        try:
            return Executor().execute(rule, schema, message)
        except ours.RuleError as error:
            raise original_serde.RuleError(str(error)) from None


@given(MESSAGES, st.booleans())
def test_conditions_in_the_schema_are_checked_as_the_original_does(
    message: dict[str, Any], stops_at_first: bool
) -> None:
    expected = original_json.validate_message(
        OriginalExecutor(), SCHEMA, REGISTRY, RESOLVER, message, stops_at_first
    )
    found = walk().violations(Executor(), message, stops_at_first=stops_at_first)
    assert list(map(str, found)) == list(map(str, expected))


RULE = Rule("r", kind="TRANSFORM", mode="WRITE", type="X", tags=["PII"])
TAGGED = {"type": "string", "confluent:tags": ["PII"]}


@pytest.mark.parametrize(
    ("keywords", "value", "expected"),
    [
        (
            {"items": [{"properties": {"a": TAGGED}}, {"type": "object"}]},
            [{"a": "x"}, {"a": "y"}, 5],
            [{"a": "<x>"}, {"a": "y"}, 5],
        ),
        (
            {"prefixItems": [{"properties": {"a": TAGGED}}], "items": {"properties": {"b": TAGGED}}},
            [{"a": "x", "b": "x"}, {"a": "y", "b": "y"}],
            [{"a": "<x>", "b": "x"}, {"a": "y", "b": "<y>"}],
        ),
        ({"items": True}, [1], [1]),
    ],
)  # fmt: skip
def test_the_places_of_a_list_have_schemas_of_their_own(keywords: Any, value: Any, expected: Any) -> None:
    """Which the original cannot walk."""
    schema = {"properties": {"list": keywords}}
    assert walked(JsonWalk(json.dumps(schema)), RULE, {"list": value}, []) == {"list": expected}


def test_a_type_that_names_itself_is_walked_to_its_end() -> None:
    schema = {
        "properties": {"v": TAGGED, "next": {"oneOf": [{"type": "null"}, {"$ref": "#"}]}},
        "type": "object",
    }
    message = {"v": "a", "next": {"v": "b", "next": None}}
    expected = {"v": "<a>", "next": {"v": "<b>", "next": None}}
    assert walked(JsonWalk(json.dumps(schema)), RULE, message, []) == expected


def test_a_schema_that_is_nothing_but_itself_is_one_error() -> None:
    walk = JsonWalk('{"properties": {"a": {"$ref": "#/properties/a"}}}')

    class Executor(ours.FieldRuleExecutor):
        def type(self) -> str:
            return "X"

        def new_transform(self, ctx: ours.RuleContext) -> ours.FieldTransform:
            return lambda ctx, field, value: value

    engine = RuleEngine(ours.RuleRegistry())
    engine.registry.register_executor(Executor())
    schema = Schema("{}", rule_set=RuleSet(domain_rules=[RULE]))
    with pytest.raises(
        SerializationError, match=r"rule 'r' \(X, WRITE\) of subject 's' failed at the field '\$\.a': max"
    ):
        engine.run(None, "s", ours.RuleMode.WRITE, None, schema, {"a": 1}, field_transformer=walk.transform)


def test_a_reference_that_leads_nowhere_is_said() -> None:
    with pytest.raises(SchemaError, match=r"refers to 'nowhere\.json'"):
        walked(JsonWalk('{"properties": {"a": {"$ref": "nowhere.json"}}}'), RULE, {"a": 1}, [])
    with pytest.raises(SchemaError, match="not JSON"):
        JsonWalk("{")


def test_a_schema_of_an_old_draft_is_walked_by_its_rules() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "id": "https://example.com/root.json",
        "properties": {"a": {"oneOf": [{"$ref": "#/definitions/small"}, {"$ref": "#/definitions/large"}]}},
        "definitions": {
            "small": {"maximum": 5, "exclusiveMaximum": True, "type": "integer"},
            "large": {"properties": {"b": TAGGED}, "type": "object"},
        },
    }
    assert walked(JsonWalk(json.dumps(schema)), RULE, {"a": {"b": "x"}}, []) == {"a": {"b": "<x>"}}
