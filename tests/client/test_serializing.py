"""Serializers and deserializers in every kind of client that has them."""

from __future__ import annotations

import asyncio
import pickle
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.share_groups import begin_at_the_first_record
from tests.waiting import Patience

from barnabas import (
    Consumer,
    ConsumerInterceptor,
    ParallelConsumer,
    Producer,
    ProducerInterceptor,
    ProducerRecord,
    Record,
    Registry,
    ShareConsumer,
    aio,
    dead_letter,
    formats,
)
from barnabas import registry as by_registry
from barnabas.errors import InvalidSettingError, MisuseError, SerializationError
from barnabas.serializers import from_json, from_text, to_json, to_text
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry

pytestmark = pytest.mark.integration

MakeTopic = Callable[..., str]
SCHEMA = '{"type": "record", "name": "Flight", "fields": [{"name": "number", "type": "int"}]}'


@pytest.fixture
def bootstrap(embedded_broker: EmbeddedBroker) -> str:
    return embedded_broker.bootstrap


@pytest.fixture(scope="module")
def registry_url() -> Iterator[str]:
    with EmbeddedRegistry() as server:
        yield server.url


@pytest.fixture(scope="module")
def registry(registry_url: str) -> Iterator[Registry]:
    with Registry(registry_url) as registry:
        yield registry


def reader(bootstrap: str, topic: str, **settings: Any) -> Consumer[Any, Any]:
    return Consumer(bootstrap, topics=[topic], auto_offset_reset="earliest", fetch_max_wait_ms=50, **settings)


def read(consumer: Any, count: int) -> list[Any]:
    records: list[Any] = []
    patience = Patience()
    while len(records) < count:
        patience.check(records)
        records += consumer.poll(0.1)
    return records


def test_objects_come_back_as_they_were_sent(bootstrap: str, topic: Callable[[], str]) -> None:
    name = topic()
    with Producer(bootstrap, key_serializer=to_text, value_serializer=to_json) as producer:
        producer.send(name, {"n": 1}, key="é")
        producer.send_and_wait(name, [2], key="b")
    with reader(bootstrap, name, key_deserializer=from_text, value_deserializer=from_json) as consumer:
        records = read(consumer, 2)
    assert [(record.key, record.value) for record in records] == [("é", {"n": 1}), ("b", [2])]
    assert [(record.raw.key, record.raw.value) for record in records] == [
        ("é".encode(), b'{"n":1}'),
        (b"b", b"[2]"),
    ]
    assert all(isinstance(record, Record) for record in records)


def test_a_tombstone_stays_one(bootstrap: str, topic: Callable[[], str]) -> None:
    name = topic()
    with Producer(bootstrap, key_serializer=to_json, value_serializer=to_json) as producer:
        producer.send_and_wait(name, None, key=7)
        producer.send_and_wait(name, 8)
    with reader(bootstrap, name, key_deserializer=from_json, value_deserializer=from_json) as consumer:
        assert [(record.key, record.value) for record in read(consumer, 2)] == [(7, None), (None, 8)]


def test_asyncio_has_the_same(bootstrap: str, topic: Callable[[], str]) -> None:
    name = topic()

    async def slow_json(value: Any) -> bytes:
        await asyncio.sleep(0)
        return to_json(value)

    async def main() -> list[tuple[Any, Any]]:
        async with aio.Producer(bootstrap, key_serializer=to_text, value_serializer=slow_json) as producer:
            await producer.send_and_wait(name, {"n": 1}, key="a")
        async with aio.Consumer(
            bootstrap,
            topics=[name],
            auto_offset_reset="earliest",
            key_deserializer=from_text,
            value_deserializer=from_json,
        ) as consumer:
            async for record in consumer:
                return [(record.key, record.value)]
        return []

    assert asyncio.run(main()) == [("a", {"n": 1})]


def test_what_a_serializer_refuses_is_one_error_and_not_sent(
    bootstrap: str, topic: Callable[[], str]
) -> None:
    name = topic()
    with Producer(bootstrap, key_serializer=to_text, value_serializer=to_json) as producer:
        with pytest.raises(SerializationError, match="value_serializer to_json failed with TypeError: J"):
            producer.send(name, {1})
        with pytest.raises(SerializationError, match="key_serializer to_text failed with TypeError: e"):
            producer.send(name, {}, key=b"k")
        assert producer.send_and_wait(name, {}).offset == 0
    with (
        Producer(bootstrap, value_serializer=str) as producer,  # pyright: ignore[reportArgumentType]
        pytest.raises(SerializationError, match="value_serializer returned str, not bytes"),
    ):
        producer.send(name, 1)


def test_an_interruption_of_a_serializer_reaches_the_caller(bootstrap: str, topic: Callable[[], str]) -> None:
    name = topic()
    calls: list[Any] = []

    def interrupted(value: Any) -> bytes:
        calls.append(value)
        if value == "stop":
            raise KeyboardInterrupt
        return to_text(value)

    with Producer(bootstrap, value_serializer=interrupted) as producer:
        producer.send_and_wait(name, "go")
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            producer.send(name, "stop")
        assert calls == ["stop"]


