"""The identifiers and small results that every layer shares. Plain data: no I/O, no protocol.

`Record`, the message itself, is in the kernel (`barnabas._kernel.Record`), since it points into the
batch that it came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

Buffer = bytes | bytearray | memoryview

Headers = Sequence[tuple[str, bytes | None]]
"""Headers of a record, in order; a key may appear more than once."""

EARLIEST_OFFSET = -2
LATEST_OFFSET = -1


class TimestampType(IntEnum):
    """Who set a record's timestamp."""

    NO_TIMESTAMP = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class RecordMetadata(NamedTuple):
    """Where a record was stored. `timestamp` is in milliseconds since 1970; offset is -1 with acks=0."""

    topic: str
    partition: int
    offset: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """A committed position: the offset of the next record to read, with the committer's own note."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """The first record at or after a timestamp. `timestamp` is in milliseconds since 1970."""

    offset: int
    timestamp: int
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A broker as metadata names it."""

    node_id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (node {self.node_id})"


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """One partition in the cluster's metadata. `leader` is -1 while there is none."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync_replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()
