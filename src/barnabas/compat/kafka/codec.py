"""Compressing and decompressing as Kafka does, by the kernel: nothing has to be installed for it."""

from __future__ import annotations

import gzip
from typing import Any

from barnabas._kernel import compress
from barnabas.compat.kafka_engine.wire.codecs import decompressed, snappy_block, snappy_frames
from barnabas.compat.kafka_engine.wire.old_lz4 import as_of_old, as_of_today


def has_gzip() -> bool:
    return True


def has_snappy() -> bool:
    return True


def has_lz4() -> bool:
    return True


def has_zstd() -> bool:
    return True


def gzip_encode(payload: bytes, compresslevel: int | None = None) -> bytes:
    return compress("gzip", payload, compresslevel or 9)


def gzip_decode(payload: bytes) -> bytes:
    return gzip.decompress(payload)


def snappy_encode(payload: bytes, xerial_compatible: bool = True, xerial_blocksize: int = 32 * 1024) -> bytes:
    """In the framing of xerial's snappy-java, in blocks of so many bytes, or as one bare block."""
    return snappy_frames(payload, xerial_blocksize) if xerial_compatible else snappy_block(payload)


def snappy_decode(payload: bytes) -> bytes:
    return decompressed("snappy", payload)


_LZ4_LAYOUT = {
    *("block_size", "block_linked", "block_checksum", "block_mode", "content_checksum", "auto_flush"),
    *("store_size", "source_size"),
}
"""What lz4's frames may be told besides, which every reader finds out by itself."""


def lz4_encode(payload: bytes, compression_level: int | None = None, **kwargs: Any) -> Any:
    """`kwargs`: of lz4.frame.compress. Of those, only `return_bytearray` changes anything: the kernel chooses
    how a frame is laid out."""
    unknown = kwargs.keys() - _LZ4_LAYOUT - {"return_bytearray"}
    if unknown:
        raise TypeError(f"lz4_encode() got an unexpected keyword argument {min(unknown)!r}")
    frame = compress("lz4", payload, compression_level)
    return bytearray(frame) if kwargs.get("return_bytearray") else frame


def lz4_decode(payload: bytes) -> bytes:
    return decompressed("lz4", payload)


def lz4f_decode(payload: bytes) -> bytes:
    return decompressed("lz4", payload)


def lz4_encode_old_kafka(payload: bytes) -> bytes:
    """As Kafka before 0.10 wants it."""
    return as_of_old(lz4_encode(payload))


def lz4_decode_old_kafka(payload: bytes) -> bytes:
    return decompressed("lz4", as_of_today(payload))


def zstd_encode(payload: bytes) -> bytes:
    return compress("zstd", payload)


def zstd_decode(payload: bytes) -> bytes:
    return decompressed("zstd", payload)