def test_what_cannot_be_read_is_an_error_at_each_access_and_the_next_records_come(
    bootstrap: str, topic: Callable[[], str]
) -> None:
    name = topic()
    with Producer(bootstrap) as producer:
        for value in (b"1", b"{oops", b"3"):
            producer.send_and_wait(name, value, partition=0)
    with reader(bootstrap, name, value_deserializer=from_json) as consumer:
        first, bad, last = read(consumer, 3)
    assert (first.value, last.value) == (1, 3)
    for _ in range(2):
        with pytest.raises(SerializationError) as raised:
            _ = bad.value
        assert str(raised.value).startswith(
            f"{name}-0, offset 1, value: value_deserializer from_json failed with JSONDecodeError: "
        )
        assert str(raised.value).endswith("the bytes are b'{oops'")
    assert "value=b'{oops'" in repr(bad)
    assert dead_letter(bad, raised.value, topic="dead")["value"] == b"{oops"


def test_a_value_is_read_once_and_only_when_it_is_asked_for(bootstrap: str, topic: Callable[[], str]) -> None:
    name = topic()
    calls: list[bytes] = []

    def noting(data: bytes) -> list[bytes]:
        calls.append(data)
        return [data]

    with Producer(bootstrap) as producer:
        producer.send_and_wait(name, b"v", key=b"k")
    with reader(bootstrap, name, key_deserializer=noting, value_deserializer=noting) as consumer:
        [record] = read(consumer, 1)
    assert calls == []
    assert record.value is record.value
    assert calls == [b"v"]


def test_records_given_back_come_again_deserialized(bootstrap: str, topic: Callable[[], str]) -> None:
    name = topic()
    with Producer(bootstrap, value_serializer=to_json) as producer:
        for n in range(3):
            producer.send_and_wait(name, n)
    with reader(bootstrap, name, value_deserializer=from_json) as consumer:
        patience = Patience()
        while (record := consumer.poll_one(0.1)) is None:
            patience.check()
        assert record.value == 0
        assert [record.value for record in read(consumer, 2)] == [1, 2]
        consumer.seek_to_beginning()
        assert consumer.poll_arrow(10)["value"].to_pylist() == [b"0", b"1", b"2"]


def test_records_can_be_pickled_with_their_deserializers(bootstrap: str, topic: Callable[[], str]) -> None:
    name = topic()
    with Producer(bootstrap, value_serializer=to_json) as producer:
        producer.send_and_wait(name, {"n": 1}, headers=[("h", b"1")])
    with reader(bootstrap, name, value_deserializer=from_json) as consumer:
        [record] = read(consumer, 1)
    again = pickle.loads(pickle.dumps(record))
    assert (again, again.value, again.headers) == (record, {"n": 1}, (("h", b"1"),))


class Noting(ProducerInterceptor, ConsumerInterceptor):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self.seen.append(record.value)
        return record

    def on_consume(self, records: list[Record[Any, Any]]) -> list[Record[Any, Any]]:
        self.seen += [record.value for record in records]
        return records


def test_interceptors_see_objects_and_a_partitioner_bytes(
    bootstrap: str, make_topic: MakeTopic, embedded_broker: EmbeddedBroker
) -> None:
    name = make_topic(embedded_broker, 2)
    noting = Noting()

    def by_size(topic: str, key: Any, value: bytes, count: int) -> int:
        return len(value) % count

    with Producer(
        bootstrap, value_serializer=to_json, interceptors=[noting], partitioner=by_size
    ) as producer:
        assert producer.send_and_wait(name, [1]).partition == 1
    with reader(bootstrap, name, value_deserializer=from_json, interceptors=[noting]) as consumer:
        read(consumer, 1)
    assert noting.seen == [[1], [1]]


def test_share_and_parallel_consumers_deserialize_too(bootstrap: str, topic: Callable[[], str]) -> None:
    name, group = topic(), f"group-{uuid.uuid4().hex[:12]}"
    with Producer(bootstrap, key_serializer=to_json, value_serializer=to_json) as producer:
        producer.send_and_wait(name, {"n": 1}, key={"not": "hashable"})
    settings: dict[str, Any] = {"key_deserializer": from_json, "value_deserializer": from_json}
    begin_at_the_first_record(bootstrap, f"share-{group}")
    with ShareConsumer(bootstrap, group_id=f"share-{group}", topics=[name], **settings) as consumer:
        [lent] = read(consumer, 1)
        assert (lent.key, lent.value, lent.raw.value) == ({"not": "hashable"}, {"n": 1}, b'{"n":1}')
    handled: list[Any] = []

    def handle(record: Record[Any, Any]) -> None:
        handled.append((record.key, record.value))
        parallel.stop()

    with ParallelConsumer(
        bootstrap, handle, group_id=group, topics=[name], auto_offset_reset="earliest", **settings
    ) as parallel:
        parallel.run()
    assert handled == [({"not": "hashable"}, {"n": 1})]


