"""The identifiers and small results that every layer shares. Plain data: no I/O, no protocol.

`Record`, the message itself, is in the kernel (`barnabas._kernel.Record`), since it points into the
batch that it came in.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.values import frozen

Buffer = bytes | bytearray | memoryview

if TYPE_CHECKING:
    # The default of a type variable (PEP 696) is Python's own from 3.13 on.
    from typing_extensions import TypeVar

    K = TypeVar("K", default=bytes)
    V = TypeVar("V", default=bytes)
    KeyIn = TypeVar("KeyIn", default=Buffer)
    ValueIn = TypeVar("ValueIn", default=Buffer)
else:
    from typing import TypeVar

    K, V, KeyIn, ValueIn = map(TypeVar, ("K", "V", "KeyIn", "ValueIn"))

Headers = Sequence[tuple[str, bytes | None]]
"""Headers of a record, in order; a key may appear more than once."""

EARLIEST_OFFSET = -2
LATEST_OFFSET = -1
# Further places that a ListOffsets request takes in place of a timestamp.
MAX_TIMESTAMP_OFFSET = -3
"""The record with the greatest timestamp (KIP-734)."""
EARLIEST_LOCAL_OFFSET = -4
"""The first record on the leader's own disk, where older ones are in tiered storage (KIP-405)."""
LATEST_TIERED_OFFSET = -5
"""The last record in tiered storage (KIP-1005)."""
EARLIEST_PENDING_UPLOAD_OFFSET = -6
"""The first record that is not in tiered storage yet (KIP-1023)."""


class TimestampType(IntEnum):
    """Who set a record's timestamp."""

    NO_TIMESTAMP = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class TopicPartition(NamedTuple):
    """A partition of a topic. A tuple, and as text `topic-partition`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@frozen
class ProducerRecord:
    """A record on its way into a producer, as interceptors see it. `timestamp` is in milliseconds since 1970;
    None is now. `partition` None leaves the choice to the partitioner. `value` and `key` are bytes, or what
    the producer's serializers make bytes of."""

    topic: str
    value: Any = None
    key: Any = None
    headers: Headers | None = None
    partition: int | None = None
    timestamp: int | None = None


@frozen
class OffsetAndMetadata:
    """A committed position: the offset of the next record to read, with the committer's own note."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


@frozen
class OffsetAndTimestamp:
    """The first record at or after a timestamp. `timestamp` is in milliseconds since 1970."""

    offset: int
    timestamp: int
    leader_epoch: int | None = None


class Watermarks(NamedTuple):
    """The first offset that a partition holds, and the one after the last that all its replicas have."""

    low: int
    high: int


@frozen
class GroupIdentity:
    """Who commits offsets: `Consumer.group_metadata()`. Without a membership the generation is -1 and the
    member id empty; in a group of the consumer protocol the generation is the member's epoch."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


@frozen
class PreparedTransaction:
    """A transaction whose records are all stored, and which somebody else ends: what
    `Producer.prepare_transaction()` gives, and `Admin.end_prepared_transactions` takes. Can be pickled."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    transaction_version: int
    """Of the feature transaction.version: from 2 on each transaction has an epoch of its own (KIP-890)."""


@frozen
class Node:
    """A broker as metadata names it."""

    node_id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (node {self.node_id})"


@frozen
class PartitionInfo:
    """One partition in the cluster's metadata. `leader` is -1 while there is none. The eligible leader
    replicas (KIP-966) are those outside the in-sync set that may lead without a loss, and the last ones
    known; None where the broker does not tell: `Admin.describe_topics` alone asks for them."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync_replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_eligible_leader_replicas: tuple[int, ...] | None = None
