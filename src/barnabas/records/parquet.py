"""Parquet files of records.

Owns their columns, and the types of these. Knows nothing of where records come from.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from barnabas import Record
from barnabas.errors import MissingExtraError
from barnabas.records.asked import UsageError
from barnabas.records.columns import ReadFormats, Records, SchemaColumns
from barnabas.records.fields import FieldPath, fields_of
from barnabas.records.texts import SIDES, ReadRecord, Side

ROWS_TOGETHER = 100_000
"""Of a row group."""


class ParquetFile:
    """Keys and values of one topic are columns of their schemas by a registry's format. By another format, or
    of several topics, they are strings, and without any bytes."""

    def __init__(self, path: Path, formats: ReadFormats, topics: Sequence[str]) -> None:
        self._parquet = _opened(path)
        self._path = path
        self._formats = formats
        self._topics = topics
        self._writer: Any = None
        self._schema: Any = None
        self._rows: list[Record | ReadRecord] = []

    def write(self, records: Records) -> None:
        self._rows += records
        if len(self._rows) >= ROWS_TOGETHER:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._writer is None:
            types = {side: self._type_of(side) for side in SIDES}
            self._schema = pa.schema(
                [
                    ("topic", pa.string()),
                    ("partition", pa.int32()),
                    ("offset", pa.int64()),
                    ("timestamp", _time_type()),
                    ("key", types["key"]),
                    ("value", types["value"]),
                    ("headers", _headers_type()),
                ]
            )
            self._writer = self._parquet.ParquetWriter(self._path, self._schema)
        rows, self._rows = self._rows, []
        columns = [
            pa.array([row.topic for row in rows], pa.string()),
            pa.array([row.partition for row in rows], pa.int32()),
            pa.array([row.offset for row in rows], pa.int64()),
            _times(rows),
            self._column("key", [row.key for row in rows]),
            self._column("value", [row.value for row in rows]),
            _headers(rows),
        ]
        self._writer.write_table(pa.table(columns, schema=self._schema))

    def _by_schema(self, side: Side) -> SchemaColumns | None:
        return self._formats.columns_of(self._topics[0], side) if len(self._topics) == 1 else None

    def _type_of(self, side: Side) -> Any:
        import pyarrow as pa

        by_schema = self._by_schema(side)
        if by_schema is not None:
            return by_schema.data_type()
        return pa.string() if self._formats.is_text(side) else pa.binary()

    def _column(self, side: Side, parts: Sequence[bytes | None]) -> Any:
        import pyarrow as pa

        by_schema = self._by_schema(side)
        if by_schema is not None:
            return by_schema.column(parts)
        return pa.array(parts, pa.binary()).cast(self._schema.field(side).type)


class SelectedParquetFile:
    """Fields of records, each a column. Their types are those of a registry's schema, else those of the
    values: where values of several types come, it is one that has them all, text if there is no other."""

    def __init__(
        self, path: Path, paths: Sequence[FieldPath], formats: ReadFormats, topics: Sequence[str]
    ) -> None:
        self._parquet = _opened(path)
        self._path = path
        self._paths = {each.text: each for each in paths}
        self._formats = formats
        self._topics = topics
        self._writer: Any = None
        self._schema: Any = None
        self._rows: list[Record | ReadRecord] = []
        self._written_to = path

    def write(self, records: Records) -> None:
        self._rows += records
        if len(self._rows) >= ROWS_TOGETHER:
            self._flush()

    def close(self) -> None:
        if self._rows or self._schema is None:
            self._flush()
        self._writer.close()
        if self._written_to != self._path:
            self._written_to.replace(self._path)

    def _flush(self) -> None:
        import pyarrow as pa

        rows, self._rows = self._rows, []
        columns = self._columns(rows)
        types = [columns[name].type for name in self._paths]
        if self._schema is not None:
            types = [_of_both(old.type, new) for old, new in zip(self._schema, types, strict=True)]
        schema = pa.schema(list(zip(self._paths, types, strict=True)))
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._path, schema)
        elif schema != self._schema:
            self._write_anew(schema)
        self._schema = schema
        self._writer.write_table(
            pa.table([_as(columns[name], schema.field(name).type) for name in self._paths], schema=schema)
        )

    def _write_anew(self, schema: Any) -> None:
        """What was written, with other types: a file has one schema."""
        import pyarrow as pa

        self._writer.close()
        before = self._written_to
        self._written_to = before.with_name(
            f".{self._path.name}.{'b' if before.name.endswith('.a') else 'a'}"
        )
        self._writer = self._parquet.ParquetWriter(self._written_to, schema)
        with self._parquet.ParquetFile(before) as file:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                columns = [
                    _as(table.column(name).combine_chunks(), schema.field(name).type) for name in self._paths
                ]
                self._writer.write_table(pa.table(columns, schema=schema))
        if before != self._path:
            before.unlink()

    def _columns(self, rows: Records) -> dict[str, Any]:
        import pyarrow as pa

        fields: list[dict[str, Any]] | None = None
        found: dict[str, Any] = {}
        for name, path in self._paths.items():
            match path.parts:
                case ["topic"]:
                    column = pa.array([row.topic for row in rows], pa.string())
                case ["partition"]:
                    column = pa.array([row.partition for row in rows], pa.int32())
                case ["offset"]:
                    column = pa.array([row.offset for row in rows], pa.int64())
                case ["timestamp"]:
                    column = _times(rows)
                case ["headers"]:
                    column = _headers(rows)
                case _:
                    column = self._by_schema(path, rows)
            if column is None:
                if fields is None:
                    fields = [fields_of(row) for row in rows]
                column = _inferred([path.of(each) for each in fields])
            found[name] = column
        return found

    def _by_schema(self, path: FieldPath, rows: Records) -> Any:
        """None where no schema says what is there."""
        import pyarrow as pa

        sides: dict[str, Side] = {each: each for each in SIDES}
        side = sides.get(path.parts[0])
        if side is None or len(self._topics) != 1:
            return None
        by_schema = self._formats.columns_of(self._topics[0], side)
        if by_schema is None:
            return None
        column = by_schema.column([row.key if side == "key" else row.value for row in rows])
        for name in path.parts[1:]:
            index = column.type.get_field_index(name) if pa.types.is_struct(column.type) else -1
            if index < 0:
                return None
            # Null where the whole struct is.
            column = column.flatten()[index]
        return column


def _opened(path: Path) -> Any:
    """The library that writes the file. That it cannot be written is said before anything is read. Raises:
    UsageError, MissingExtraError."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("--output to a Parquet file", "arrow") from None
    try:
        path.open("wb").close()
    except OSError as error:
        raise UsageError(f"--output {str(path)!r} cannot be written: {error.strerror}") from None
    return parquet


