"""What values of the topics are: JSON, or Avro by a schema registry.

Owns the Avro schemas. The rest of the demo has values as lines of JSON, whichever they are in Kafka.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from examples.flights.figures import COUNTS, MEASURES
from examples.flights.topics import Topics

import barnabas.formats
from barnabas import Registry, RegistryFormat
from barnabas.formats import Codec

_CLOCK = {"type": "long", "logicalType": "local-timestamp-millis"}
_INSTANT = {"type": "long", "logicalType": "timestamp-millis"}
_DAY = {"type": "int", "logicalType": "date"}

_FLIGHT = {
    "scheduled_departure": _CLOCK,
    "time_hour": _INSTANT,
    "carrier": "string",
    "flight": "int",
    "tailnum": "string",
    "origin": "string",
    "dest": "string",
    "dep_time": "int",
    "dep_delay": "int",
    "arr_delay": "int",
    "distance": "int",
    "end_of_replay": "boolean",
}
_WEATHER = {
    "hour": _CLOCK,
    "time_hour": _INSTANT,
    "origin": "string",
    **dict.fromkeys(
        ("temp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"), "double"
    ),
    "end_of_replay": "boolean",
}
_AIRLINE = {"carrier": "string", "name": "string"}
_DELAY = {
    "carrier": "string",
    "origin": "string",
    **dict.fromkeys(COUNTS, "long"),
    **dict.fromkeys(MEASURES, "double"),
    "day": _DAY,
    "airline": "string",
}
# What the pipeline reads of a flight and of the weather: the rest is left out as values are read.
_FLIGHT_READ = ("scheduled_departure", "time_hour", "carrier", "origin", "dep_time", "dep_delay")
_WEATHER_READ = ("hour", "time_hour", "origin", "precip")


class JsonForm:
    """Values are what they are."""

    registry_url: str | None = None

    def written(self, topic: str, lines: pa.Array) -> pa.Array:
        return lines

    def lines(self, topic: str, values: pa.Array) -> pa.Array:
        return values

    def reading(self, topic: str, ddl: str) -> dict[str, str]:
        """Options of a source; `ddl` has the fields that are read."""
        return {"value.format": "json", "value.schema": ddl}

    def writing(self, topic: str) -> dict[str, str]:
        """Options of a sink."""
        return {"value.format": "json"}


class AvroForm:
    """Values are Avro; their schemas are registered at `url` when the first is written."""

    def __init__(self, url: str, topics: Topics) -> None:
        self.registry_url = url
        self._registry = Registry(url)
        self._schemas = {
            topics.flights: _schema("Flight", _FLIGHT),
            topics.weather: _schema("Weather", _WEATHER),
            topics.airlines: _schema("Airline", _AIRLINE),
            topics.delays: _schema("Delay", _DELAY),
        }
        self._read = {
            topics.flights: _schema("Flight", {name: _FLIGHT[name] for name in _FLIGHT_READ}),
            topics.weather: _schema("Weather", {name: _WEATHER[name] for name in _WEATHER_READ}),
        }
        self._formats: dict[str, tuple[RegistryFormat, Codec]] = {}

    def written(self, topic: str, lines: pa.Array) -> pa.Array:
        format, codec = self._format(topic)
        column, errors = codec.decode(lines)
        if len(errors):
            raise ValueError(f"a record of {topic!r} is not of its schema: {errors[0]}")
        return format.run(format.bytes_of(column))

    def lines(self, topic: str, values: pa.Array) -> pa.Array:
        format, codec = self._format(topic)
        column, errors = format.run(format.column_of(values))
        if len(errors):
            raise ValueError(f"a record of {topic!r} is not of its schema: {errors[0]}")
        return codec.encode(column)

    def reading(self, topic: str, ddl: str) -> dict[str, str]:
        options = {"value.format": "avro", "schema.registry.url": self.registry_url}
        if topic in self._read:
            options["value.schema"] = self._read[topic]
        return options

    def writing(self, topic: str) -> dict[str, str]:
        return {
            "value.format": "avro",
            "schema.registry.url": self.registry_url,
            "value.schema": self._schemas[topic],
        }

    def _format(self, topic: str) -> tuple[RegistryFormat, Codec]:
        if topic not in self._formats:
            format = RegistryFormat(self._registry, f"{topic}-value", schema=self._schemas[topic])
            self._formats[topic] = format, Codec(barnabas.formats.json(format.run(format.data_type())))
        return self._formats[topic]


Form = JsonForm | AvroForm
AS_JSON = JsonForm()


def _schema(name: str, fields: dict[str, Any]) -> str:
    """Any field may be missing."""
    return json.dumps(
        {
            "type": "record",
            "name": name,
            "fields": [{"name": n, "type": ["null", kind], "default": None} for n, kind in fields.items()],
        }
    )
