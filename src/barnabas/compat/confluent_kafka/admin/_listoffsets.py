"""Which offset of a partition `AdminClient.list_offsets` is asked for, and what it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from barnabas.compat.confluent_kafka import cimpl


class OffsetSpec(ABC):
    """Which offset is wanted: `earliest()`, `latest()`, that of the record with the greatest timestamp
    (`max_timestamp()`), or of the first record at or after a time (`for_timestamp(milliseconds)`)."""

    @property
    @abstractmethod
    def _value(self) -> int:
        """What stands for it in a request."""

    @classmethod
    def earliest(cls) -> OffsetSpec:
        """The offset of the first record."""
        return _EARLIEST

    @classmethod
    def latest(cls) -> OffsetSpec:
        """The offset that the next record will get."""
        return _LATEST

    @classmethod
    def max_timestamp(cls) -> OffsetSpec:
        """The offset of the record with the greatest timestamp."""
        return _MAX_TIMESTAMP

    @classmethod
    def for_timestamp(cls, timestamp: int) -> OffsetSpec:
        """The offset of the first record at or after a time, in milliseconds since 1970."""
        return TimestampSpec(timestamp)

    def __new__(cls, index: int) -> Any:
        if index < 0:
            return {spec._value: spec for spec in (_EARLIEST, _LATEST, _MAX_TIMESTAMP)}[index]
        return cls.for_timestamp(index)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, OffsetSpec):
            return NotImplemented
        return self._value < other._value


class TimestampSpec(OffsetSpec):
    """The offset of the first record at or after `timestamp`, in milliseconds since 1970."""

    # The original cannot be made by a keyword either.
    def __new__(cls, _: int) -> Any:
        return object.__new__(cls)

    def __init__(self, timestamp: int) -> None:  # pyright: ignore[reportInconsistentConstructor]
        self.timestamp = timestamp

    @property
    def _value(self) -> int:
        return self.timestamp


class MaxTimestampSpec(OffsetSpec):
    """The offset of the record with the greatest timestamp, which need not be the last one."""

    def __new__(cls) -> Any:
        return object.__new__(cls)

    @property
    def _value(self) -> int:
        return cimpl.OFFSET_SPEC_MAX_TIMESTAMP


class LatestSpec(OffsetSpec):
    """The offset that the next record will get."""

    def __new__(cls) -> Any:
        return object.__new__(cls)

    @property
    def _value(self) -> int:
        return cimpl.OFFSET_SPEC_LATEST


class EarliestSpec(OffsetSpec):
    """The offset of the first record."""

    def __new__(cls) -> Any:
        return object.__new__(cls)

    @property
    def _value(self) -> int:
        return cimpl.OFFSET_SPEC_EARLIEST


_EARLIEST: OffsetSpec = EarliestSpec()
_LATEST: OffsetSpec = LatestSpec()
_MAX_TIMESTAMP: OffsetSpec = MaxTimestampSpec()


class ListOffsetsResultInfo:
    """An `offset`, -1 where there is none; its record's `timestamp` in milliseconds since 1970, -1 for the
    ends of a partition; and the `leader_epoch`, or None."""

    def __init__(self, offset: int, timestamp: int, leader_epoch: int) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.leader_epoch = None if leader_epoch < 0 else leader_epoch
