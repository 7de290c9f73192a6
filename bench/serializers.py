"""How many values a second serializers of a schema registry write and read, beside confluent-kafka's.

    python -m bench.serializers [--json]

Records of 19 fields, logical types among them, one a call, in one process, with warm caches: by the facade
for `confluent_kafka`, by its asyncio variants, and by the classes of `barnabas.registry`; the registry is
embedded. Needs no broker. All take turns; of the rounds' ratios the median counts.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import importlib
import json
import statistics
import timeit
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from typing import Any

from barnabas import Registry
from barnabas import registry as native
from barnabas.formats.protobuf_schema import ProtobufSchema
from barnabas.formats.protobuf_values import file_of, message_class
from barnabas.testing import EmbeddedRegistry
from bench.avro_values import MOMENT, SCHEMA, VALUE
from bench.works import SERIALIZER_WORKS

ROUNDS = 9
SECONDS_A_ROUND = 0.2
TOPIC = "orders"
FACADE, THEIRS = "barnabas.compat.confluent_kafka", "confluent_kafka"

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


Work = tuple[Callable[[], object], Callable[[], object]]


class Package:
    """The classes of `confluent_kafka`, of the facade or the original, which ask the registry at `url`."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self._url = url
        self.serialization = importlib.import_module(f"{name}.serialization")
        self._modules = {
            kind: importlib.import_module(f"{name}.schema_registry.{kind}")
            for kind in ("avro", "json_schema", "protobuf")
        }

    def client(self, kind: str = "SchemaRegistryClient") -> Any:
        module = importlib.import_module(f"{self.name}.schema_registry")
        return getattr(module, kind)({"url": self._url})

    def pair(self, kind: str, schema: Any, stack: ExitStack) -> tuple[Any, Any]:
        """A serializer and a deserializer."""
        # The original's clients keep what a registry answers by id, in whichever form it came first.
        writing, reading = (stack.enter_context(self.client()) for _ in range(2))
        avro, json_schema, protobuf = self._modules.values()
        if kind == "avro":
            return avro.AvroSerializer(writing, schema), avro.AvroDeserializer(reading)
        if kind == "json":
            deserializer = json_schema.JSONDeserializer(None, schema_registry_client=reading)
            return json_schema.JSONSerializer(schema, writing), deserializer
        return (
            protobuf.ProtobufSerializer(schema, writing),
            protobuf.ProtobufDeserializer(schema, {}, reading),
        )

    async def async_pair(self, schema: Any, stack: AsyncExitStack) -> tuple[Any, Any]:
        """As `pair` for Avro, for asyncio."""
        client = await stack.enter_async_context(self.client("AsyncSchemaRegistryClient"))
        avro = importlib.import_module(f"{self.name}.schema_registry._async.avro")
        return await avro.AsyncAvroSerializer(client, schema), await avro.AsyncAvroDeserializer(client)

    def context(self, topic: str) -> Any:
        return self.serialization.SerializationContext(topic, self.serialization.MessageField.VALUE)


def works(url: str, stack: ExitStack) -> dict[str, Work]:
    """Each by us and by confluent-kafka, which have to agree."""
    registry = stack.enter_context(Registry(url))
    facade, theirs = Package(FACADE, url), Package(THEIRS, url)
    message = _message()
    found: dict[str, Work] = {}
    for kind, value, schema, own in (
        ("avro", VALUE, SCHEMA, _native_avro(registry)),
        ("json", _json_value(), JSON_SCHEMA, _native_json(registry)),
        ("protobuf", message, type(message), _native_protobuf(registry, type(message))),
    ):
        topic = f"{TOPIC}-{kind}"
        their_context, context = theirs.context(topic), facade.context(topic)
        their_serialize, their_deserialize = theirs.pair(kind, schema, stack)
        serialize, deserialize = facade.pair(kind, schema, stack)
        native_serialize, native_deserialize = own
        data = their_serialize(value, their_context)
        read = their_deserialize(data, their_context)
        for written in (serialize(value, context), native_serialize(topic, value)):
            assert written[:5] == data[:5]
            assert their_deserialize(written, their_context) == read
        assert deserialize(data, context) == native_deserialize(topic, data) == read
        write, rewrite = _call(their_serialize, value, their_context), _call(serialize, value, context)
        reread, their_read = _call(deserialize, data, context), _call(their_deserialize, data, their_context)
        found |= {
            f"serialize/{kind}": (rewrite, write),
            f"deserialize/{kind}": (reread, their_read),
            f"serialize/{kind}, native": (_call(native_serialize, topic, value), write),
            f"deserialize/{kind}, native": (_call(native_deserialize, topic, data), their_read),
        }
    return found


