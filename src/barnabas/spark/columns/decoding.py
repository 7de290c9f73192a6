"""Decoding in the source: rows of bytes become rows of typed columns, and what cannot be read is not lost.

A `Decoder` is made on the driver and does its work in tasks, batch by batch; only for dead letters something
is done for each of them.
"""

# PyArrow has no types, and makes its compute functions at run time.
# pyright: reportAttributeAccessIssue=false
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, StructType

from barnabas.client.dead_letters import HEADER_PREFIX
from barnabas.formats import Codec, Form
from barnabas.formats.codec import error_column as error_values
from barnabas.registry.columns import named_in_headers
from barnabas.settings.table import CommonConfig, names
from barnabas.spark.clients import producers
from barnabas.spark.columns.column_types import arrow_type, check_nullable, form_of, to_ddl
from barnabas.spark.columns.format_options import DecodingOptions, FormatOptions, Side
from barnabas.spark.columns.registry_formats import SharedFormat, registry_format, shared, type_of
from barnabas.spark.errors import InvalidOptionError, UnreadableRecordError
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas.sync.producer import ArrowDelivery, Producer

STAGES: dict[Side, bytes] = {"key": b"KEY_CONVERTER", "value": b"VALUE_CONVERTER"}
_HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
# What Spark tells the tasks of a streaming query.
_TASK_PROPERTIES = {"query": "sql.streaming.queryId", "batch": "streaming.sql.batchId"}
_LETTER_COLUMNS = ("key", "value", "timestamp")
MAX_PENDING = 100
"""Batches of dead letters whose acknowledgements a task leaves for later."""


def error_column(side: Side) -> str:
    """The name of the column with what could not be read (mode permissive)."""
    return f"{side}Error"


@frozen
class _Problems:
    """Of one side of a batch: `rows`, `fields` and `messages` are as long as there are bad rows."""

    side: Side
    errors: pa.StructArray

    @property
    def rows(self) -> pa.Array:
        return self.errors.field("row")


