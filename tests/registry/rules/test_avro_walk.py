"""The walk of Avro values, beside the original's."""

from __future__ import annotations

import copy
import datetime
import json
from decimal import Decimal
from typing import Any

import confluent_kafka.schema_registry as original
import pytest
from confluent_kafka.schema_registry import serde as original_serde
from confluent_kafka.schema_registry.common import avro as original_avro
from fastavro.schema import expand_schema
from hypothesis import given
from hypothesis import strategies as st

from barnabas.formats.errors import SchemaError
from barnabas.registry import Metadata, Rule, Schema
from barnabas.registry import rules as ours
from barnabas.registry.rules.avro_walk import AvroWalk
from barnabas.registry.rules.validation import ValidationRule, ValidationRuleExecutor

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "confluent:rules": [{"name": "whole", "expr": "this.id > 0", "doc": "ids are positive"}],
    "fields": [
        {"name": "id", "type": "long", "confluent:rules": [{"name": "small", "expr": "this < 10"}]},
        {"name": "name", "type": "string", "confluent:tags": ["PII", "NAME"]},
        {"name": "note", "type": ["null", "string"], "default": None, "confluent:tags": ["PII"]},
        {"name": "raw", "type": {"type": "bytes"}, "confluent:tags": ["PII"]},
        {"name": "sum", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "words", "type": {"type": "array", "items": "string"}, "confluent:tags": ["PII"]},
        {"name": "more", "type": {"type": "map", "values": ["null", "string", "double"]}},
        {
            "name": "place",
            "type": {
                "type": "record",
                "name": "Place",
                "fields": [
                    {"name": "street", "type": "string", "confluent:tags": ["PII"]},
                    {
                        "name": "tags",
                        "type": {"type": "array", "items": "int"},
                        "confluent:rules": [{"expr": "x"}],
                    },
                ],
            },
        },
        {
            "name": "either",
            "type": [
                {
                    "type": "record",
                    "name": "One",
                    "namespace": "other",
                    "fields": [{"name": "a", "type": "string", "confluent:tags": ["PII"]}],
                },
                {
                    "type": "record",
                    "name": "Two",
                    "fields": [{"name": "a", "type": "string"}],
                },
                "string",
            ],
        },
    ],
}
TEXT = st.text(max_size=4)
PLACES = st.fixed_dictionaries({"street": TEXT, "tags": st.lists(st.integers(0, 9), max_size=2)})
AS = st.fixed_dictionaries({"a": TEXT})
MESSAGES = st.fixed_dictionaries(
    {
        "id": st.integers(-1, 20),
        "name": TEXT,
        "raw": st.binary(max_size=3),
        "sum": st.just(Decimal("1.25")),
        "day": st.none() | st.just(datetime.date(2026, 1, 2)),
        "kind": st.sampled_from("AB"),
        "words": st.lists(TEXT, max_size=2),
        "more": st.dictionaries(TEXT, st.none() | TEXT | st.floats(allow_nan=False), max_size=2),
        "place": PLACES,
        "either": AS
        | TEXT
        | st.tuples(st.sampled_from(["other.One", "shop.Two", "string"]), AS | TEXT)
        | AS.map(lambda each: {"-type": "shop.Two", **each}),
    },
    optional={"note": st.none() | TEXT},
)
RULES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["TRANSFORM", "CONDITION"]),
        "tags": st.sampled_from([None, ["PII"], ["NAME", "OTHER"], ["META"]]),
    }
)
METADATA_TAGS = {"shop.*.street": ["META"], "**.id": ["META", "PII"]}


def change(seen: list[Any], is_condition: bool) -> Any:
    def transform(ctx: Any, field: Any, value: Any) -> Any:
        seen.append((field.full_name, field.name, str(field.field_type.value), sorted(field.tags), value))
        if is_condition:
            return value != "x"
        return f"<{value}>" if isinstance(value, str) else value

    return transform


def walked(walk: AvroWalk, rule: Rule, message: Any, seen: list[Any]) -> Any:
    schema = Schema("{}", metadata=Metadata(tags=METADATA_TAGS))
    mode = ours.RuleMode.WRITE
    context = ours.RuleContext(
        None, None, None, schema, "s", mode, rule, 0, [rule], walk.inline_tags, walk.transform
    )
    return walk.transform(context, change(seen, rule.kind == "CONDITION"), message)


