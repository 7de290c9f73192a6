from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.registry import (
    Association,
    Metadata,
    RegisteredSchema,
    RegistrySettings,
    Rule,
    RuleSet,
    Schema,
    SchemaReference,
)
from barnabas.registry.schemas import BadAnswerError, to_json

NAMES = st.text(min_size=1, max_size=5)
MAPPINGS = st.dictionaries(NAMES, NAMES, max_size=3)
METADATA = st.builds(
    Metadata,
    tags=st.dictionaries(NAMES, st.lists(NAMES, min_size=1, max_size=2).map(tuple), max_size=2),
    properties=MAPPINGS,
    sensitive=st.lists(NAMES, max_size=2).map(tuple),
)
RULES = st.builds(
    Rule,
    name=NAMES,
    kind=st.sampled_from(["CONDITION", "TRANSFORM", None]),
    mode=st.sampled_from(["READ", "WRITEREAD", None]),
    type=st.sampled_from(["CEL", None]),
    tags=st.none() | st.lists(NAMES, min_size=1, max_size=2),
    params=st.none() | st.dictionaries(NAMES, NAMES, min_size=1, max_size=2),
    on_failure=st.none() | NAMES,
    disabled=st.none() | st.booleans(),
)
RULE_LISTS = st.lists(RULES, max_size=2).map(tuple)
RULE_SETS = st.builds(
    RuleSet,
    migration_rules=RULE_LISTS,
    domain_rules=RULE_LISTS,
    encoding_rules=RULE_LISTS,
    enable_at=st.none() | NAMES,
)
SCHEMAS = st.builds(
    Schema,
    text=NAMES,
    type=st.sampled_from(["AVRO", "JSON", "PROTOBUF"]),
    references=st.lists(st.builds(SchemaReference, NAMES, NAMES, st.integers(1, 9)), max_size=2).map(tuple),
    metadata=st.none() | METADATA,
    rule_set=st.none() | RULE_SETS,
)
SETTINGS = st.builds(
    RegistrySettings,
    compatibility=st.sampled_from(["NONE", "FULL_TRANSITIVE", None]),
    alias=st.none() | NAMES,
    normalize=st.none() | st.booleans(),
    default_metadata=st.none() | METADATA,
    override_rule_set=st.none() | RULE_SETS,
)


@given(SCHEMAS)
def test_a_schema_is_the_same_after_json(schema: Schema) -> None:
    assert Schema.from_json(schema.to_json()) == schema
    assert hash(Schema.from_json(schema.to_json())) == hash(schema)
    assert pickle.loads(pickle.dumps(schema)) == schema


@given(SETTINGS)
def test_settings_are_the_same_after_json_but_for_what_is_empty(settings: RegistrySettings) -> None:
    assert RegistrySettings.from_json(to_json(settings)) == settings


def test_names_are_those_of_the_api() -> None:
    rule = Rule("check", "CONDITION", "WRITE", "CEL", expr="true", on_failure="DLQ", disabled=False)
    schema = Schema(
        "{}",
        "JSON",
        [SchemaReference("other.json", "other", 2)],
        Metadata({"**.ssn": ["PII"]}, {"owner": "me"}, ["owner"]),
        RuleSet(domain_rules=[rule]),
    )
    assert schema.to_json() == {
        "schema": "{}",
        "schemaType": "JSON",
        "references": [{"name": "other.json", "subject": "other", "version": 2}],
        "metadata": {"tags": {"**.ssn": ["PII"]}, "properties": {"owner": "me"}, "sensitive": ["owner"]},
        "ruleSet": {
            "domainRules": [
                {
                    "name": "check",
                    "kind": "CONDITION",
                    "mode": "WRITE",
                    "type": "CEL",
                    "expr": "true",
                    "onFailure": "DLQ",
                    "disabled": False,
                }
            ]
        },
    }
    assert to_json(Association("value", "orders-value", "STRONG", schema=Schema('"int"'))) == {
        "associationType": "value",
        "subject": "orders-value",
        "lifecycle": "STRONG",
        "schema": {"schema": '"int"', "schemaType": "AVRO"},
    }
    assert to_json(Association("key", is_frozen=False)) == {"associationType": "key", "frozen": False}


def test_what_an_answer_leaves_out_of_a_schema_is_avro_and_nothing_else() -> None:
    assert Schema.from_json({"schema": '"int"'}) == Schema('"int"')


@pytest.mark.parametrize(
    ("found", "is_frozen"),
    [
        ({"lifecycle": "STRONG"}, True),
        ({"lifecycle": "WEAK"}, False),
        ({}, False),
        ({"lifecycle": "STRONG", "frozen": False}, False),
        ({"lifecycle": "STRONG", "frozen": True}, True),
    ],
)
def test_an_association_is_frozen_as_its_lifecycle_says_unless_the_answer_does(
    found: dict[str, Any], is_frozen: bool
) -> None:
    assert Association.from_json({"associationType": "key", **found}).is_frozen is is_frozen


def test_a_compatibility_that_was_asked_for_has_another_name() -> None:
    assert RegistrySettings.from_json({"compatibilityLevel": "FULL"}) == RegistrySettings("FULL")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([], "an object was to be expected, not []"),
        ({"version": 1, "id": 1, "schema": "{}"}, "subject is missing"),
        ({"subject": "s", "version": "1", "id": 1, "schema": "{}"}, "version was to be a whole number"),
        ({"subject": "s", "version": True, "id": 1, "schema": "{}"}, "version was to be a whole number"),
        ({"subject": "s", "version": 1, "id": 1, "schema": {}}, "schema was to be a text, not {}"),
        (
            {"subject": "s", "version": 1, "id": 1, "schema": "", "references": {}},
            "references was to be a list",
        ),
    ],
)
def test_an_answer_of_another_form_is_refused_by_the_name_of_its_field(found: Any, reason: str) -> None:
    with pytest.raises(BadAnswerError, match=reason.replace("[", r"\[").replace("{", r"\{")):
        RegisteredSchema.from_json(found)