@frozen
class Decoder:
    """Can be pickled. `connection` are the settings that dead letters are sent with."""

    forms: tuple[tuple[Side, Form | SharedFormat], ...]
    options: DecodingOptions
    keeps_headers: bool
    connection: Mapping[str, str]

    @property
    def needs_headers(self) -> bool:
        is_named_there = any(isinstance(form, SharedFormat) for _, form in self.forms)
        return self.keeps_headers or self.options.mode == "dead-letter" or is_named_there

    def decode(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows that are left, all columns in the order of the source's schema.

        Raises: UnreadableRecordError (mode failfast), DeliveryError (a dead letter), RegistryError.
        """
        codecs: list[tuple[Side, _Decoding]] = [(side, _decoding(side, form)) for side, form in self.forms]
        pending: deque[ArrowDelivery] = deque()
        # Nothing is lent where there are no dead letters.
        lent = producers.lend(self.connection) if self.options.mode == "dead-letter" else nullcontext()
        with lent as producer:
            for batch in batches:
                decoded, problems = self._decoded(batch, codecs)
                if producer is not None and problems:
                    pending.append(self._send_dead_letters(producer, batch, problems))
                    decoded = _without(decoded, problems)
                if decoded.num_rows:
                    yield decoded
                while len(pending) > MAX_PENDING:
                    pending.popleft().result()
            for delivery in pending:
                delivery.result()

    def _decoded(
        self, batch: pa.RecordBatch, codecs: list[tuple[Side, _Decoding]]
    ) -> tuple[pa.RecordBatch, list[_Problems]]:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        if not self.keeps_headers:
            columns.pop("headers", None)
        found: list[_Problems] = []
        is_strict = self.options.mode == "failfast"
        for side, codec in codecs:
            columns[side], errors = codec.decode(batch, is_strict)
            problems = _Problems(side, errors)
            if len(errors):
                if is_strict:
                    raise _unreadable(batch, problems, codec.name)
                found.append(problems)
            if self.options.mode == "permissive":
                columns[error_column(side)] = error_values(batch.column(side), errors)
        return pa.record_batch(columns), found

    def _send_dead_letters(
        self, producer: Producer, batch: pa.RecordBatch, problems: list[_Problems]
    ) -> ArrowDelivery:
        rows = _bad_rows(problems)
        letters = batch.take(rows)
        common = _told_by_spark() | {"read.at": str(round(time.time() * 1000)).encode()}
        reasons: dict[int, dict[str, bytes]] = {}
        for each in reversed(problems):
            # Where key and value are both bad, the key is named.
            for error in each.errors.to_pylist():
                reasons[error["row"]] = {
                    "stage": STAGES[each.side],
                    "field": error["field"].encode(),
                    "exception.message": error["error"].encode(),
                }
        places = letters.select(["topic", "partition", "offset", "headers"]).to_pylist()
        headers = [
            [*(place["headers"] or []), *_letter_headers(place, reasons[row] | common)]
            for row, place in zip(rows.to_pylist(), places, strict=True)
        ]
        columns: dict[str, Any] = {name: letters.column(name) for name in _LETTER_COLUMNS}
        columns["headers"] = pa.array(headers, _HEADERS_TYPE)
        topic = self.options.dead_letter_topic or ""
        return producer.send_arrow(topic, pa.record_batch(columns))


@frozen
class _Decoding:
    """Of one side: `decode` is given a batch, and whether to stop at the first value that cannot be read."""

    name: str
    decode: Callable[[pa.RecordBatch, bool], tuple[pa.Array, pa.StructArray]]


def _decoding(side: Side, form: Form | SharedFormat) -> _Decoding:
    if isinstance(form, SharedFormat):
        format = form.here()

        def decode(batch: pa.RecordBatch, stops: bool) -> tuple[pa.Array, pa.StructArray]:
            headers = named_in_headers(batch, side)
            return format.run(format.column_of(batch.column(side), headers, stop_at_error=stops))
    else:
        codec = Codec(form)

        def decode(batch: pa.RecordBatch, stops: bool) -> tuple[pa.Array, pa.StructArray]:
            return codec.decode(batch.column(side), stop_at_error=stops)

    return _Decoding(form.name, decode)


def decoder(
    options: DecodingOptions, schema: StructType, consumer_settings: Mapping[str, str], *, headers: bool
) -> Decoder:
    """`schema` is that of the source's rows. Raises: InvalidOptionError, MissingExtraError."""
    forms: list[tuple[Side, Form | SharedFormat]] = []
    for side in options.sides:
        data_type = schema[side.side].dataType
        check_nullable(data_type, side.side)
        if side.registry is not None:
            forms.append((side.side, _shared_format(side, data_type)))
            continue
        forms.append((side.side, form_of(side, arrow_type(data_type, side.side))))
    shared = names(CommonConfig)
    connection = {name: value for name, value in consumer_settings.items() if name in shared}
    return Decoder(tuple(forms), options, headers, connection)


def _shared_format(side: FormatOptions, data_type: DataType) -> SharedFormat:
    """Raises: InvalidOptionError, also where the registry has another schema by now than at load()."""
    format = registry_format(side)
    found = from_arrow_type(type_of(format, side.side), prefer_timestamp_ntz=True)
    if to_ddl(found) != to_ddl(data_type):
        raise InvalidOptionError(
            f"the {side.side}'s schema has changed in the registry since load(): load again, "
            f"or give {side.side}.schema.version"
        )
    return shared(format.with_type(arrow_type(data_type, side.side)), side.format)


def _unreadable(batch: pa.RecordBatch, problems: _Problems, name: str) -> UnreadableRecordError:
    error = problems.errors[0].as_py()
    place = {
        column: batch.column(column)[error["row"]].as_py() for column in ("topic", "partition", "offset")
    }
    field = f", field {error['field']!r}" if error["field"] else ""
    return UnreadableRecordError(
        f"{place['topic']}-{place['partition']} at offset {place['offset']}: the {problems.side}{field} "
        f"cannot be read as {name}: {error['error']}. To read on past such records set mode to permissive, "
        "or to dead-letter"
    )


def _bad_rows(problems: list[_Problems]) -> pa.Array:
    """In their order, each once."""
    return pa.array(np.unique(np.concatenate([each.rows.to_numpy() for each in problems])))


def _without(batch: pa.RecordBatch, problems: list[_Problems]) -> pa.RecordBatch:
    keep = np.ones(batch.num_rows, dtype=bool)
    keep[_bad_rows(problems).to_numpy()] = False
    return batch.filter(pc.equal(pa.array(keep), True))


def _told_by_spark() -> dict[str, bytes]:
    """The streaming query, by its id, and the number of its batch. Nothing in a batch query."""
    context = TaskContext.get()
    if context is None:
        return {}
    told = {name: context.getLocalProperty(property) for name, property in _TASK_PROPERTIES.items()}
    return {name: value.encode() for name, value in told.items() if value is not None}


def _letter_headers(place: Mapping[str, Any], reason: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """As of `barnabas.dead_letter`, with `stage`, `field`, `query` and `batch` in addition."""
    details = {name: str(place[name]).encode() for name in ("topic", "partition", "offset")} | dict(reason)
    return [{"key": HEADER_PREFIX + name, "value": value} for name, value in details.items()]