def original_walked(schema: Any, rule: Any, message: Any, seen: list[Any]) -> Any:
    parsed = original_avro.parse_schema_with_repo(json.dumps(schema), {})
    expanded = expand_schema(parsed)
    target = original.Schema(
        "{}", metadata=original.Metadata(original.MetadataTags(METADATA_TAGS), None, None)
    )
    context = original_serde.RuleContext(
        None,
        None,  # type: ignore[arg-type]
        None,
        target,
        "s",
        original.RuleMode.WRITE,
        rule,
        0,
        [rule],
        original_avro.get_inline_tags(parsed),
        None,
    )
    return original_avro.transform(context, expanded, message, change(seen, rule.kind == "CONDITION"))


def outcome(call: Any) -> Any:
    try:
        return call()
    except (ours.RuleConditionError, original_serde.RuleConditionError) as error:
        return type(error).__name__, str(error)


@given(MESSAGES, RULES)
def test_messages_are_walked_as_the_original_walks_them(
    message: dict[str, Any], words: dict[str, Any]
) -> None:
    rule = Rule("r", mode="WRITE", type="X", **words)
    theirs = original.Rule(
        "r", None, original.RuleKind(words["kind"]), original.RuleMode.WRITE, "X", words["tags"], None, None,
        None, None, None,
    )  # fmt: skip
    kept = copy.deepcopy(message)
    expected_seen: list[Any] = []
    seen: list[Any] = []
    expected = outcome(lambda: original_walked(SCHEMA, theirs, copy.deepcopy(message), expected_seen))
    assert outcome(lambda: walked(AvroWalk(json.dumps(SCHEMA)), rule, message, seen)) == expected
    assert seen == expected_seen
    # The original changes the caller's message.
    assert message == kept


def test_a_type_that_names_itself_is_walked_to_its_end() -> None:
    schema = {
        "type": "record",
        "name": "Node",
        "fields": [
            {"name": "v", "type": "string", "confluent:tags": ["PII"]},
            {"name": "next", "type": ["null", "Node"]},
        ],
    }
    rule = Rule("r", kind="TRANSFORM", mode="WRITE", type="X", tags=["PII"])
    message = {"v": "a", "next": {"v": "b", "next": None}}
    walk = AvroWalk(json.dumps(schema))
    assert walked(walk, rule, message, []) == {"v": "<a>", "next": {"v": "<b>", "next": None}}


def test_a_type_of_another_schema_is_walked() -> None:
    place = {"type": "record", "name": "Place", "namespace": "x", "fields": [
        {"name": "street", "type": "string", "confluent:tags": ["PII"]}]}  # fmt: skip
    schema = {"type": "record", "name": "Order", "fields": [{"name": "at", "type": ["null", "x.Place"]}]}
    rule = Rule("r", kind="TRANSFORM", mode="WRITE", type="X", tags=["PII"])
    walk = AvroWalk(json.dumps(schema), [json.dumps(place)])
    assert walked(walk, rule, {"at": {"street": "s"}}, []) == {"at": {"street": "<s>"}}


@pytest.mark.parametrize("text", ["{", '{"type": "record"}', '"Unknown"', '{"type": "array"}', "[1]", "7"])
def test_a_schema_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="the Avro schema is broken"):
        AvroWalk(text)


@pytest.mark.parametrize("text", ['"string"', "string", '{"type": "string"}'])
def test_a_schema_without_fields_has_nothing_to_walk(text: str) -> None:
    assert walked(AvroWalk(text), Rule("r", kind="TRANSFORM"), "x", []) == "x"


class Executor(ValidationRuleExecutor):
    """Says of some values that they are wrong, in each way that there is."""

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
    parsed = expand_schema(original_avro.parse_schema_with_repo(json.dumps(SCHEMA), {}))
    expected = original_avro.validate_message(OriginalExecutor(), parsed, message, stops_at_first)
    found = AvroWalk(json.dumps(SCHEMA)).violations(Executor(), message, stops_at_first=stops_at_first)
    assert list(map(str, found)) == list(map(str, expected))


def test_a_verdict_that_is_none_is_an_error() -> None:
    from barnabas.errors import SerializationError

    class Odd(ValidationRuleExecutor):
        def execute(self, rule: ValidationRule, schema: Any, message: Any) -> Any:
            return 5

    with pytest.raises(
        SerializationError, match="Validation rule 'whole' resolved to an unexpected type: int"
    ):
        AvroWalk(json.dumps(SCHEMA)).violations(Odd(), {"id": 5})
