"""Dataclasses and Pydantic models, as schemas and as values."""

from __future__ import annotations

import datetime
import enum
import json
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

import fastavro
import pydantic
import pytest
from confluent_kafka.schema_registry.avro import AvroDeserializer as TheirDeserializer
from confluent_kafka.serialization import MessageField
from confluent_kafka.serialization import SerializationContext as TheirContext
from tests.registry.serializers.conftest import TheirRegistry

from barnabas.errors import SerializationError
from barnabas.registry import AvroDeserializer, AvroSerializer
from barnabas.registry.serializers.avro_models import InAvro, avro_schema_of
from barnabas.registry.serializers.models import ModelError

Money = Annotated[Decimal, InAvro({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2})]


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2


@dataclass
class Item:
    name: str
    price: Money
    count: Annotated[int, InAvro("int")] = 1


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float


@dataclass
class Card:
    number: str


@dataclass
class Cash:
    amount: int


@dataclass
class Order:
    """What was ordered."""

    id: int
    created: datetime.datetime
    day: datetime.date
    key: uuid.UUID
    color: Color
    size: Size
    place: Point
    items: list[Item]
    by_name: dict[str, Item]
    payment: Card | Cash
    note: str | None = None
    flags: set[str] = field(default_factory=set)
    parent: Order | None = None


class Line(pydantic.BaseModel):
    sku: str
    size: Size
    count: int = pydantic.Field(default=1, ge=0, description="How many.")


class Basket(pydantic.BaseModel):
    id: int
    lines: list[Line]
    color: Color = Color.RED
    owner: Line | None = None


ITEM = Item("pen", Decimal("1.50"), 2)
ORDER = Order(
    5,
    datetime.datetime(2026, 11, 25, 1, 2, 3, 4, tzinfo=datetime.UTC),
    datetime.date(2026, 11, 25),
    uuid.UUID(int=7),
    Color.GREEN,
    Size.LARGE,
    Point(1.0, 2.5),
    [ITEM],
    {"first": ITEM},
    Cash(3),
    flags={"new"},
)


def test_a_dataclass_goes_through_and_comes_back_the_same(registry: TheirRegistry) -> None:
    ours, reader = AvroSerializer(registry, Order), AvroDeserializer(registry, Order)
    assert reader("orders", ours("orders", ORDER)) == ORDER
    nested = Order(**{**ORDER.__dict__, "parent": ORDER, "payment": Card("1"), "note": "n"})
    assert reader("orders", ours("orders", nested)) == nested


def test_others_read_the_schema_and_the_values_of_a_dataclass(registry: TheirRegistry) -> None:
    schema: Any = json.loads(avro_schema_of(Order))
    fastavro.parse_schema(schema)
    assert schema["doc"] == "What was ordered."
    types = {each["name"]: each["type"] for each in schema["fields"]}
    assert types["color"] == {"type": "enum", "name": "Color", "symbols": ["red", "green"]}
    assert types["size"]["symbols"] == ["SMALL", "LARGE"]
    assert types["note"] == ["null", "string"]
    assert types["parent"] == ["null", "Order"]
    data = AvroSerializer(registry, Order)("orders", ORDER)
    found = TheirDeserializer(registry.client)(data, TheirContext("orders", MessageField.VALUE))
    assert found["items"] == [{"name": "pen", "price": Decimal("1.50"), "count": 2}]
    assert found["color"] == "green"
    assert found["size"] == "LARGE"
    assert found["payment"] == {"amount": 3}


def test_a_pydantic_model_goes_through_and_comes_back_the_same(registry: TheirRegistry) -> None:
    basket = Basket(
        id=1, lines=[Line(sku="a", size=Size.SMALL, count=3)], owner=Line(sku="b", size=Size.LARGE)
    )
    ours, reader = AvroSerializer(registry, Basket), AvroDeserializer(registry, Basket)
    assert reader("baskets", ours("baskets", basket)) == basket
    schema = json.loads(avro_schema_of(Line))
    assert schema["fields"][2] == {"name": "count", "type": "long", "default": 1, "doc": "How many."}


def test_a_model_checks_what_is_read(registry: TheirRegistry) -> None:
    data = AvroSerializer(registry, avro_schema_of(Line))("lines", {"sku": "a", "size": "SMALL", "count": -1})
    with pytest.raises(SerializationError, match="Line does not take what was read"):
        AvroDeserializer(registry, Line)("lines", data)


def test_a_field_that_the_writer_did_not_have_has_its_default(registry: TheirRegistry) -> None:
    @dataclass
    class Item:
        name: str
        price: Money
        weight: float = 0.5
        tags: list[str] = field(default_factory=lambda: ["new"])

    data = AvroSerializer(registry, globals()["Item"])("items", ITEM)
    assert AvroDeserializer(registry, Item)("items", data) == Item("pen", Decimal("1.50"), 0.5, ["new"])


def test_names_lie_in_the_namespace_of_their_class() -> None:
    @dataclass
    class Inner:
        x: int

    @dataclass
    class Middle:
        inner: Inner

    @dataclass
    class Outer:
        middle: Middle
        other: Inner

    Outer.__avro_namespace__ = "com.example"  # type: ignore[attr-defined]
    names: dict[str, Any] = {}
    schema = json.loads(avro_schema_of_local(Outer, Inner, Middle))
    fastavro.parse_schema(schema, named_schemas=names)
    assert set(names) == {"com.example.Outer", "com.example.Middle", "com.example.Inner"}


def avro_schema_of_local(kind: type[Any], *others: type[Any]) -> str:
    """Annotations of local classes are found where they are looked for."""
    for other in (kind, *others):
        globals()[other.__name__] = other
    try:
        return avro_schema_of(kind)
    finally:
        for other in (kind, *others):
            del globals()[other.__name__]


@dataclass
class Unsized:
    price: Decimal


@dataclass
class Unknown:
    what: complex


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Unsized, r"Unsized.price is a Decimal of any size"), (Unknown, r"Unknown.what is .*complex")],
)
def test_a_type_that_avro_has_not_is_named(kind: type[Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        avro_schema_of(kind)
