"""How many values a second serializers of a schema registry write and read, beside confluent-kafka's.

    python -m bench.serializers [--json]

Records of 19 fields, logical types among them, one a call, in one process, with warm caches; the registry is
the one that confluent-kafka keeps in memory. Needs no broker. Both take turns; of the rounds' ratios the
median counts.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import timeit
from collections.abc import Callable
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas import registry as ours
from barnabas.formats.protobuf_schema import ProtobufSchema
from barnabas.formats.protobuf_values import file_of, message_class
from barnabas.registry.config import RegistryConfig
from barnabas.registry.schemas import RegisteredSchema, Schema
from bench.avro_values import MOMENT, SCHEMA, VALUE
from bench.works import SERIALIZER_WORKS

ROUNDS = 9
SECONDS_A_ROUND = 0.2
TOPIC = "orders"
CONTEXT = SerializationContext(TOPIC, MessageField.VALUE)

PROTO = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
message Order {
  int32 int = 1; int64 long = 2; float float = 3; double double = 4; bytes bytes = 5; bool boolean = 6;
  string text = 7; optional string optional = 8; Kind enum = 9; repeated int64 array = 10;
  map<string, string> map = 11; bytes fixed = 12; Inner inner = 13; string decimal = 14; int32 date = 15;
  google.protobuf.Timestamp created = 16; google.protobuf.Timestamp updated = 17;
  google.protobuf.Duration time = 18; string uuid = 19;
  message Inner { int64 x = 1; }
  enum Kind { A = 0; B = 1; }
}
"""

_TEXT, _WHOLE = {"type": "string"}, {"type": "integer"}
JSON_SCHEMA = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {
            "int": _WHOLE,
            "long": _WHOLE,
            "float": {"type": "number"},
            "double": {"type": "number"},
            "bytes": _TEXT,
            "text": _TEXT,
            "fixed": _TEXT,
            "boolean": {"type": "boolean"},
            "optional": {"type": ["null", "string"]},
            "enum": {"enum": ["A", "B"]},
            "array": {"type": "array", "items": _WHOLE},
            "map": {"type": "object", "additionalProperties": _TEXT},
            "inner": {"type": "object", "properties": {"x": _WHOLE}, "required": ["x"]},
            "decimal": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"},
            "date": {"type": "string", "format": "date"},
            **{name: {"type": "string", "format": "date-time"} for name in ("created", "updated")},
            "time": {"type": "string", "format": "time"},
            "uuid": {"type": "string", "format": "uuid"},
        },
        "required": sorted(VALUE),
        "additionalProperties": False,
    }
)


class StoredRegistry:
    """What our serializers ask, answered by what confluent-kafka's have registered."""

    latest_seconds = 60.0

    def __init__(self, client: Any) -> None:
        self._client = client
        self.calls = self
        self.config = RegistryConfig()

    def run(self, steps: Any) -> Any:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        raise AssertionError("nothing is asked of a network")

    def associations(self, *names: str, **settings: Any) -> Any:
        return []
        yield

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> Any:
        found = self._client.get_latest_version(subject)
        return RegisteredSchema(subject, found.version, found.schema_id, found.guid, schema)
        yield

    def look_up(self, subject: str, schema: Schema, **settings: Any) -> Any:
        return (yield from self.register(subject, schema))

    def schema(self, id: int, **settings: Any) -> Any:
        found = self._client.get_schema(id)
        return Schema(found.schema_str, found.schema_type)
        yield


Work = tuple[Callable[[], object], Callable[[], object]]


def works() -> dict[str, Work]:
    """Each by us and by confluent-kafka, which have to agree."""
    client = SchemaRegistryClient.new_client({"url": "mock://"})
    return {**_avro(client), **_json(client), **_protobuf(client)}


