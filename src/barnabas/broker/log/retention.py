"""How many segments of a log are to go, of the oldest ones: by time, by size, and below the log's start.

Must not know how segments are removed.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.log.segment import Segment
from barnabas.broker.log.settings import LogSettings


def count_below(segments: Sequence[Segment], offset: int) -> int:
    """Those with nothing from an offset on."""
    return sum(1 for following in segments[1:] if following.base_offset <= offset)


def count_expired(segments: Sequence[Segment], settings: LogSettings, now_ms: int) -> int:
    if settings.retention_ms < 0:
        return 0
    for count, segment in enumerate(segments):
        newest = segment.max_timestamp if segment.max_timestamp >= 0 else segment.modified_ms()
        if segment.size == 0 or now_ms - newest <= settings.retention_ms:
            return count
    return len(segments)


def count_beyond_size(segments: Sequence[Segment], settings: LogSettings) -> int:
    if settings.retention_bytes < 0:
        return 0
    excess = sum(segment.size for segment in segments) - settings.retention_bytes
    for count, segment in enumerate(segments):
        if segment.size == 0 or excess < segment.size:
            return count
        excess -= segment.size
    return len(segments)
