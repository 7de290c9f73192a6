"""Replays the tables into Kafka, in event-time order.

Owns the pace of the replay and the form of the records. Knows nothing of who reads them.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa
from examples.flights.data import FLIGHT_COLUMNS, WEATHER_COLUMNS, FlightData
from examples.flights.forms import AS_JSON, Form
from examples.flights.topics import OWNER_HEADER, Topics

from barnabas import Producer

TICK_SECONDS = 0.5
DELIVERY_TIMEOUT_SECONDS = 60.0
SLICES_UNDER_WAY = 4

# Beyond any window and any watermark delay. The fields that the pipeline joins on must be there: Spark leaves
# rows without them out of a join before they can move the watermark.
_MARKER = {"end_of_replay": True, "origin": "EWR", "time_hour": "2015-01-01T05:00:00Z"}
FLIGHTS_MARKER = {**_MARKER, "scheduled_departure": "2015-01-01T00:00:00"}
WEATHER_MARKER = {**_MARKER, "hour": "2015-01-01T00:00:00"}

_HEADER = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@dataclass
class _Stream:
    """A table on its way into a topic: rows before `sent` are with the producer."""

    topic: str
    table: pd.DataFrame
    columns: list[str]
    key: str
    sent: int = 0


def by_day(data: FlightData) -> Iterator[pd.Timestamp]:
    """The end of each day from the first event to the last: a replay at full speed."""
    first, last = _span(data)
    yield from pd.date_range(first.floor("D"), last.floor("D")) + pd.Timedelta(days=1)


def by_clock(data: FlightData, speed: float, stopped: threading.Event) -> Iterator[pd.Timestamp]:
    """Where event time is, every TICK_SECONDS, at `speed` times real time, until `stopped`."""
    first, last = _span(data)
    started = time.monotonic()
    now = first
    while now <= last and not stopped.wait(TICK_SECONDS):
        now = first + pd.Timedelta(seconds=int((time.monotonic() - started) * speed))
        yield now


def replay(
    producer: Producer,
    topics: Topics,
    data: FlightData,
    ends: Iterator[pd.Timestamp],
    on_delivered: Callable[[str, int], None],
    form: Form = AS_JSON,
) -> bool:
    """Sends what happened before each of `ends`, then the markers that end the replay.

    `on_delivered(topic, rows)` is called as Kafka acknowledges. Returns whether the data came to their end.
    Raises: the first error of a delivery.
    """
    deliveries: list[tuple[str, pa.Table, object]] = []

    def send(topic: str, table: pa.Table) -> None:
        place = table.column_names.index("value")
        values = form.written(topic, table.column("value").combine_chunks())
        table = table.set_column(place, "value", values)
        deliveries.append((topic, table, producer.send_arrow(topic, table)))

    def wait_for_deliveries(left: int) -> None:
        while len(deliveries) > left:
            topic, _, delivery = deliveries.pop(0)
            on_delivered(topic, delivery.result(DELIVERY_TIMEOUT_SECONDS))

    send(topics.airlines, _records(data.airlines, "carrier"))
    # the weather of an hour goes before the flights of that hour
    streams = [
        _Stream(topics.weather, data.weather, WEATHER_COLUMNS, "origin"),
        _Stream(topics.flights, data.flights, FLIGHT_COLUMNS, "carrier"),
    ]
    for end in ends:
        for stream in streams:
            rows = _take(stream, end)
            if len(rows):
                send(stream.topic, _records(rows, stream.key))
        wait_for_deliveries(SLICES_UNDER_WAY)
    finished = all(stream.sent == len(stream.table) for stream in streams)
    if finished:
        wait_for_deliveries(0)
        send(topics.flights, _table([json.dumps(FLIGHTS_MARKER)], [None]))
        send(topics.weather, _table([json.dumps(WEATHER_MARKER)], [None]))
    wait_for_deliveries(0)
    return finished


def _span(data: FlightData) -> tuple[pd.Timestamp, pd.Timestamp]:
    times = [data.flights["event_time"], data.weather["event_time"]]
    return min(column.min() for column in times), max(column.max() for column in times)


def _take(stream: _Stream, end: pd.Timestamp) -> pd.DataFrame:
    until = int(stream.table["event_time"].searchsorted(end))
    rows = stream.table[stream.columns].iloc[stream.sent : until]
    stream.sent = until
    return rows


def _records(rows: pd.DataFrame, key: str) -> pa.Table:
    values = rows.to_json(orient="records", lines=True, force_ascii=False).splitlines()
    return _table(values, rows[key].tolist())


def _table(values: list[str], keys: list[str | None]) -> pa.Table:
    headers = pa.array([[OWNER_HEADER]], _HEADER).take(pa.array([0] * len(values)))
    return pa.table(
        {
            "key": pa.array(keys, pa.string()).cast(pa.binary()),
            "value": pa.array(values, pa.string()).cast(pa.binary()),
            "headers": headers,
        }
    )
