"""Numbers of records in errors and in the log, in good English."""

from __future__ import annotations


def records_were(count: int) -> str:
    """`1 record was`, `2 records were`."""
    return f"{count} record was" if count == 1 else f"{count} records were"
