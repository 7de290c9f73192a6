"""Sends orders, which are instances of a dataclass, and reads them again, by a schema that a registry keeps.

    python examples/orders.py localhost:9092 http://localhost:8081 orders

The schema is made of the class. Another program may read the topic with a class that has other fields, as
far as Avro's rules of schema resolution go, or with Confluent's serializers in any language.
"""

from __future__ import annotations

import argparse
import datetime
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated

from barnabas import Consumer, Producer, Registry
from barnabas.registry import AvroDeserializer, AvroSerializer, InAvro

Money = Annotated[Decimal, InAvro({"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2})]


@dataclass
class Line:
    article: str
    count: int
    price: Money


@dataclass
class Order:
    id: uuid.UUID
    at: datetime.datetime
    lines: list[Line] = field(default_factory=list)
    note: str | None = None


def send(bootstrap: str, registry: Registry, topic: str, orders: list[Order]) -> None:
    serializer = AvroSerializer(registry, Order)
    with Producer(bootstrap) as producer:
        for order in orders:
            producer.send(topic, serializer(topic, order), key=order.id.bytes)


def read(bootstrap: str, registry: Registry, topic: str, count: int) -> list[Order]:
    deserializer = AvroDeserializer(registry, Order)
    found: list[Order] = []
    with Consumer(bootstrap, topics=[topic], auto_offset_reset="earliest", group_id="orders") as consumer:
        while len(found) < count:
            found += [deserializer.value_of(record) for record in consumer.poll(timeout=1.0)]
    return found


def made_up(count: int) -> list[Order]:
    now = datetime.datetime.now(datetime.UTC)
    return [
        Order(uuid.uuid4(), now, [Line("pen", number, Decimal("1.50"))], "first" if number == 0 else None)
        for number in range(count)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("bootstrap", "registry", "topic"):
        parser.add_argument(name)
    arguments = parser.parse_args()
    orders = made_up(5)
    with Registry(arguments.registry) as registry:
        send(arguments.bootstrap, registry, arguments.topic, orders)
        for order in read(arguments.bootstrap, registry, arguments.topic, len(orders)):
            print(order)


if __name__ == "__main__":
    main()
