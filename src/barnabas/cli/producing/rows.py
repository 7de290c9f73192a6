"""`produce --rows`: each row of a CSV or Parquet file is a record.

Owns which columns are a record's. Knows nothing of producers.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from barnabas.cli.options import UsageError
from barnabas.cli.producing.json_records import JsonRecord
from barnabas.errors import MissingExtraError, SerializationError

SUFFIXES = (".csv", ".parquet")
_ROWS_TOGETHER = 10_000


def records_of(files: Sequence[Path], key_column: str | None) -> Iterator[JsonRecord]:
    """Where a file has a column `value`, its columns are the parts of records, as `consume --output` writes
    them; else a row as a whole is a value of JSON. `key_column`: what is the key. Raises: UsageError,
    SerializationError (names file and row), MissingExtraError."""
    for path in files:
        number = 0
        for batch in _batches(path):
            for record in _records(batch, path, number, key_column):
                number += 1
                yield record


def check(files: Sequence[Path]) -> None:
    """Raises: UsageError where the names are none of such files."""
    if not files:
        raise UsageError("--rows needs --file, once or several times")
    for path in files:
        if path.suffix.lower() not in SUFFIXES:
            raise UsageError(f"--rows: {str(path)!r} ends in none of {', '.join(SUFFIXES)}")


def _batches(path: Path) -> Iterator[Any]:
    try:
        import pyarrow as pa
        from pyarrow import csv, parquet
    except ImportError:
        raise MissingExtraError("produce --rows", "arrow") from None
    try:
        if path.suffix.lower() == ".parquet":
            with parquet.ParquetFile(path) as file:
                yield from file.iter_batches(batch_size=_ROWS_TOGETHER)
        else:
            with csv.open_csv(path) as reader:
                yield from reader
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"--file {str(path)!r} cannot be read: {error}") from None


def _records(batch: Any, path: Path, first: int, key_column: str | None) -> Iterator[JsonRecord]:
    names = batch.schema.names
    if key_column is not None and key_column not in names:
        raise UsageError(f"--key-column {key_column!r} is no column of {str(path)!r}: {', '.join(names)}")
    columns = {name: batch.column(name) for name in names}
    has_value = "value" in columns
    values = _bytes_of(columns["value"]) if has_value else _rows_as_json(batch, key_column)
    key = key_column or ("key" if has_value and "key" in columns else None)
    keys = [None] * batch.num_rows if key is None else _bytes_of(columns[key])
    headers = _pylist(columns, "headers", has_value, batch.num_rows)
    partitions = _pylist(columns, "partition", has_value, batch.num_rows)
    timestamps = _pylist(columns, "timestamp", has_value, batch.num_rows)
    for row in range(batch.num_rows):
        try:
            yield JsonRecord(
                keys[row],
                values[row],
                _headers(headers[row]),
                partitions[row],
                _milliseconds(timestamps[row]),
            )
        except (ValueError, TypeError) as error:
            raise SerializationError(f"{path.name}, row {first + row + 1}: {error}") from None


def _pylist(columns: dict[str, Any], name: str, is_asked_for: bool, count: int) -> list[Any]:
    return columns[name].to_pylist() if is_asked_for and name in columns else [None] * count


def _bytes_of(column: Any) -> list[bytes | None]:
    """Texts and bytes as they are, all else as JSON."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return [None if text is None else text.encode() for text in column.to_pylist()]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return column.to_pylist()
    if pa.types.is_null(kind):
        return [None] * len(column)
    return _json_of(column)


def _json_of(column: Any) -> list[bytes | None]:
    """By the types of Arrow: times, decimals and bytes have the forms that Spark's JSON has."""
    import pyarrow as pa

    from barnabas.formats import Codec
    from barnabas.formats import json as json_form

    if not pa.types.is_struct(column.type):
        whole = pa.StructArray.from_arrays([column], ["only"])
        found = Codec(json_form(whole.type)).encode(whole).to_pylist()
        return [
            None if is_null else json.dumps(json.loads(text)["only"], ensure_ascii=False).encode()
            for text, is_null in zip(found, column.is_null().to_pylist(), strict=True)
        ]
    return Codec(json_form(column.type)).encode(column).to_pylist()


def _rows_as_json(batch: Any, key_column: str | None) -> list[bytes | None]:
    import pyarrow as pa

    return _json_of(pa.StructArray.from_arrays(batch.columns, batch.schema.names))


def _headers(given: Any) -> list[tuple[str, bytes | None]]:
    """Of Parquet a list of names and values, of CSV an object of JSON."""
    if given is None:
        return []
    if isinstance(given, str):
        found = json.loads(given)
        if not isinstance(found, dict):
            raise ValueError(f"headers are an object of JSON, not {given!r}")
        return [(name, None if value is None else str(value).encode()) for name, value in found.items()]
    return [(each["name"], each["value"]) for each in given]


def _milliseconds(given: Any) -> int | None:
    if given is None or isinstance(given, int):
        return given
    return round(given.timestamp() * 1000)
