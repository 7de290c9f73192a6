"""Bringing a batch into the codec that its topic asks for (compression.type). Knows batches, not topics."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from barnabas import _kernel
from barnabas._kernel import BatchInfo
from barnabas.protocol.schema import Records

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# In a batch of magic 2: bytes that its length does not count, checksum, attributes, records.
LENGTH_POSITION, LENGTH_FROM = 8, 12
CHECKSUM_POSITION = 17
ATTRIBUTES_POSITION = 21
RECORDS_POSITION = 61
CODEC_BITS = 0x07
_INT = struct.Struct(">i")
_UNSIGNED = struct.Struct(">I")
_SHORT = struct.Struct(">h")


def recompress(
    records: Records, batch: BatchInfo, compression_type: str, level: int | None = None
) -> tuple[Records, Sequence[BatchInfo]]:
    """The one batch in `records` as the topic wants it: "producer" as it came, "uncompressed", or a codec, at
    a level or as hard as by default."""
    codec = "none" if compression_type == "uncompressed" else compression_type
    if codec in ("producer", batch.compression):
        return records, [batch]
    view = memoryview(records)
    plain = view[RECORDS_POSITION:]
    if batch.compression != "none":
        plain = _kernel.decompress(batch.compression, plain)
    body = plain if codec == "none" else _kernel.compress(codec, plain, level)
    out = bytearray(view[:RECORDS_POSITION]) + body
    (attributes,) = _SHORT.unpack_from(out, ATTRIBUTES_POSITION)
    _SHORT.pack_into(out, ATTRIBUTES_POSITION, attributes & ~CODEC_BITS | CODECS.index(codec))
    _INT.pack_into(out, LENGTH_POSITION, len(out) - LENGTH_FROM)
    _UNSIGNED.pack_into(out, CHECKSUM_POSITION, _kernel.crc32c(memoryview(out)[ATTRIBUTES_POSITION:]))
    return out, _kernel.scan_batches(out)