def _call(function: Callable[..., object], *arguments: Any) -> Callable[[], object]:
    return lambda: function(*arguments)


def _native_avro(registry: Registry) -> tuple[Any, Any]:
    return native.AvroSerializer(registry, SCHEMA), native.AvroDeserializer(registry)


def _native_json(registry: Registry) -> tuple[Any, Any]:
    return native.JSONSerializer(registry, JSON_SCHEMA), native.JSONDeserializer(registry)


def _native_protobuf(registry: Registry, kind: Any) -> tuple[Any, Any]:
    return native.ProtobufSerializer(registry, kind), native.ProtobufDeserializer(registry, kind)


def _json_value() -> dict[str, Any]:
    value = {**VALUE, "bytes": "c29tZSBieXRlcw==", "fixed": "Zm91cg==", "decimal": "123.45"}
    value |= {name: VALUE[name].isoformat() for name in ("date", "created", "updated", "time")}
    value["uuid"] = str(VALUE["uuid"])
    return value


def _message() -> Any:
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
    return value


async def async_rates(url: str, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Values a second of the asyncio variants for Avro, by us and by the original, a pair for each round."""
    found: dict[str, list[tuple[float, float]]] = {}
    async with AsyncExitStack() as stack:
        calls: dict[str, list[Callable[[], Any]]] = {}
        for name in (FACADE, THEIRS):
            package = Package(name, url)
            context = package.context(f"{TOPIC}-avro")
            serialize, deserialize = await package.async_pair(SCHEMA, stack)
            data = await serialize(VALUE, context)
            await deserialize(data, context)
            calls.setdefault("serialize/avro, asyncio", []).append(_call(serialize, VALUE, context))
            calls.setdefault("deserialize/avro, asyncio", []).append(_call(deserialize, data, context))
        for name, (own, others) in calls.items():
            for _ in range(rounds):
                rates = await _awaited_rate(own), await _awaited_rate(others)
                found.setdefault(name, []).append(rates)
    return found


async def _awaited_rate(work: Callable[[], Any]) -> float:
    count, began_at = 0, timeit.default_timer()
    while (seconds := timeit.default_timer() - began_at) < SECONDS_A_ROUND:
        for _ in range(100):
            await work()
        count += 100
    return count / seconds


def calls_of(work: Callable[[], object]) -> int:
    """As many as take a round's time."""
    calls, seconds = timeit.Timer(work).autorange()
    return max(1, int(calls * SECONDS_A_ROUND / seconds))


def measured(rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Values a second of both, and how many times the other's ours are."""
    found: dict[str, list[tuple[float, float]]] = {}
    with ExitStack() as stack:
        registry = stack.enter_context(EmbeddedRegistry())
        for name, pair in works(registry.url, stack).items():
            calls = [calls_of(work) for work in pair]
            for _ in range(rounds):
                own, others = (
                    count / timeit.timeit(work, number=count) for work, count in zip(pair, calls, strict=True)
                )
                found.setdefault(name, []).append((own, others))
        found |= asyncio.run(async_rates(registry.url, rounds))
    return {name: row_of(rates) for name, rates in found.items()}


def row_of(rates: list[tuple[float, float]]) -> dict[str, float]:
    """The medians of the rates of ours and theirs, and of the rounds' ratios."""
    return {
        "ours": statistics.median(own for own, _ in rates),
        "theirs": statistics.median(others for _, others in rates),
        "ratio": statistics.median(own / others for own, others in rates),
    }


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
