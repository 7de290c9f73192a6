"""Bringing a batch into the codec that its topic asks for (compression.type). Knows batches, not topics."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import get_args

from barnabas import _kernel
from barnabas._kernel import BatchInfo
from barnabas.protocol.schema import Records
from barnabas.settings.table import Codec

CODECS = get_args(Codec)
# In a batch of magic 2: bytes that its length does not count, checksum, attributes, records.
LENGTH_POSITION, LENGTH_FROM = 8, 12
CHECKSUM_POSITION = 17
ATTRIBUTES_POSITION = 21
RECORDS_POSITION = 61
CODEC_BITS = 0x07
_INT = struct.Struct(">i")
_UNSIGNED = struct.Struct(">I")
_SHORT = struct.Struct(">h")


def needs_recompression(batch: BatchInfo, compression_type: str) -> bool:
    return _codec(compression_type) not in ("producer", batch.compression)


def _codec(compression_type: str) -> str:
    return "none" if compression_type == "uncompressed" else compression_type


def recompress(
    records: Records, batch: BatchInfo, compression_type: str, level: int | None = None, *, max_bytes: int
) -> tuple[Records, Sequence[BatchInfo]]:
    """The one batch in `records` as the topic wants it: "producer" as it came, "uncompressed", or a codec, at
    a level or as hard as by default.

    Raises: CorruptBatchError for records that take more than `max_bytes`.
    """
    if not needs_recompression(batch, compression_type):
        return records, [batch]
    codec = _codec(compression_type)
    view = memoryview(records)
    plain = view[RECORDS_POSITION:]
    if batch.compression != "none":
        plain = _kernel.decompress(batch.compression, plain, max_bytes)
    body = plain if codec == "none" else _kernel.compress(codec, plain, level)
    out = bytearray(view[:RECORDS_POSITION]) + body
    (attributes,) = _SHORT.unpack_from(out, ATTRIBUTES_POSITION)
    _SHORT.pack_into(out, ATTRIBUTES_POSITION, attributes & ~CODEC_BITS | CODECS.index(codec))
    _INT.pack_into(out, LENGTH_POSITION, len(out) - LENGTH_FROM)
    _UNSIGNED.pack_into(out, CHECKSUM_POSITION, _kernel.crc32c(memoryview(out)[ATTRIBUTES_POSITION:]))
    return out, _kernel.scan_batches(out)
