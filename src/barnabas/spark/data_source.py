"""What Spark finds under the name "barnabas": schema, readers and writers, each made on demand.

Every Spark session on the machine imports this module to learn the name, so it imports nothing that may be
missing or slow: clients and Arrow come with the first reader or writer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)

from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.options import include_headers, sink_options, source_options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

COLUMNS = (
    "key binary, value binary, topic string, partition int, "
    "offset bigint, timestamp timestamp, timestampType int"
)
HEADERS_COLUMN = "headers array<struct<key: string, value: binary>>"


class DefaultSource(DataSource):
    """Kafka by the options of Spark's own connector."""

    @classmethod
    def name(cls) -> str:
        return "barnabas"

    def schema(self) -> str:
        """The fixed columns. Checks the options too, so that `load()` fails and not the first action."""
        source_options(self.options)
        return f"{COLUMNS}, {HEADERS_COLUMN}" if include_headers(self.options) else COLUMNS

    def reader(self, schema: StructType) -> DataSourceReader:
        from barnabas.spark.source import KafkaReader

        self._check_schema(schema)
        return KafkaReader(source_options(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from barnabas.spark.stream_source import KafkaStreamReader

        self._check_schema(schema)
        return KafkaStreamReader(source_options(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        from barnabas.spark.sink import KafkaWriter

        if overwrite:
            raise InvalidOptionError('a topic cannot be overwritten, only appended to: use mode("append")')
        return KafkaWriter(sink_options(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        from barnabas.spark.sink import KafkaStreamWriter

        # `overwrite` stands for the output mode "complete": every batch appends the whole result.
        return KafkaStreamWriter(sink_options(self.options), schema)

    def _check_schema(self, schema: StructType) -> None:
        names = [column.split()[0] for column in COLUMNS.split(", ")]
        if include_headers(self.options):
            names.append("headers")
        if schema.fieldNames() != names:
            raise InvalidOptionError(
                f"the columns are fixed ({', '.join(names)}): leave out schema(...), which gives "
                f"{', '.join(schema.fieldNames())}"
            )
