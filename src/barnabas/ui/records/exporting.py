"""Files of what a search finds, in the forms of `barnabas consume --output`.

Owns how much goes into one. A file is written before any of it is sent, so that an error is an answer of its
own, and the file's name says whether it is whole. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from barnabas.records.asked import UsageError
from barnabas.records.columns import ByLooking
from barnabas.records.fields import NAMES, FieldPath
from barnabas.records.files import file_output
from barnabas.ui.records.reading import Progress, RecordReader
from barnabas.ui.records.search import RecordSearch
from barnabas.values import frozen

KINDS = {"jsonl": "application/x-ndjson", "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
MOST_EXPORTED = 100_000
MOST_BYTES = 128 << 20
"""Of keys and values."""
EXPORT_SECONDS = 30.0


@frozen
class Exported:
    """`is_whole`: all that the search finds is in it."""

    records: int
    is_whole: bool


async def export(reader: RecordReader, search: RecordSearch, path: Path) -> Exported:
    """Writes the file, in the form that its name says. Raises: UsageError, MissingExtraError,
    BarnabasError."""
    paths = [FieldPath(name, "--select") for name in NAMES] if path.suffix == ".parquet" else []
    begins, ends = await reader.range(search)
    progress = Progress()
    count, size = 0, 0
    output = file_output(path, paths, ByLooking(), [])
    try:
        async for batch in reader.every(search, begins, ends, progress, EXPORT_SECONDS):
            rows = [shown.as_read for _, shown in batch][: MOST_EXPORTED - count]
            await asyncio.to_thread(output.write, rows)
            count += len(rows)
            size += sum(len(row.key or b"") + len(row.value or b"") for row in rows)
            if len(rows) < len(batch) or size > MOST_BYTES:
                break
    finally:
        await asyncio.to_thread(output.close)
    return Exported(count, progress.is_whole)


def suffix_of(kind: str) -> str:
    """Raises: UsageError."""
    if kind not in KINDS:
        raise UsageError(f"records are exported as {', '.join(KINDS)}, not as {kind!r}")
    return f".{kind}"