def _time_type() -> Any:
    import pyarrow as pa

    return pa.timestamp("ms", tz="UTC")


def _headers_type() -> Any:
    import pyarrow as pa

    return pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))


def _times(rows: Records) -> Any:
    import pyarrow as pa

    return pa.array([row.timestamp if row.timestamp >= 0 else None for row in rows], _time_type())


def _headers(rows: Records) -> Any:
    import pyarrow as pa

    return pa.array(
        [[{"name": name, "value": value} for name, value in row.headers] for row in rows], _headers_type()
    )


def _inferred(values: Sequence[Any]) -> Any:
    """A column of values of JSON."""
    import pyarrow as pa

    try:
        found = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return _texts(values)
    return _texts(values) if _has_no_fields(found.type) else found


def _texts(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    texts = [
        value
        if value is None or isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, default=str)
        for value in values
    ]
    return pa.array(texts, pa.string())


def _has_no_fields(data_type: Any) -> bool:
    """Parquet has no structs without fields, which `{}` becomes."""
    import pyarrow as pa

    if pa.types.is_struct(data_type):
        return data_type.num_fields == 0 or any(_has_no_fields(each.type) for each in data_type)
    return pa.types.is_list(data_type) and _has_no_fields(data_type.value_type)


def _of_both(one: Any, other: Any) -> Any:
    """A type that has the values of both; text where there is none."""
    import pyarrow as pa

    schemas = [pa.schema([("field", each)]) for each in (one, other)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field("field").type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.string()


def _as(column: Any, data_type: Any) -> Any:
    import pyarrow as pa

    if column.type == data_type:
        return column
    values = column.to_pylist()
    return _texts(values) if pa.types.is_string(data_type) else pa.array(values, data_type)
