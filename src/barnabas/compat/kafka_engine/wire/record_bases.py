"""What batches of records, and the records in them, have in common in all formats of messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

__all__ = ["ABCRecord", "ABCRecordBatch", "ABCRecordBatchBuilder", "ABCRecords"]

_HOME = "barnabas.compat.kafka.record.abc"


class ABCRecord(ABC):
    """A record that was read."""

    __module__ = _HOME
    __slots__ = ()

    @property
    @abstractmethod
    def size_in_bytes(self) -> int: ...

    @property
    @abstractmethod
    def offset(self) -> int: ...

    @property
    @abstractmethod
    def timestamp(self) -> int | None:
        """Milliseconds since 1970."""

    @property
    @abstractmethod
    def timestamp_type(self) -> int | None:
        """0 where its producer gave the time, 1 where the broker did."""

    @property
    @abstractmethod
    def key(self) -> bytes | None: ...

    @property
    @abstractmethod
    def value(self) -> bytes | None: ...

    @property
    @abstractmethod
    def checksum(self) -> int | None:
        """Its own, in the formats of old."""

    @abstractmethod
    def validate_crc(self) -> bool:
        """Whether the checksum is right, where it has one."""

    @property
    @abstractmethod
    def headers(self) -> list[tuple[str, bytes | None]]: ...


class ABCRecordBatchBuilder(ABC):
    """Writes a batch."""

    __module__ = _HOME
    __slots__ = ()

    @abstractmethod
    def append(self, offset: int, timestamp: int | None, key: Any, value: Any, headers: Any = None) -> Any:
        """What is known of the record now; None where there is no more room."""

    @abstractmethod
    def size_in_bytes(self, offset: int, timestamp: int, key: Any, value: Any, headers: Any) -> int:
        """What such a record takes, uncompressed."""

    @abstractmethod
    def build(self) -> bytearray:
        """The batch. Nothing can be appended to it then."""


class ABCRecordBatch(ABC):
    """A batch that was read: an iterable of records."""

    __module__ = _HOME
    __slots__ = ()

    @abstractmethod
    def __iter__(self) -> Iterator[Any]: ...

    @property
    @abstractmethod
    def base_offset(self) -> int: ...

    @property
    @abstractmethod
    def size_in_bytes(self) -> int: ...

    @property
    @abstractmethod
    def magic(self) -> int: ...


class ABCRecords(ABC):
    """Batches one after the other."""

    __module__ = _HOME
    __slots__ = ()

    @abstractmethod
    def __init__(self, buffer: Any) -> None: ...

    @abstractmethod
    def size_in_bytes(self) -> int: ...

    @abstractmethod
    def next_batch(self) -> Any:
        """The next one, or None."""

    @abstractmethod
    def has_next(self) -> bool: ...


class RecordInBatch(ABCRecord):
    """A record that was read, in any format."""

    __module__ = _HOME

    def __init__(
        self,
        offset: int,
        timestamp: int | None,
        timestamp_type: int | None,
        key: bytes | None,
        value: bytes | None,
    ) -> None:
        self._offset = offset
        self._timestamp = timestamp
        self._timestamp_type = timestamp_type
        self._key = key
        self._value = value

    @property
    def offset(self) -> int:
        return self._offset

    @property
    def timestamp(self) -> int | None:
        return self._timestamp

    @property
    def timestamp_type(self) -> int | None:
        return self._timestamp_type

    @property
    def key(self) -> bytes | None:
        return self._key

    @property
    def value(self) -> bytes | None:
        return self._value


class AppendedRecord:
    """What is known of a record that was appended to a batch, in any format."""

    __module__ = _HOME

    def __init__(self, offset: int, size: int, timestamp: int) -> None:
        self._offset = offset
        self._size = size
        self._timestamp = timestamp

    @property
    def offset(self) -> int:
        return self._offset

    @property
    def size(self) -> int:
        return self._size

    @property
    def timestamp(self) -> int:
        return self._timestamp
