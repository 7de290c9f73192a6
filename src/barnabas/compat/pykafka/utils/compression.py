"""Compressing and decompressing messages, by the kernel: nothing has to be installed for it."""

from __future__ import annotations

import gzip
from typing import Any

from barnabas._kernel import compress
from barnabas.compat.kafka_engine.wire.codecs import decompressed, snappy_block, snappy_frames
from barnabas.compat.kafka_engine.wire.old_lz4 import as_of_old, as_of_today

__all__ = [
    "decode_gzip",
    "decode_lz4",
    "decode_lz4_old_kafka",
    "decode_lz4f",
    "decode_snappy",
    "encode_gzip",
    "encode_lz4",
    "encode_lz4_old_kafka",
    "encode_snappy",
]

_CONTENT_SIZE_FLAG = 1 << 3
_DESCRIPTOR_BYTES = 6
_CONTENT_SIZE_BYTES = 8


def encode_gzip(buff: Any) -> bytes:
    return compress("gzip", bytes(buff))


def decode_gzip(buff: Any) -> bytes:
    return gzip.decompress(buff)


def encode_snappy(buff: Any, xerial_compatible: bool = False, xerial_blocksize: int = 32 * 1024) -> bytes:
    """As one bare block, or in the framing of xerial's snappy-java, in blocks of so many bytes."""
    buff = bytes(buff)
    return snappy_frames(buff, xerial_blocksize) if xerial_compatible else snappy_block(buff)


def decode_snappy(buff: Any) -> bytes:
    """In either form."""
    return decompressed("snappy", bytes(buff))


def encode_lz4(buff: Any) -> bytes:
    return compress("lz4", bytes(buff))


def decode_lz4(buff: Any) -> bytes:
    return decompressed("lz4", bytes(buff))


decode_lz4f = decode_lz4


def encode_lz4_old_kafka(buff: Any) -> bytes:
    """As Kafka before 0.10 wants it: another checksum of the frame's descriptor, and no size in that."""
    frame = encode_lz4(buff)
    if frame[4] & _CONTENT_SIZE_FLAG:
        rest = frame[_DESCRIPTOR_BYTES + _CONTENT_SIZE_BYTES :]
        frame = frame[:4] + bytes((frame[4] & ~_CONTENT_SIZE_FLAG,)) + frame[5:_DESCRIPTOR_BYTES] + rest
    return as_of_old(frame)


def decode_lz4_old_kafka(buff: Any) -> bytes:
    return decompressed("lz4", as_of_today(bytes(buff)))
