from __future__ import annotations

import datetime
import enum
import json
import struct
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas import serializers

MANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        ("text", "é", b"\xc3\xa9"),
        ("int32", -2, b"\xff\xff\xff\xfe"),
        ("int64", 1, b"\0\0\0\0\0\0\0\1"),
        ("float64", 1.5, b"\x3f\xf8\0\0\0\0\0\0"),
        ("uuid", uuid.UUID(int=1), b"00000000-0000-0000-0000-000000000001"),
        ("json", {"a": [1, "é"]}, b'{"a":[1,"\xc3\xa9"]}'),
    ],
)
def test_the_bytes_are_those_of_javas_serializers(name: str, value: Any, data: bytes) -> None:
    assert getattr(serializers, f"to_{name}")(value) == data
    assert getattr(serializers, f"from_{name}")(data) == value


@given(value=MANY)
def test_json_comes_back_as_it_was(value: Any) -> None:
    assert serializers.from_json(serializers.to_json(value)) == value


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Order:
    id: uuid.UUID
    at: datetime.datetime
    price: Decimal
    colour: Colour


def test_json_takes_dataclasses_with_what_json_has_no_form_for() -> None:
    order = Order(uuid.UUID(int=7), datetime.datetime(2026, 1, 2, 3, 4), Decimal("1.10"), Colour.RED)
    assert json.loads(serializers.to_json([order])) == [
        {
            "id": "00000000-0000-0000-0000-000000000007",
            "at": "2026-01-02T03:04:00",
            "price": "1.10",
            "colour": "red",
        }
    ]


def test_json_takes_pydantic_models() -> None:
    pydantic = pytest.importorskip("pydantic", reason="not an extra of Barnabas")

    class Flight(pydantic.BaseModel):
        number: int
        day: datetime.date

    flight = Flight(number=1, day=datetime.date(2026, 1, 2))
    assert json.loads(serializers.to_json(flight)) == {"number": 1, "day": "2026-01-02"}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("to_text", b"a", TypeError),
        ("to_json", float("nan"), ValueError),
        ("to_json", {1, 2}, TypeError),
        ("to_int32", 1 << 31, struct.error),
        ("from_int64", b"1234", struct.error),
        ("to_uuid", "1", TypeError),
        ("from_text", b"\xff", UnicodeDecodeError),
        ("from_json", b"{", ValueError),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        getattr(serializers, name)(value)
