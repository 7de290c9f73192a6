"""The settings of one partition's log, by the names of Kafka's topic settings. Knows not who sets them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What a partition's log obeys. Sizes in bytes, times in milliseconds; -1 means without limit."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    index_interval_bytes: int = 4096
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    deletes: bool = True
    """cleanup.policy contains "delete"."""
    compacts: bool = False
    """cleanup.policy contains "compact"."""
    flush_messages: int = (1 << 63) - 1
    flush_ms: int = (1 << 63) - 1
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = (1 << 63) - 1
    min_cleanable_dirty_ratio: float = 0.5
    delete_retention_ms: int = 86_400_000
    producer_id_expiration_ms: int = 86_400_000
