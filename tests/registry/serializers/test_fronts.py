"""Serializers for plain calls and for asyncio: the same results; safe in threads; and by real registries and
brokers."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.registry.serializers.conftest import Asked, TheirRegistry
from tests.registry.serializers.test_protobuf import Refund
from tests.registry.serializers.test_rules import Xor

import barnabas.registry
from barnabas import Consumer, Producer, Registry, aio
from barnabas.registry import AvroDeserializer, AvroSerializer, Rule, RuleSet, Schema
from barnabas.registry.rules import RuleRegistry
from barnabas.registry.serializers.remembered import Remembered
from barnabas.testing import EmbeddedRegistry

ORDER = (
    '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "note", "type": ["null", "string"], "default": null}]}'
)


def test_a_registry_of_others_takes_what_serializers_register(apicurio: str, subject: str) -> None:
    async def awaited(data: bytes) -> None:
        async with aio.Registry(apicurio) as registry:
            serializer, deserializer = aio.AvroSerializer(registry, ORDER), aio.AvroDeserializer(registry)
            for number in (1, 2):
                value = {"id": number, "note": "n"}
                written = await serializer(subject, value)
                assert written is not None
                assert written[:5] == data[:5]
                assert await deserializer(subject, written) == value
            assert await deserializer(subject, data) == {"id": 5, "note": None}
            assert await serializer(subject, None) is None

    with Registry(apicurio) as registry:
        data = AvroSerializer(registry, ORDER)(subject, {"id": 5})
        assert data is not None
        assert registry.latest(f"{subject}-value").id == int.from_bytes(data[1:5])
        asyncio.run(awaited(data))


@pytest.fixture(scope="module")
def embedded_registry() -> Iterator[str]:
    """The URL of a registry of our own."""
    with EmbeddedRegistry() as registry:
        yield registry.url


JSON = '{"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}}'
VALUE: dict[str, Any] = {"id": 5, "note": None}


@pytest.mark.parametrize("place", ["prefix", "header"])
@pytest.mark.parametrize(
    ("kind", "schema", "value"),
    [("Avro", ORDER, VALUE), ("JSON", JSON, VALUE), ("Protobuf", Refund, Refund(id=5))],
)
@pytest.mark.integration
def test_our_registry_serves_both_fronts(
    embedded_registry: str, subject: str, kind: str, schema: Any, value: Any, place: Any
) -> None:
    async def awaited(data: bytes, headers: list[Any]) -> None:
        async with aio.Registry(embedded_registry) as registry:
            serializer = getattr(aio, f"{kind}Serializer")(registry, schema, schema_id=place)
            deserializer = getattr(aio, f"{kind}Deserializer")(registry, schema)
            own_headers: list[Any] = []
            assert await serializer(subject, value, headers=own_headers) == data
            assert own_headers == headers
            assert await deserializer(subject, data, headers=headers) == value

    with Registry(embedded_registry) as registry:
        serializer = getattr(barnabas.registry, f"{kind}Serializer")(registry, schema, schema_id=place)
        headers: list[Any] = []
        data = serializer(subject, value, headers=headers)
        assert bool(headers) == (place == "header")
        latest = registry.latest(f"{subject}-value")
        assert latest.schema.type == kind.upper()
        asyncio.run(awaited(data, headers))
        deserializer = getattr(barnabas.registry, f"{kind}Deserializer")(registry, schema)
        assert deserializer(subject, data, headers=headers) == value
        again = pickle.loads(pickle.dumps(getattr(barnabas.registry, f"{kind}Deserializer")(registry)))
        found = again(subject, data, headers=headers)
        assert found == value or found.SerializeToString() == value.SerializeToString()
        again._registry.close()


@pytest.mark.integration
def test_what_spark_would_send_to_executors_works_there(embedded_registry: str, subject: str) -> None:
    with Registry(embedded_registry) as registry:
        pickled = pickle.dumps(AvroSerializer(registry, ORDER))
        code = (
            "import pickle, sys\n"
            f"serializer = pickle.loads({pickled!r})\n"
            f"sys.stdout.write(serializer({subject!r}, {VALUE!r}).hex())\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert AvroDeserializer(registry)(subject, bytes.fromhex(done.stdout)) == VALUE


@pytest.mark.parametrize(("kind", "text"), [("Avro", ORDER), ("JSON", JSON)])
@pytest.mark.integration
def test_rules_of_its_own_travel_with_a_serializer(
    embedded_registry: str, subject: str, kind: str, text: str
) -> None:
    rules = RuleRegistry()
    rules.register_executor(Xor())
    turned = RuleSet(encoding_rules=(Rule("xor", kind="TRANSFORM", mode="WRITEREAD", type="XOR"),))
    schema = Schema(text, kind.upper(), rule_set=turned)
    writes = getattr(barnabas.registry, f"{kind}Serializer")
    reads = getattr(barnabas.registry, f"{kind}Deserializer")
    with Registry(embedded_registry) as registry:
        serializer = writes(registry, schema, rule_registry=rules)
        pickled = pickle.dumps([serializer, reads(registry, rule_registry=rules)])
        again, reader = pickle.loads(pickled)
        data = again(subject, VALUE)
        assert data == serializer(subject, VALUE)
        bare = writes(registry, text)(f"{subject}-bare", VALUE)
        assert data[5:] == bytes(byte ^ 0x55 for byte in bare[5:])
        assert reader(subject, data) == VALUE
        again._registry.close()
        reader._registry.close()


def test_records_go_through_a_broker(registry: TheirRegistry, broker: Any) -> None:
    serializer, deserializer = AvroSerializer(registry, ORDER), AvroDeserializer(registry)
    keys = AvroSerializer(registry, '"string"')
    values = [{"id": number, "note": None} for number in range(20)]
    with Producer(broker.bootstrap) as producer:
        for value in values:
            key = keys("orders", str(value["id"]), is_key=True)
            producer.send("orders", serializer("orders", value), key=key)
    with Consumer(broker.bootstrap, auto_offset_reset="earliest", group_id="g") as consumer:
        consumer.subscribe(["orders"])
        found: list[Any] = []
        while len(found) < len(values):
            found += [(deserializer.key_of(r), deserializer.value_of(r)) for r in consumer.poll(timeout=10)]
    assert found == [(str(value["id"]), value) for value in values]


class HeldRegistry(TheirRegistry):
    """Each thread waits with its first question until all have one; then they take turns, step by step."""

    def __init__(self, client: Any, threads: int) -> None:
        super().__init__(client)
        self._all_are_here = threading.Barrier(threads)
        self._was_here = threading.local()
        self._turn = threading.Lock()

    def answer(self, step: Any) -> Any:
        # Their client in memory does not look whether another thread registers the same.
        with self._turn:
            return super().answer(step)

    def run(self, steps: Asked[Any]) -> Any:
        if not getattr(self._was_here, "yes", False):
            self._was_here.yes = True
            self._all_are_here.wait(timeout=30)
        return super().run(steps)


def test_threads_that_need_the_same_schema_at_once_all_write_with_it(their_client: Any) -> None:
    threads = 4
    registry = HeldRegistry(their_client, threads)
    serializer, deserializer = AvroSerializer(registry, ORDER), AvroDeserializer(registry)
    results: list[Any] = [None] * threads

    def work(place: int) -> None:
        value = {"id": place, "note": "x" * place}
        data = serializer("orders", value)
        results[place] = data[:5], deserializer("orders", data) == value

    workers = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert {prefix for prefix, _ in results} == {results[0][0]}
    assert all(is_same for _, is_same in results)
    asked = len(registry.calls.asked)
    serializer("orders", {"id": 1})
    assert len(registry.calls.asked) == asked


def test_what_is_remembered_has_a_bound_that_threads_keep() -> None:
    remembered: Remembered[int, int] = Remembered(10)
    started = threading.Barrier(4)

    def work(first: int) -> None:
        started.wait(timeout=30)
        for number in range(first, first + 2_000):
            remembered.put(number, number)
            assert remembered.get(number) in (number, None)

    workers = [threading.Thread(target=work, args=(10_000 * place,)) for place in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(remembered) == 10
    remembered.put(1, 1)
    remembered.put(1, 2)
    assert remembered.get(1) == 2
    assert len(remembered) == 10
    remembered.clear()
    assert remembered.get(1) is None


def test_a_registry_that_is_closed_is_said(apicurio: str) -> None:
    from barnabas.errors import ClosedError

    registry = Registry(apicurio)
    serializer = AvroSerializer(registry, Schema(ORDER))
    registry.close()
    with pytest.raises(ClosedError):
        serializer("orders", {"id": 1})
