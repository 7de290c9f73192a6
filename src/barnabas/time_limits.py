"""How errors tell the limit that has passed: by the setting that governs it. Knows nothing of the rest."""

from __future__ import annotations

# Passes between the call and the look at the clock.
MOMENT_MS = 100


def time_limit(timeout_ms: float, setting: str, setting_ms: float) -> str:
    """`setting` with its value where that is the limit, else the milliseconds that the caller has given."""
    if setting_ms - MOMENT_MS < timeout_ms <= setting_ms:
        return f"{setting}={setting_ms:.0f}"
    return f"{timeout_ms:.0f} ms"
