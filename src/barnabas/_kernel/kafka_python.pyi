"""What programs for kafka-python see of records."""

from collections.abc import Callable
from typing import Any, Self

from barnabas._kernel.consume import RecordReader

class RecordPoller:
    """Hands out records of a reader that is lent to it, one by one; what else there is to do when the next
    one is asked for is the subclass's `_next_record()`. A record that its deserializers refuse is told to the
    subclass's `_was_refused(offset)` before the error is raised."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def _shape_records(
        self,
        class_: type[tuple[Any, ...]],
        key_deserializer: tuple[Callable[..., Any], int] | None = None,
        value_deserializer: tuple[Callable[..., Any], int] | None = None,
    ) -> None:
        """Once, before the first record: a named tuple, and deserializers, each with the number of arguments
        that it takes (the bytes; topic and bytes; topic, headers and bytes). Raises: ValueError."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    def _attend(self) -> None:
        """Has the next `__next__` go to `_next_record`. Any thread."""

    def _attended(self) -> None:
        """`_next_record` has seen to it."""

    @property
    def _handed_out(self) -> int:
        """How many records were handed out one by one so far."""

    def _next_lent(self) -> Any | None:
        """The next record of the reader that is lent. Raises: CorruptBatchError, and what a deserializer
        raises."""

    def _take(
        self, reader: RecordReader, max_records: int, /
    ) -> tuple[list[Any], tuple[int, BaseException] | None]:
        """Up to `max_records` records of a reader that is not lent; and, where a deserializer refuses one,
        its offset and what it raised: the reader is ahead of it then. Raises: CorruptBatchError."""

    def _lend(self, reader: RecordReader, /) -> int:
        """Records are handed out of `reader` from here on. The number of this loan, counted from 1."""

    def _take_back(self) -> tuple[int, RecordReader, int, int, int] | None:
        """Ends `_lend`: the number of the loan, its reader, how many records were handed out of it, the
        offset behind the last of them and its leader epoch (both -1 if there was none)."""
