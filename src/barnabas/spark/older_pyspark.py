"""The streaming source and sink for a PySpark before 4.2: what it calls differently, as ours expect it.

Imported only where `pyspark_features` says so.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.conversion import LocalDataToArrowConversion
from pyspark.sql.datasource import (
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from barnabas.spark.errors import UnsupportedOptionError
from barnabas.spark.options import FOR_LIMITED_BATCHES, SourceOptions
from barnabas.spark.planning.offsets import Document
from barnabas.spark.pyspark_features import ReadAllAvailable
from barnabas.spark.reading.stream_source import KafkaStreamReader

ROWS_PER_BATCH = 10_000


class UnlimitedStreamReader(DataSourceStreamReader):
    """For a Spark that does not tell where the query stands when it asks for the latest offset. It does tell
    once when it goes on from a checkpoint: it has an empty batch planned at that offset.

    Raises: UnsupportedOptionError for options that limit batches. Such a Spark would end a query with the
    trigger availableNow after its first limited batch.
    """

    def __init__(self, options: SourceOptions) -> None:
        limits = [name for name in FOR_LIMITED_BATCHES if name in options.for_streaming_only]
        if limits:
            raise UnsupportedOptionError(
                f"{limits[0]} needs PySpark 4.2 or later, which lets a source limit batches"
            )
        self._reader = KafkaStreamReader(options)
        self._position: Document | None = None

    def initialOffset(self) -> Document:
        return self._reader.initialOffset()

    def latestOffset(self) -> Document:  # pyright: ignore[reportIncompatibleMethodOverride]
        start = self._reader.initialOffset() if self._position is None else self._position
        self._position = self._reader.latestOffset(start, ReadAllAvailable())
        return self._position

    def partitions(self, start: Document, end: Document) -> list[InputPartition]:
        self._position = end
        return self._reader.partitions(start, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reader.read(partition)

    def commit(self, end: Document) -> None:
        self._reader.commit(end)

    def stop(self) -> None:
        self._reader.stop()


class RowStreamWriter(DataSourceStreamWriter):
    """For a Spark that hands a streaming sink rows: they are made into Arrow, which costs time for each."""

    def __init__(self, writer: DataSourceStreamWriter, schema: StructType) -> None:
        self._writer = writer
        self._schema = schema

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        return self._writer.write(cast(Any, self._as_arrow(iterator)))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        self._writer.commit(list(messages), batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        self._writer.abort(list(messages), batchId)

    def _as_arrow(self, rows: Iterator[Row]) -> Iterator[pa.RecordBatch]:
        while taken := list(islice(rows, ROWS_PER_BATCH)):
            table = LocalDataToArrowConversion.convert(taken, self._schema, use_large_var_types=False)
            yield from table.to_batches()
