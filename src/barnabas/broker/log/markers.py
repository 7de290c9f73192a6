"""The control batches that end transactions (KIP-98): making them, and reading what one says.

Owns their bytes. Must not know what a transaction is beyond its producer.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas import _kernel

if TYPE_CHECKING:
    from barnabas._kernel import BatchInfo, Buffer

ABORT, COMMIT = 0, 1
_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
_RECORDS_POSITION = 61
_MAX_MARKER_BYTES = 1 << 10


@dataclass(frozen=True, slots=True)
class EndMarker:
    """The end of a producer's transaction in one partition, as a coordinator of this epoch decided it."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    coordinator_epoch: int

    def to_batch(self, timestamp_ms: int) -> bytes:
        builder = _kernel.BatchBuilder(max_bytes=_MAX_MARKER_BYTES)
        key = _KEY.pack(0, COMMIT if self.is_commit else ABORT)
        builder.append(timestamp_ms, key, _VALUE.pack(0, self.coordinator_epoch))
        return builder.build(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            is_transactional=True,
            is_control=True,
        )


def end_marker(batch: BatchInfo, data: Buffer) -> EndMarker | None:
    """What a control batch says, whose bytes begin `data`; None if it is another kind of control batch.

    Raises: ValueError for one that is none.
    """
    if batch.record_count == 0:
        # What is left of one whose transaction is gone from a compacted log.
        return None
    view = memoryview(data)[_RECORDS_POSITION : batch.size]
    try:
        _, position = _varint(view, 0)
        position += 1  # the record's attributes
        _, position = _varint(view, position)
        _, position = _varint(view, position)
        key_length, position = _varint(view, position)
        _, kind = _KEY.unpack_from(view, position)
        if kind not in (ABORT, COMMIT):
            return None
        _, position = _varint(view, position + key_length)
        _, coordinator_epoch = _VALUE.unpack_from(view, position)
    except (struct.error, IndexError):
        raise ValueError("the control record is cut short") from None
    return EndMarker(batch.producer_id, batch.producer_epoch, kind == COMMIT, coordinator_epoch)


def _varint(view: memoryview, position: int) -> tuple[int, int]:
    """A zigzag number, and where it ends."""
    value = shift = 0
    while True:
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
