"""What the consumers take as arguments, made uniform: partitions as tuples, offsets as numbers.

Pure functions, and the hand-out of single records. Knows nothing of brokers.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, SupportsIndex, overload

from barnabas._kernel import Record
from barnabas.errors import MisuseError
from barnabas.types import K, OffsetAndMetadata, TopicPartition, V

PartitionLike = TopicPartition | tuple[str, int]
# A mapping is invariant in its keys, for type checkers: one of TopicPartition alone is none of PartitionLike.
OffsetsLike = (
    Mapping[TopicPartition, int | OffsetAndMetadata] | Mapping[tuple[str, int], int | OffsetAndMetadata]
)
TimestampsLike = Mapping[TopicPartition, int] | Mapping[tuple[str, int], int]


def as_partition(partition: PartitionLike) -> TopicPartition:
    """Raises: MisuseError."""
    try:
        topic, number = partition
    except (TypeError, ValueError):
        raise MisuseError(f"{partition!r} is not a partition: give (topic, number)") from None
    if not isinstance(topic, str) or not isinstance(number, int) or not topic or number < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise MisuseError(f"{partition!r} is not a partition: give (topic, number), with a number from 0 on")
    return TopicPartition(topic, number)


def as_partitions(partitions: Iterable[PartitionLike]) -> list[TopicPartition]:
    """Raises: MisuseError."""
    return [as_partition(partition) for partition in partitions]


def as_offset(partition: TopicPartition, offset: int | OffsetAndMetadata) -> OffsetAndMetadata:
    """Raises: MisuseError for a negative one, TypeError."""
    result = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
    if not isinstance(result.offset, SupportsIndex):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected an int or OffsetAndMetadata for the offset of {partition}, got {offset!r}")
    if result.offset < 0:
        raise MisuseError(f"{partition}: the offset {result.offset} is negative")
    return result


@overload
def as_offsets(offsets: OffsetsLike) -> dict[TopicPartition, OffsetAndMetadata]: ...
@overload
def as_offsets(offsets: OffsetsLike | None) -> dict[TopicPartition, OffsetAndMetadata] | None: ...
def as_offsets(offsets: OffsetsLike | None) -> dict[TopicPartition, OffsetAndMetadata] | None:
    """Raises: MisuseError, TypeError."""
    if offsets is None:
        return None
    check_mapping(offsets, "offsets", "(topic, number): offset")
    return {
        (known := as_partition(partition)): as_offset(known, offset) for partition, offset in offsets.items()
    }


def as_limit(max_records: int) -> int:
    """Raises: MisuseError, TypeError."""
    try:
        limit = operator.index(max_records)
    except TypeError:
        raise TypeError(f"expected an int for max_records, got {max_records!r}") from None
    if limit < 1:
        raise MisuseError(f"max_records must be at least 1, not {max_records}")
    return limit


def as_timeout_ms(timeout: float | None, default_ms: int) -> float:
    """`timeout` in seconds; None is the setting's default. Raises: TypeError, MisuseError."""
    if timeout is None:
        return default_ms
    check_seconds(timeout)
    return timeout * 1000


def check_seconds(timeout: float) -> None:
    """Raises: TypeError; MisuseError for less than none, which Java's clients refuse as well."""
    if not _is_real(timeout):
        raise TypeError(f"expected a number of seconds for timeout, got {timeout!r}")
    if not timeout >= 0:
        raise MisuseError(f"timeout is {timeout!r}: give a number of seconds from 0 on")


def _is_real(number: object) -> bool:
    if isinstance(number, (int, float)):
        return True
    # NumPy's, for instance. Few give one, and all would wait for the import.
    from numbers import Real

    return isinstance(number, Real)


def check_mapping(given: object, name: str, example: str) -> None:
    """`example` shows a key and its value. Raises: TypeError."""
    if not isinstance(given, Mapping):
        raise TypeError(f"expected {name} as a mapping {{{example}}}, got {given!r}")


def check_callbacks(**callbacks: object) -> None:
    """Each of them is a function, or None. Raises: MisuseError."""
    for name, callback in callbacks.items():
        if callback is not None and not callable(callback):
            raise MisuseError(f"{name} must be callable, not {callback!r}")


class TakenRecords(Generic[K, V]):
    """Records that were taken from the buffer to be handed out one by one."""

    __slots__ = ("_all", "records")

    def __init__(self) -> None:
        self._all: list[Record[K, V]] = []
        self.records: Iterator[Record[K, V]] = iter(())

    def put(self, records: list[Record[K, V]]) -> None:
        # Ctrl-C comes between calls only: the two change at once.
        iterator = iter(records)
        self._all, self.records = records, iterator

    def count(self) -> int:
        """How many are left; also what shows that a caller makes progress."""
        return operator.length_hint(self.records)

    @property
    def in_hand(self) -> Record[K, V] | None:
        """The one that was handed out last."""
        unseen = self.count()
        return self._all[-1 - unseen] if unseen < len(self._all) else None

    def rest(self) -> list[Record[K, V]]:
        """Those that nobody has seen."""
        return self._all[len(self._all) - self.count() :]

    def clear(self) -> None:
        """Whoever goes through the records comes to their end."""
        list(self.records)
        self.put([])
