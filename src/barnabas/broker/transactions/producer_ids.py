"""Producer ids that no producer ever had.

Owns that an id is not given twice, over restarts too. Must not know who gets one.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.broker.kept_metadata import KeptMetadata

PRODUCER_ID_BLOCK = 1000


class ProducerIds:
    """They are reserved on disk in blocks."""

    def __init__(self, metadata: KeptMetadata) -> None:
        self._metadata = metadata
        self._reserved: Iterator[int] = iter(())

    def next(self) -> int:
        """Raises: KafkaStorageError."""
        producer_id = next(self._reserved, None)
        if producer_id is not None:
            return producer_id
        content = self._metadata.content
        first = content.next_producer_id

        def undo() -> None:
            content.next_producer_id = first

        content.next_producer_id = first + PRODUCER_ID_BLOCK
        self._metadata.keep("reserve producer ids", undo)
        self._reserved = iter(range(first, first + PRODUCER_ID_BLOCK))
        return next(self._reserved)
