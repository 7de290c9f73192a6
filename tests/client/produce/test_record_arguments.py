"""A record with a part of a wrong type is refused at once; the error names the argument and the topic."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from barnabas import Producer, ProducerInterceptor, aio
from barnabas.errors import NoSuchPartitionError, UnusableRecordError
from barnabas.testing import EmbeddedBroker, free_ports

PARTS_OF_WRONG_TYPES = [
    ({"value": "v"}, "expected bytes for value, got 'v': encode it"),
    ({"value": 5}, "expected bytes for value, got 5"),
    ({"key": "k"}, "expected bytes for key, got 'k': encode it"),
    ({"headers": {"trace": b"1"}}, "expected headers as pairs [('trace', b'1')], got {'trace': b'1'}"),
    ({"headers": 5}, "expected headers as pairs [('trace', b'1')], got 5"),
    ({"headers": ["ab"]}, "expected a pair such as ('trace', b'1') for each of headers, got 'ab'"),
    ({"headers": [("a",)]}, "expected a pair such as ('trace', b'1') for each of headers, got ('a',)"),
    ({"headers": [("a", "1")]}, "expected bytes for the value of header 'a', got '1': encode it"),
    ({"headers": [(b"a", b"1")]}, "expected a str for the name of a header, got b'a'"),
    ({"partition": "0"}, "expected an int for partition, got '0'"),
    ({"timestamp": 1.5}, "expected an int of milliseconds since 1970 for timestamp, got 1.5"),
]
cases = pytest.mark.parametrize(("part", "complaint"), PARTS_OF_WRONG_TYPES)


@pytest.fixture
def topic(embedded_broker: EmbeddedBroker, make_topic: Any) -> str:
    return make_topic(embedded_broker)


@cases
def test_a_part_of_a_wrong_type_is_named_with_its_topic(
    embedded_broker: EmbeddedBroker, topic: str, part: dict[str, Any], complaint: str
) -> None:
    class Watching(ProducerInterceptor):
        pass

    async def main() -> None:
        async with aio.Producer(embedded_broker.bootstrap) as producer:
            await (await producer.send(topic, b"v"))
            with pytest.raises(TypeError) as raised:
                await producer.send(topic, **part)
            assert str(raised.value) == f"topic {topic!r}: {complaint}"

    asyncio.run(main())
    for settings in ({}, {"interceptors": [Watching()]}):
        with Producer(embedded_broker.bootstrap, **settings) as producer:
            producer.send(topic, b"v").result(30)
            with pytest.raises(TypeError) as raised:
                producer.send(topic, **part)
            assert str(raised.value) == f"topic {topic!r}: {complaint}"


@cases
def test_it_is_named_before_anything_is_known_of_the_topic(part: dict[str, Any], complaint: str) -> None:
    nobody = f"127.0.0.1:{free_ports()[0]}"
    with Producer(nobody) as producer, pytest.raises(TypeError) as raised:
        producer.send("orders", **part)
    assert str(raised.value) == f"topic 'orders': {complaint}"


def test_a_topic_that_is_no_text_is_named(embedded_broker: EmbeddedBroker) -> None:
    for interceptors in ([], [ProducerInterceptor()]):
        with Producer(embedded_broker.bootstrap, interceptors=interceptors) as producer:
            topic: Any = b"orders"
            with pytest.raises(TypeError, match=r"^expected a str for topic, got b'orders'$"):
                producer.send(topic, b"v")


def test_a_number_that_no_record_can_have_is_named(embedded_broker: EmbeddedBroker, topic: str) -> None:
    with Producer(embedded_broker.bootstrap) as producer:
        producer.send(topic, b"v").result(30)
        with pytest.raises(UnusableRecordError, match=f"^topic '{topic}': partition {2**40} does not fit 32"):
            producer.send(topic, b"v", partition=2**40)
        with pytest.raises(UnusableRecordError, match=f"^topic '{topic}': timestamp {2**70} does not fit 64"):
            producer.send(topic, b"v", timestamp=2**70)
        with pytest.raises(UnusableRecordError, match=f"^topic '{topic}': timestamp -5 ms is before 1970$"):
            producer.send(topic, b"v", timestamp=-5)


def test_a_long_value_is_shown_in_part() -> None:
    value: Any = "v" * 100_000
    with Producer(f"127.0.0.1:{free_ports()[0]}") as producer, pytest.raises(TypeError) as raised:
        producer.send("orders", value)
    assert len(str(raised.value)) < 120


def test_a_partition_that_is_not_there_is_named_when_max_block_ms_has_passed(
    embedded_broker: EmbeddedBroker, topic: str
) -> None:
    with Producer(embedded_broker.bootstrap, max_block_ms=300) as producer:
        producer.send(topic, b"v").result(30)
        with pytest.raises(NoSuchPartitionError, match=f"^topic {topic} has no partition 99"):
            producer.send(topic, b"v", partition=99)