def _pairs(kind: str, value: Any, their: tuple[Any, Any], own: tuple[Any, Any]) -> dict[str, Work]:
    (their_serializer, their_deserializer), (serializer, deserializer) = their, own
    topic = f"{TOPIC}-{kind}"
    context = SerializationContext(topic, MessageField.VALUE)
    data = their_serializer(value, context)
    assert serializer(topic, value)[:5] == data[:5]
    assert deserializer(topic, data) == their_deserializer(data, context)
    assert their_deserializer(serializer(topic, value), context) == their_deserializer(data, context)
    return {
        f"serialize/{kind}": (lambda: serializer(topic, value), lambda: their_serializer(value, context)),
        f"deserialize/{kind}": (lambda: deserializer(topic, data), lambda: their_deserializer(data, context)),
    }


def _avro(client: Any) -> dict[str, Work]:
    registry: Any = StoredRegistry(client)
    their = AvroSerializer(client, SCHEMA), AvroDeserializer(client)
    return _pairs(
        "avro", VALUE, their, (ours.AvroSerializer(registry, SCHEMA), ours.AvroDeserializer(registry))
    )


def _json(client: Any) -> dict[str, Work]:
    registry: Any = StoredRegistry(client)
    value = {**VALUE, "bytes": "c29tZSBieXRlcw==", "fixed": "Zm91cg==", "decimal": "123.45"}
    value |= {name: VALUE[name].isoformat() for name in ("date", "created", "updated", "time")}
    value["uuid"] = str(VALUE["uuid"])
    their = JSONSerializer(JSON_SCHEMA, client), JSONDeserializer(None, schema_registry_client=client)
    own = ours.JSONSerializer(registry, JSON_SCHEMA), ours.JSONDeserializer(registry)
    return _pairs("json", value, their, own)


def _protobuf(client: Any) -> dict[str, Work]:
    registry: Any = StoredRegistry(client)
    kind = message_class(file_of(ProtobufSchema(PROTO).descriptor_set).message_types_by_name["Order"])
    plain = {name: VALUE[name] for name in ("int", "long", "float", "double", "bytes", "boolean", "text")}
    value = kind(
        **plain, optional="more text", enum="B", array=[1, 2, 3], map={"key": "value"}, fixed=b"four"
    )
    value.inner.x = 5
    value.decimal, value.date, value.uuid = "123.45", 20_781, str(VALUE["uuid"])
    value.created.FromDatetime(MOMENT)
    value.updated.FromDatetime(MOMENT)
    value.time.FromTimedelta(datetime.timedelta(seconds=3_723))
    their = ProtobufSerializer(kind, client), ProtobufDeserializer(kind, {}, client)
    own = ours.ProtobufSerializer(registry, kind), ours.ProtobufDeserializer(registry, kind)
    return _pairs("protobuf", value, their, own)


def calls_of(work: Callable[[], object]) -> int:
    """As many as take a round's time."""
    calls, seconds = timeit.Timer(work).autorange()
    return max(1, int(calls * SECONDS_A_ROUND / seconds))


def measured(rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Values a second of both, and how many times the other's ours are."""
    found: dict[str, dict[str, float]] = {}
    for name, pair in works().items():
        calls = [calls_of(work) for work in pair]
        rates = [
            [count / timeit.timeit(work, number=count) for work, count in zip(pair, calls, strict=True)]
            for _ in range(rounds)
        ]
        own, others = zip(*rates, strict=True)
        ratios = [mine / other for mine, other in rates]
        found[name] = {
            "ours": statistics.median(own),
            "theirs": statistics.median(others),
            "ratio": statistics.median(ratios),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.serializers", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures for a script")
    arguments = parser.parse_args()
    found = measured()
    if arguments.json:
        print(json.dumps(found))
        return
    for name, row in found.items():
        print(
            f"{name:>20}: {row['ours']:9,.0f}/s, confluent-kafka {row['theirs']:9,.0f}/s, "
            f"{row['ratio']:5.1f} x (wanted: {SERIALIZER_WORKS[name].least_ratio:g} x)"
        )


if __name__ == "__main__":
    main()
