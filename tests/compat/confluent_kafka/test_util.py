from __future__ import annotations

import asyncio
from enum import Enum
from types import SimpleNamespace
from typing import Any

import confluent_kafka._util as real_util
import pytest
from confluent_kafka import KafkaError as RealKafkaError
from confluent_kafka._util import librdkafka_string_parser as real_parser
from hypothesis import given
from hypothesis import strategies as st
from tests.compat.both import outcome_of, outcomes

import barnabas.compat.confluent_kafka._util as our_util
from barnabas.compat.confluent_kafka import KafkaError
from barnabas.compat.confluent_kafka._util import librdkafka_string_parser as our_parser
from barnabas.compat.confluent_kafka._util.asyncinit import asyncinit


class Color(Enum):
    RED = 1


NAMES = {"Color": Color, "item": SimpleNamespace(text="a", number=1, nothing=None)}
REAL = {**vars(real_util), **NAMES, "KafkaError": RealKafkaError}
OURS = {**vars(our_util), **NAMES, "KafkaError": KafkaError}


@pytest.mark.parametrize(
    "expression",
    [
        "ConversionUtil.convert_to_enum('red', Color)",
        "ConversionUtil.convert_to_enum('blue', Color)",
        "ConversionUtil.convert_to_enum(1, Color)",
        "ConversionUtil.convert_to_enum(2, Color)",
        "ConversionUtil.convert_to_enum(Color.RED, Color)",
        "ConversionUtil.convert_to_enum(1.5, Color)",
        "ConversionUtil.convert_to_enum(1, 5)",
        "ValidationUtil.check_not_none(item, 'nothing')",
        "ValidationUtil.check_multiple_not_none(item, ['text', 'nothing'])",
        "ValidationUtil.check_multiple_not_none(item, ['text', 'number'])",
        "ValidationUtil.check_is_string(item, 'number')",
        "ValidationUtil.check_multiple_is_string(item, ['text', 'nothing'])",
        "ValidationUtil.check_multiple_is_string(item, ['text', 'number'])",
        "ValidationUtil.check_kafka_errors([KafkaError(1)])",
        "ValidationUtil.check_kafka_errors([KafkaError(1), 1])",
        "ValidationUtil.check_kafka_errors(None)",
        "ValidationUtil.check_kafka_error(KafkaError(1))",
        "ValidationUtil.check_kafka_error(1)",
    ],
)
def test_checks_and_conversions_do_as_the_real_ones(expression: str) -> None:
    theirs, ours = outcomes(expression, REAL, OURS)
    assert ours == theirs


@given(st.text(alphabet="a=, \\tn0\t\n\xa0;", max_size=12), st.booleans())
def test_lists_in_a_string_are_split_as_librdkafka_does(raw: str, skip_empty: bool) -> None:
    assert our_parser.split(raw, ",", skip_empty) == real_parser.split(raw, ",", skip_empty)
    assert outcome_of(lambda: our_parser.parse_key_values(raw, ",", "here")) == outcome_of(
        lambda: real_parser.parse_key_values(raw, ",", "here")
    )


def test_nothing_cannot_be_split() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="raw must not be None"):
        our_parser.split(nothing, ",", True)


def test_an_instance_of_a_decorated_class_is_awaited() -> None:
    @asyncinit
    class Made:
        async def __init__(self, value: int) -> None:
            await asyncio.sleep(0)
            self.value = value

    async def make() -> Any:
        return await Made(5)

    assert asyncio.run(make()).value == 5
