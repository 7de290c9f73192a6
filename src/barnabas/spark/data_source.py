"""What Spark finds under the name "barnabas": schema, readers and writers, each made on demand.

Every Spark session on the machine imports this module to learn the name, so it imports nothing that may be
missing or slow: clients and Arrow come with the first reader or writer.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
)

from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.options import SinkOptions, SourceOptions, sink_options, source_options
from barnabas.spark.short_errors import short_errors
from barnabas.spark.tables import is_being_created
from barnabas.spark.workers import begin_call

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

COLUMNS = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
}
HEADERS_TYPE = "array<struct<key: string, value: binary>>"
ERROR_TYPE = "struct<bytes: binary, field: string, message: string>"
# What Spark plans a read with where spark.sql.python.filterPushdown.enabled is set: a source is not told.
PUSHDOWN_PLANNER = "pyspark.sql.worker.data_source_pushdown_filters"


class DefaultSource(DataSource):
    """Kafka by the options of Spark's own connector."""

    @classmethod
    def name(cls) -> str:
        return "barnabas"

    @short_errors
    def schema(self) -> str:
        """The columns as DDL. Checks the options too, so that `load()` fails and not the first action."""
        types = COLUMNS if is_being_created(self.options) else _columns(source_options(self.options))
        return ", ".join(f"{name} {data_type}" for name, data_type in types.items())

    @short_errors
    def reader(self, schema: StructType) -> DataSourceReader:
        from barnabas.spark.reading.source import KafkaReader

        begin_call("plan a read")
        options = self._source_options(schema)
        if PUSHDOWN_PLANNER in sys.modules:
            from barnabas.spark.reading.filtering_source import FilteringKafkaReader

            return FilteringKafkaReader(options)
        return KafkaReader(options)

    @short_errors
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from barnabas.spark.pyspark_features import LIMITS_BATCHES
        from barnabas.spark.reading.stream_source import KafkaStreamReader

        options = self._source_options(schema)
        if not LIMITS_BATCHES:
            from barnabas.spark.older_pyspark import UnlimitedStreamReader

            return UnlimitedStreamReader(options)
        return KafkaStreamReader(options)

    @short_errors
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from barnabas.spark.writing.exactly_once import ExactlyOnceWriter
        from barnabas.spark.writing.sink import KafkaWriter

        begin_call("plan a write")
        if overwrite:
            raise InvalidOptionError('a topic cannot be overwritten, only appended to: use mode("append")')
        options = self._sink_options(schema)
        is_once = options.delivery == "exactly-once"
        return ExactlyOnceWriter(options, schema) if is_once else KafkaWriter(options, schema)

    @short_errors
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from barnabas.spark.pyspark_features import STREAMS_ARROW_TO_SINKS
        from barnabas.spark.writing.exactly_once import ExactlyOnceStreamWriter
        from barnabas.spark.writing.sink import KafkaStreamWriter

        begin_call("plan or commit a batch's write")
        # `overwrite` stands for the output mode "complete": every batch appends the whole result.
        options = self._sink_options(schema)
        is_once = options.delivery == "exactly-once"
        writer = ExactlyOnceStreamWriter(options, schema) if is_once else KafkaStreamWriter(options, schema)
        if not STREAMS_ARROW_TO_SINKS:
            from barnabas.spark.older_pyspark import RowStreamWriter

            return RowStreamWriter(writer, schema)
        return writer

    def _source_options(self, schema: StructType) -> SourceOptions:
        """With what decodes rows of this schema. Raises: InvalidOptionError where it is not the source's."""
        options = source_options(self.options)
        names = _column_names(options)
        if schema.fieldNames() != names:
            raise InvalidOptionError(
                f"the columns are fixed ({', '.join(names)}): leave out schema(...), which gives "
                f"{', '.join(schema.fieldNames())}"
            )
        if options.formats is None:
            return options
        from barnabas.spark.columns.decoding import decoder

        headers = options.include_headers
        made = decoder(options.formats, schema, options.consumer_settings, headers=headers)
        return replace(options, decoder=made)

    def _sink_options(self, schema: StructType) -> SinkOptions:
        """With what encodes rows of this schema."""
        options = sink_options(self.options)
        if not options.formats:
            return options
        from barnabas.spark.columns.encoding import encoder

        return replace(options, encoder=encoder(options.formats, schema))


def _column_names(options: SourceOptions) -> list[str]:
    names = [*COLUMNS, *(["headers"] if options.include_headers else [])]
    if options.formats is not None and options.formats.mode == "permissive":
        names += [f"{side.side}Error" for side in options.formats.sides]
    return names


def _columns(options: SourceOptions) -> dict[str, str]:
    """The types of the source's columns. Raises: InvalidOptionError, MissingExtraError."""
    types = COLUMNS | {"headers": HEADERS_TYPE}
    if options.formats is not None:
        from barnabas.spark.columns.column_types import type_ddl

        for side in options.formats.sides:
            types[side.side] = type_ddl(side)
            types[f"{side.side}Error"] = ERROR_TYPE
    return {name: types[name] for name in _column_names(options)}
