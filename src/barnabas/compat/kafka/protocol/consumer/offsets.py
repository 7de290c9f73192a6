"""What stands for offsets in the messages of consumers."""

from __future__ import annotations

from enum import IntEnum

from barnabas.compat.kafka.util import EnumHelper
from barnabas.compat.kafka_engine.wire.message_modules import message_module

UNKNOWN_OFFSET = -1


class OffsetResetStrategy:
    """Where a consumer begins that has no offset."""

    LATEST = -1
    EARLIEST = -2
    NONE = 0


class IsolationLevel(EnumHelper, IntEnum):
    """Whether records of transactions that are open or aborted are read."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class OffsetSpec(EnumHelper, IntEnum):
    """An offset of a partition that is looked up."""

    LATEST = -1
    """Of the next record."""
    EARLIEST = -2
    """Of the first record that there is."""
    MAX_TIMESTAMP = -3
    """Of the record with the latest time (KIP-734)."""
    EARLIEST_LOCAL = -4
    """Of the first record that is not only in remote storage (KIP-405)."""
    LATEST_TIERED = -5
    """Of the last record in remote storage (KIP-1005)."""


class OffsetTimestamp(int):
    """A time in milliseconds since 1970: the first offset at or after it, where an int would be an offset."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"OffsetTimestamp({int(self)})"


__getattr__ = message_module(
    __name__, *("UNKNOWN_OFFSET", "OffsetResetStrategy", "IsolationLevel", "OffsetSpec", "OffsetTimestamp")
)
