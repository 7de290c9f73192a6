"""What files of columns ask of how keys and values were read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from barnabas import Record
from barnabas.records.texts import ReadRecord, Side

Records = Sequence[Record | ReadRecord]


class SchemaColumns(Protocol):
    """Keys or values by a schema, as columns of Arrow."""

    def data_type(self) -> Any: ...
    def column(self, texts: Sequence[bytes | None]) -> Any: ...


class ReadFormats(Protocol):
    """How keys and values were read."""

    def is_text(self, side: Side) -> bool:
        """Whether what was read is text or JSON, and not the record's own bytes."""
        ...

    def columns_of(self, topic: str, side: Side) -> SchemaColumns | None:
        """None where no schema says what is there."""
        ...


class ByLooking:
    """Keys and values as `fields_of` has them: no schema says what is there."""

    def is_text(self, side: Side) -> bool:
        return True

    def columns_of(self, topic: str, side: Side) -> SchemaColumns | None:
        return None
