"""Conditions in schemas, beside the original's."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import serde as original_serde
from confluent_kafka.schema_registry.confluent.type import decimal_pb2
from confluent_kafka.schema_registry.rules.cel.cel_validator import CelValidator as OriginalValidator
from google.protobuf import struct_pb2

from barnabas.registry.rules import RuleError
from barnabas.registry.rules.cel import CelValidator
from barnabas.registry.rules.validation import ValidationRule

FIELDS = struct_pb2.Struct.DESCRIPTOR.fields_by_name["fields"]


@pytest.mark.parametrize(
    ("expression", "schema", "value"),
    [
        ("this > 5", None, 6),
        ("this > 5", None, 5),
        ("this.a == 'x' ? '' : 'a is not x'", None, {"a": "y"}),
        ("this == decimal('1.50')", None, Decimal("1.5")),
        ("string(this)", None, decimal_pb2.Decimal(value=b"\x0f", scale=1)),
        (
            "this.fields['a'].string_value == 'x'",
            None,
            struct_pb2.Struct(fields={"a": {"string_value": "x"}}),
        ),
        ("this.size() == 1", FIELDS, struct_pb2.Struct(fields={"a": {"string_value": "x"}}).fields),
        ("now > timestamp('2020-01-01T00:00:00Z')", None, 1),
        ("this + 1", None, 1),
        ("this +", None, 1),
        ("this.nothing", None, 1),
        (None, None, 1),
        ("true", None, None),
    ],
)
def test_a_condition_gives_what_it_gives_in_the_original(expression: Any, schema: Any, value: Any) -> None:
    def outcome(validator: Any, rule: Any, error: type[Exception]) -> Any:
        try:
            return validator.execute(rule, schema, value)
        except error as raised:
            return "failed", str(raised)

    words = ("check", "what it is for", expression)
    expected = outcome(OriginalValidator(), original_serde.ValidationRule(*words), original_serde.RuleError)
    assert outcome(CelValidator(), ValidationRule(*words), RuleError) == expected
