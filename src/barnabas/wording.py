"""Numbers of things and limits of time in errors, in the log and in reprs. Knows nothing of the rest."""

from __future__ import annotations

# Passes between the call and the look at the clock.
MOMENT_MS = 100


def counted(count: float, what: str, many: str | None = None, *, grouping: str = "") -> str:
    """`1 record`, `2 records`. `many`: where an s does not make it. `grouping`: `,` for `2,000 records`."""
    return f"{count:{grouping}.0f} {what if count == 1 else many or what + 's'}"


def records_were(count: int) -> str:
    """`1 record was`, `2 records were`."""
    return f"{count} record was" if count == 1 else f"{count} records were"


def time_limit(timeout_ms: float, setting: str, setting_ms: float) -> str:
    """`setting` with its value where that is the limit, else the milliseconds that the caller has given."""
    if setting_ms - MOMENT_MS < timeout_ms <= setting_ms:
        return f"{setting}={setting_ms:.0f}"
    return f"{timeout_ms:.0f} ms"
