"""Writing: DataFrame rows to topics, at least once; `exactly_once` is built on it.

A task waits until every row it was given is acknowledged before it reports to the driver; any row that is not
fails the task. Rows reach the producer as Arrow record batches; nothing here is done once a row.
"""

# PyArrow has no types, and makes its compute functions at run time.
# pyright: reportAttributeAccessIssue=false
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructType,
    TimestampType,
)

from barnabas.spark.clients import producers
from barnabas.spark.errors import InvalidRowsError
from barnabas.spark.options import SinkOptions
from barnabas.spark.pyspark_features import DataSourceStreamArrowWriter
from barnabas.spark.short_errors import short_errors
from barnabas.spark.workers import begin_task
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas.sync.producer import ArrowDelivery, Producer

RECORD_COLUMNS = ("key", "value", "headers", "partition", "timestamp")
"""What becomes part of a record. `topic` chooses where it goes; other columns are left out, as in Spark's
connector. `timestamp` is in addition to it: there the time of writing is all there is."""

MAX_PENDING = 100
"""Batches whose acknowledgements a task leaves for later, so that a failure shows before the last row."""


@frozen
class RowsWritten(WriterCommitMessage):
    """What a task tells the driver: this many rows are acknowledged."""

    rows: int


class KafkaWriter(DataSourceArrowWriter):
    """A batch write."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema, options)
        self._options = options

    @short_errors
    def write(self, iterator: Iterator[pa.RecordBatch]) -> RowsWritten:
        return write_rows(iterator, self._options)


class KafkaStreamWriter(DataSourceStreamArrowWriter):
    """A streaming write. A micro-batch that is repeated after a failure is written again."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema, options)
        self._options = options

    @short_errors
    def write(self, iterator: Iterator[pa.RecordBatch]) -> RowsWritten:
        return write_rows(iterator, self._options)


def check_columns(schema: StructType, options: SinkOptions) -> None:
    """Raises: InvalidRowsError where rows of this schema cannot become records."""
    types = {field.name: field.dataType for field in schema.fields}
    if "value" not in types:
        raise InvalidRowsError(f"the required column 'value' is missing; found {', '.join(types) or 'none'}")
    if options.topic is None and "topic" not in types:
        raise InvalidRowsError("where to? Give the option topic, or a column of that name")
    text_or_bytes = (StringType, BinaryType)
    as_they_are = {"key", "value"} - {each.side for each in options.formats}
    for side in sorted(as_they_are):
        _check_type(types, side, text_or_bytes, "string or binary", f"; or give {side}.format")
    _check_type(types, "partition", (IntegerType,), "int")
    _check_type(types, "timestamp", (TimestampType,), "timestamp")
    if options.topic is None:
        _check_type(types, "topic", (StringType,), "string")
    headers = types.get("headers")
    if headers is not None and not _is_headers(headers):
        raise InvalidRowsError(
            "column 'headers' must be array<struct<key: string, value: binary>>, "
            f"not {headers.simpleString()}"
        )


def _check_type(
    types: dict[str, DataType],
    name: str,
    accepted: tuple[type[DataType], ...],
    in_words: str,
    otherwise: str = "",
) -> None:
    if name in types and not isinstance(types[name], accepted):
        found = types[name].simpleString()
        raise InvalidRowsError(f"column {name!r} must be {in_words}, not {found}{otherwise}")


def _is_headers(column: DataType) -> bool:
    if not isinstance(column, ArrayType) or not isinstance(column.elementType, StructType):
        return False
    fields = column.elementType.fields
    return [(field.name, type(field.dataType)) for field in fields] == [
        ("key", StringType),
        ("value", BinaryType),
    ]


def write_rows(batches: Iterator[pa.RecordBatch], options: SinkOptions) -> RowsWritten:
    """The work of a task. Raises: as send_rows."""
    begin_task("write")
    with producers.lend(options.producer_settings) as producer:
        return RowsWritten(send_rows(encoded(batches, options), options.topic, producer))


def encoded(batches: Iterator[pa.RecordBatch], options: SinkOptions) -> Iterator[pa.RecordBatch]:
    """With keys and values as bytes. Raises: InvalidRowsError."""
    return batches if options.encoder is None else options.encoder.encode(batches)


def send_rows(batches: Iterator[pa.RecordBatch], fixed_topic: str | None, producer: Producer) -> int:
    """Sends everything and waits for the acknowledgements. Returns the number of rows.

    Raises: DeliveryError (names topic and cause), InvalidRowsError (null topic).
    """
    rows = 0
    pending: deque[ArrowDelivery] = deque()
    for batch in batches:
        for topic, records in records_by_topic(batch, fixed_topic):
            pending.append(producer.send_arrow(topic, records))
            rows += records.num_rows
        while len(pending) > MAX_PENDING:
            pending.popleft().result()
    # Nothing will join the last batches: they need not wait for linger_ms.
    producer.flush()
    for delivery in pending:
        delivery.result()
    return rows


def records_by_topic(batch: pa.RecordBatch, fixed_topic: str | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each topic, in their order, with the columns of a record. Raises: InvalidRowsError."""
    records = batch.select([name for name in RECORD_COLUMNS if name in batch.schema.names])
    if records.num_rows == 0:
        return
    if fixed_topic is not None:
        yield fixed_topic, records
        return
    topics = batch.column("topic")
    if topics.null_count:
        raise InvalidRowsError(
            f"column 'topic' is null in {topics.null_count} of {len(topics)} rows; "
            "give the option topic, or leave such rows out"
        )
    encoded = topics.dictionary_encode()
    names: list[str] = encoded.dictionary.to_pylist()
    if len(names) == 1:
        yield names[0], records
        return
    # This import takes 40 ms. A worker that writes to one topic does not need it.
    import pyarrow.compute as pc

    for code, name in enumerate(names):
        yield name, records.filter(pc.equal(encoded.indices, code))
