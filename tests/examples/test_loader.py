"""The replay, read back from a broker."""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from examples.flights import loader
from examples.flights.data import FlightData
from examples.flights.topics import OWNER_HEADER, Topics, prepare

from barnabas import Consumer, Producer, Record, TopicPartition


@pytest.fixture
def topics(embedded_broker: Any, topic: Callable[[], str]) -> Topics:
    topics = Topics(f"{topic()}-")
    prepare(embedded_broker.bootstrap, topics)
    return topics


def replay(bootstrap: str, topics: Topics, data: FlightData) -> Counter[str]:
    delivered: Counter[str] = Counter()
    with Producer(bootstrap) as producer:
        ends = loader.by_day(data)
        assert loader.replay(
            producer, topics, data, ends, lambda topic, rows: delivered.update({topic: rows})
        )
    return delivered


def records(bootstrap: str, topic: str) -> list[Record]:
    """All records of a topic, in the order of each partition."""
    found: list[Record] = []
    with Consumer(bootstrap, enable_auto_commit=False, auto_offset_reset="earliest") as consumer:
        partitions = [TopicPartition(topic, info.partition) for info in consumer.partitions_for(topic)]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        while sum(ends.values()) > len(found):
            batch = consumer.poll(timeout=60)
            assert batch
            found += batch
    return found


def test_every_row_and_a_marker_are_delivered(embedded_broker: Any, topics: Topics, year: FlightData) -> None:
    days = year.first_days(3)
    delivered = replay(embedded_broker.bootstrap, topics, days)
    assert delivered == {
        topics.airlines: 16,
        topics.weather: len(days.weather) + 1,
        topics.flights: len(days.flights) + 1,
    }
    values = [json.loads(record.value) for record in records(embedded_broker.bootstrap, topics.flights)]
    assert len(values) == len(days.flights) + 1
    assert sum(value.get("dep_time") is None for value in values) == days.flights["dep_time"].isna().sum() + 1


def test_a_partition_holds_flights_in_event_time_order_and_whole_carriers(
    embedded_broker: Any, topics: Topics, year: FlightData
) -> None:
    replay(embedded_broker.bootstrap, topics, year.first_days(3))
    times: defaultdict[int, list[str]] = defaultdict(list)
    partitions: defaultdict[bytes | None, set[int]] = defaultdict(set)
    for record in records(embedded_broker.bootstrap, topics.flights):
        value = json.loads(record.value)
        times[record.partition].append(value["scheduled_departure"])
        if record.key is not None:
            assert record.key == value["carrier"].encode()
            partitions[record.key].add(record.partition)
    assert all(column == sorted(column) for column in times.values())
    assert len(times) == 4
    assert all(len(where) == 1 for where in partitions.values())


def test_the_marker_comes_last(embedded_broker: Any, topics: Topics, small: FlightData) -> None:
    replay(embedded_broker.bootstrap, topics, small)
    values = [json.loads(record.value) for record in records(embedded_broker.bootstrap, topics.weather)]
    assert [value.get("end_of_replay") for value in values] == [None, None, None, True]
    assert values[-1]["hour"] > "2014-01-01"


def test_records_say_that_they_are_the_demos(embedded_broker: Any, topics: Topics, small: FlightData) -> None:
    replay(embedded_broker.bootstrap, topics, small)
    for topic in [topics.flights, topics.weather, topics.airlines]:
        for record in records(embedded_broker.bootstrap, topic):
            assert [tuple(header) for header in record.headers] == [OWNER_HEADER]


def test_a_replay_that_is_stopped_sends_no_marker(
    embedded_broker: Any, topics: Topics, small: FlightData
) -> None:
    with Producer(embedded_broker.bootstrap) as producer:
        first_day = itertools.islice(loader.by_day(small), 1)
        assert not loader.replay(producer, topics, small, first_day, lambda topic, rows: None)
    values = [json.loads(record.value) for record in records(embedded_broker.bootstrap, topics.flights)]
    assert [value["carrier"] for value in values] == ["AA"] * 5


def test_the_clock_moves_event_time_at_the_speed_asked_for_and_stops(small: FlightData) -> None:
    stopped = threading.Event()
    ends = []
    for end in loader.by_clock(small, 3600, stopped):
        ends.append(end)
        if len(ends) == 3:
            stopped.set()
    first = small.weather["event_time"].min()
    assert len(ends) == 3
    assert ends == sorted(ends)
    # three ticks of half a second are one hour and a half, and more on a busy machine
    assert (ends[-1] - first).total_seconds() >= 3 * loader.TICK_SECONDS * 3600


def test_a_replay_by_the_clock_delivers_everything(
    embedded_broker: Any, topics: Topics, small: FlightData
) -> None:
    ends = loader.by_clock(small, 1_000_000, threading.Event())
    with Producer(embedded_broker.bootstrap) as producer:
        assert loader.replay(producer, topics, small, ends, lambda topic, rows: None)
    assert len(records(embedded_broker.bootstrap, topics.flights)) == len(small.flights) + 1
