"""Numbers of things in errors, in the log and in reprs, in good English."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """`1 record`, `2 records`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def records_were(count: int) -> str:
    """`1 record was`, `2 records were`."""
    return f"{count} record was" if count == 1 else f"{count} records were"
