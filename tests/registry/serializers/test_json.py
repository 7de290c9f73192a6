"""JSON serializers, beside those of confluent-kafka on the same registry."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import uuid
from dataclasses import dataclass, field
from typing import Literal

import confluent_kafka.schema_registry as theirs
import pydantic
import pytest
from confluent_kafka.schema_registry.json_schema import JSONDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField
from confluent_kafka.serialization import SerializationContext as TheirContext
from tests.registry.serializers.conftest import TheirRegistry

from barnabas.errors import SerializationError
from barnabas.registry import JSONDeserializer, JSONSerializer, Schema, SchemaReference
from barnabas.registry.serializers.json_models import json_schema_of

ORDER = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "note": {"type": ["string", "null"]}},
        "required": ["id"],
    }
)
VALUE = {"id": 5, "note": "zwei Stück"}


def on(topic: str) -> TheirContext:
    return TheirContext(topic, MessageField.VALUE)


def test_both_write_the_same_bytes_and_read_each_others(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    data = JSONSerializer(registry, ORDER)("orders", VALUE)
    assert data == TheirSerializer(ORDER, their_client)(VALUE, on("orders"))
    assert TheirDeserializer(None, schema_registry_client=their_client)(data, on("orders")) == VALUE
    assert JSONDeserializer(registry)("orders", data) == VALUE
    assert JSONDeserializer(registry, ORDER)("orders", data) == VALUE


def test_values_are_held_against_the_schema_both_ways(registry: TheirRegistry) -> None:
    serializer = JSONSerializer(registry, ORDER)
    with pytest.raises(SerializationError, match="id"):
        serializer("orders", {"note": "x"})
    loose = JSONSerializer(registry, ORDER, validates=False)
    data = loose("orders", {"note": "x"})
    with pytest.raises(SerializationError, match="id"):
        JSONDeserializer(registry)("orders", data)
    assert JSONDeserializer(registry, validates=False)("orders", data) == {"note": "x"}
    stricter = ORDER.replace('["id"]', '["id", "more"]')
    with pytest.raises(SerializationError, match="more"):
        JSONDeserializer(registry, stricter)("orders", serializer("orders", VALUE))


def test_schemas_of_other_subjects_are_fetched(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    registry.run(registry.calls.register("money", Schema('{"type": "integer", "minimum": 0}', "JSON")))
    text = '{"type": "object", "title": "P", "properties": {"price": {"$ref": "money.json"}}}'
    schema = Schema(text, "JSON", [SchemaReference("money.json", "money", 1)])
    serializer = JSONSerializer(registry, schema)
    data = serializer("prices", {"price": 3})
    assert JSONDeserializer(registry)("prices", data) == {"price": 3}
    assert TheirDeserializer(None, schema_registry_client=their_client)(data, on("prices")) == {"price": 3}
    with pytest.raises(SerializationError, match="price"):
        serializer("prices", {"price": -3})


def test_json_may_be_written_and_read_by_functions(registry: TheirRegistry) -> None:
    serializer = JSONSerializer(registry, ORDER, dumps=lambda value: json.dumps(value, indent=1))
    data = serializer("orders", VALUE)
    assert data[5:] == json.dumps(VALUE, indent=1).encode()
    assert isinstance(
        JSONDeserializer(registry, validates=False, loads=lambda data: data)("orders", data), bytes
    )
    with pytest.raises(SerializationError, match="id"):
        JSONDeserializer(registry, loads=lambda data: {"note": "x"})("orders", data)


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


@dataclass
class Item:
    name: str
    price: decimal.Decimal = decimal.Decimal("0.10")


@dataclass
class Order:
    id: int
    at: datetime.datetime
    key: uuid.UUID
    raw: bytes
    color: Color
    kind: Literal["new", "old"]
    items: list[Item]
    by_name: dict[str, Item]
    first: Item | None = None
    parent: Order | None = None
    days: set[str] = field(default_factory=set)


class Basket(pydantic.BaseModel):
    id: int
    at: datetime.datetime
    color: Color = Color.RED


def test_a_dataclass_goes_through_and_comes_back_the_same(
    registry: TheirRegistry, their_client: theirs.SchemaRegistryClient
) -> None:
    item = Item("pen", decimal.Decimal("1.50"))
    at = datetime.datetime(2026, 11, 25, tzinfo=datetime.UTC)
    inner = Order(1, at, uuid.UUID(int=7), b"\0\xff", Color.GREEN, "new", [item], {"a": item})
    order = Order(2, at, uuid.UUID(int=8), b"", Color.RED, "old", [], {}, item, inner, {"mon"})
    serializer, reader = JSONSerializer(registry, Order), JSONDeserializer(registry, Order)
    for value in (inner, order):
        data = serializer("orders", value)
        assert reader("orders", data) == value
        assert (
            TheirDeserializer(None, schema_registry_client=their_client)(data, on("orders"))["id"] == value.id
        )
    found = json.loads(json_schema_of(Order))
    assert found["title"] == "Order"
    assert found["required"] == ["id", "at", "key", "raw", "color", "kind", "items", "by_name"]
    assert found["properties"]["color"] == {"enum": ["red", "green"]}


def test_a_pydantic_model_goes_through_and_comes_back_the_same(registry: TheirRegistry) -> None:
    basket = Basket(id=1, at=datetime.datetime(2026, 11, 25, tzinfo=datetime.UTC), color=Color.GREEN)
    data = JSONSerializer(registry, Basket)("baskets", basket)
    assert JSONDeserializer(registry, Basket)("baskets", data) == basket
    assert json.loads(data[5:])["at"] == "2026-11-25T00:00:00Z"
