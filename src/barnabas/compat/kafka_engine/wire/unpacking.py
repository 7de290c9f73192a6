"""How far what a program reads by hand may unpack, without the settings of a consumer."""

from __future__ import annotations

from typing import Any

from barnabas._kernel import decompress
from barnabas.client.unpacking import most_unpacked_bytes
from barnabas.compat.kafka_engine.values.errors import CLASSES
from barnabas.errors import CorruptBatchError

__all__ = ["CODEC_NAMES", "unpacked"]

CODEC_NAMES = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
"""By what the attributes of a message say."""


def unpacked(codec: int, data: Any) -> bytes:
    """Raises: UnsupportedCodecError; CorruptRecordError, also for what unpacks to too much."""
    if codec not in CODEC_NAMES:
        raise CLASSES["UnsupportedCodecError"](f"Unrecognized compression type: {codec}")
    try:
        return decompress(CODEC_NAMES[codec], data, most_unpacked_bytes(len(data)))
    except CorruptBatchError as error:
        raise CLASSES["CorruptRecordError"](str(error)) from None
