"""Files of records, whose names say what they are.

Knows nothing of where records come from.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from barnabas import Record
from barnabas.records.asked import UsageError
from barnabas.records.columns import ReadFormats, Records
from barnabas.records.fields import NAMES, FieldPath, fields_of
from barnabas.records.json_lines import RecordFormat, as_json
from barnabas.records.texts import ReadRecord

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")


class Output(Protocol):
    def write(self, records: Records) -> None: ...
    def close(self) -> None: ...


def file_output(
    path: Path, paths: Sequence[FieldPath], formats: ReadFormats, topics: Sequence[str]
) -> Output:
    """By the end of its name. `paths`: the fields that are wanted, none for all; `topics`: those that are
    read, none if they are not known yet. Raises: UsageError, MissingExtraError."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"--output {str(path)!r}: its name ends in none of {', '.join(SUFFIXES)}")
    if suffix == ".parquet":
        # Here and not above: nobody else waits for the import.
        from barnabas.records.parquet import ParquetFile, SelectedParquetFile

        if paths:
            return SelectedParquetFile(path, paths, formats, topics)
        return ParquetFile(path, formats, topics)
    try:
        stream = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"--output {str(path)!r} cannot be written: {error.strerror}") from None
    return _CsvFile(stream, paths) if suffix == ".csv" else _JsonFile(stream, paths)


def selected(paths: Sequence[FieldPath], *, as_json: bool) -> RecordFormat:
    """A line with these fields alone: an object of JSON, or divided by tabs."""

    def line_of(record: Record | ReadRecord) -> bytes:
        fields = fields_of(record)
        found = {path.text: path.of(fields) for path in paths}
        if as_json:
            return json.dumps(found, ensure_ascii=False).encode() + b"\n"
        return "\t".join(map(_cell, found.values())).encode() + b"\n"

    return line_of


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str) and not {"\t", "\n", "\r"} & set(value):
        return value
    return json.dumps(value, ensure_ascii=False)


class _JsonFile:
    def __init__(self, stream: Any, paths: Sequence[FieldPath]) -> None:
        self._stream = stream
        self._line_of = selected(paths, as_json=True) if paths else as_json

    def write(self, records: Records) -> None:
        self._stream.write(b"".join(map(self._line_of, records)).decode())
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()


class _CsvFile:
    """Keys and values are text, of JSON as it is written; headers are an object of JSON."""

    def __init__(self, stream: Any, paths: Sequence[FieldPath]) -> None:
        self._stream = stream
        self._writer = csv.writer(stream, lineterminator="\n")
        self._paths = paths or [FieldPath(name, "--select") for name in NAMES]
        self._writer.writerow([path.text for path in self._paths])

    def write(self, records: Records) -> None:
        for record in records:
            fields = fields_of(record)
            self._writer.writerow([_cell_of_csv(path.of(fields)) for path in self._paths])
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()


def _cell_of_csv(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | bool) else value
