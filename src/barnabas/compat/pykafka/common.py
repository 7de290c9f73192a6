"""What several modules of pykafka share: the base of messages, the names of codecs and of offsets."""

from __future__ import annotations

import datetime as dt
import logging
from typing import Any

__all__ = ["CompressionType", "Message", "OffsetType"]

log = logging.getLogger("pykafka.common")
EPOCH = dt.datetime(1970, 1, 1)


class Message:
    """What all messages of pykafka are."""

    __slots__: Any = []


class CompressionType:
    """The codecs of messages by their numbers in the protocol."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3


class OffsetType:
    """Where a partition begins and ends, as a request for offsets names these places."""

    EARLIEST = -2
    LATEST = -1