def test_serializers_of_a_registry_are_for_the_same_settings(
    bootstrap: str, topic: Callable[[], str], registry: Registry
) -> None:
    name = topic()
    with Producer(
        bootstrap,
        key_serializer=to_text,
        value_serializer=by_registry.AvroSerializer(registry, SCHEMA, schema_id="header"),
    ) as producer:
        producer.send_and_wait(name, {"number": 7}, key="a", headers=(("own", b"1"),))
        with pytest.raises(SerializationError, match="number"):
            producer.send(name, {"number": "seven"})
    with reader(bootstrap, name, value_deserializer=by_registry.AvroDeserializer(registry)) as consumer:
        [record] = read(consumer, 1)
        assert record.value == {"number": 7}
    assert [header for header, _ in record.headers] == ["own", "__value_schema_id"]


def test_asyncio_takes_the_serializers_of_asyncio(
    bootstrap: str, topic: Callable[[], str], registry: Registry, registry_url: str
) -> None:
    name = topic()

    async def main() -> Any:
        async with aio.Registry(registry_url) as awaited:
            async with aio.Producer(
                bootstrap, value_serializer=aio.AvroSerializer(awaited, SCHEMA)
            ) as producer:
                await producer.send_and_wait(name, {"number": 7})
            async with aio.Producer(
                bootstrap, value_serializer=by_registry.AvroSerializer(registry, SCHEMA)
            ) as producer:
                with pytest.raises(InvalidSettingError, match=r"takes the serializers of barnabas\.aio"):
                    await producer.send(name, {"number": 7})
            with pytest.raises(InvalidSettingError, match=r"takes the serializers of barnabas\.registry"):
                Producer(bootstrap, value_serializer=aio.AvroSerializer(awaited, SCHEMA))
            with pytest.raises(InvalidSettingError, match="cannot be awaited"):
                Consumer(bootstrap, value_deserializer=aio.AvroDeserializer(awaited))

    asyncio.run(main())
    with reader(bootstrap, name, value_deserializer=by_registry.AvroDeserializer(registry)) as consumer:
        assert [record.value for record in read(consumer, 1)] == [{"number": 7}]


FLIGHT = pa.struct([("number", pa.int64()), ("to", pa.string())])


def test_columns_need_no_registry(bootstrap: str, topic: Callable[[], str]) -> None:
    name = topic()
    flights = [{"number": 1, "to": "JFK"}, {"number": 2, "to": None}]
    rows = pa.table({"key": pa.array(["a", "b"]), "value": pa.array(flights, FLIGHT)})
    with Producer(bootstrap) as producer:
        producer.send_arrow(name, rows, key=formats.text(), value=formats.json(FLIGHT)).result(30)
        producer.send_and_wait(name, b"{oops")
    with reader(bootstrap, name) as consumer:
        read_batches = [consumer.poll_arrow(10, key=formats.text(), value=formats.json(FLIGHT))]
        while sum(batch.num_rows for batch in read_batches) < 3:
            read_batches.append(consumer.poll_arrow(10, key=formats.text(), value=formats.json(FLIGHT)))
    table = pa.Table.from_batches(read_batches)
    assert table["key"].to_pylist() == ["a", "b", None]
    assert table["value"].to_pylist() == [*flights, None]
    assert [error and error["bytes"] for error in table["valueError"].to_pylist()] == [None, None, b"{oops"]


def test_columns_of_asyncio_need_no_registry(bootstrap: str, topic: Callable[[], str]) -> None:
    name = topic()

    async def main() -> Any:
        rows = pa.record_batch({"value": pa.array([{"number": 1}], pa.struct([("number", pa.int64())]))})
        async with aio.Producer(bootstrap) as producer:
            await (await producer.send_arrow(name, rows, value=formats.json(FLIGHT)))
        async with aio.Consumer(bootstrap, topics=[name], auto_offset_reset="earliest") as consumer:
            return (await consumer.poll_arrow(30, value=formats.json(FLIGHT)))["value"].to_pylist()

    assert asyncio.run(main()) == [{"number": 1, "to": None}]


def test_a_column_that_does_not_fit_its_format_names_the_row(
    bootstrap: str, topic: Callable[[], str]
) -> None:
    rows = pa.table({"value": pa.array([{"number": 1}, {"number": None}])})
    form = formats.avro(SCHEMA)
    with Producer(bootstrap) as producer:
        with pytest.raises(SerializationError, match="value of row 1, field 'number'"):
            producer.send_arrow(topic(), rows, value=form)
        with pytest.raises(MisuseError, match="there is no column 'key' to be written as"):
            producer.send_arrow(topic(), rows, key=form)
