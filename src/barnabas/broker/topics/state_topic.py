"""An internal topic in which a coordinator keeps its state: made when it is needed, a key's records in one
partition, all of them read at the start.

Owns where records go and how they come back. Must not know what they mean.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from barnabas import _kernel
from barnabas.broker.cluster import Cluster
from barnabas.broker.log.markers import end_marker
from barnabas.broker.replication.acknowledgement import check_in_sync
from barnabas.broker.settings import LEAST_SEGMENT_BYTES
from barnabas.broker.topic import Partition
from barnabas.broker_errors import (
    CoordinatorNotAvailableError,
    KafkaStorageError,
    NotEnoughReplicasError,
)
from barnabas.clock import now_ms
from barnabas.protocol.codec import decode_prefix, encode
from barnabas.protocol.schema import Message

READ_BYTES = 8 << 20
MAX_BATCH_BYTES = 1 << 20
COMPACTED: Mapping[str, str] = {"cleanup.policy": "compact"}
"""The last record of each key is what counts."""
_SHORT = struct.Struct(">h")

M = TypeVar("M", bound=Message)

KeyValue = tuple[bytes, bytes | None]
Producer = tuple[int, int]
"""The id and epoch of whose transaction records belong to."""


class TooFewReplicasError(KafkaStorageError):
    """A coordinator's state cannot be kept while fewer replicas are in sync than min.insync.replicas.
    Clients hear what Kafka tells them."""

    code: ClassVar[int] = CoordinatorNotAvailableError.code
    name: ClassVar[str] = CoordinatorNotAvailableError.name
    explanation: ClassVar[str] = CoordinatorNotAvailableError.explanation


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record as it was kept. `producer_id` is that of the transaction it belongs to, or -1."""

    key: bytes
    value: bytes | None
    producer_id: int
    offset: int


@dataclass(frozen=True, slots=True)
class KeptEnd:
    """A transaction's end in one partition of the topic."""

    partition: int
    producer_id: int
    is_commit: bool


class StateTopic:
    """`partitions_setting` and `segment_setting` are the names of the broker's settings for the topic,
    `settings` what the topic gets besides."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        partitions_setting: str,
        segment_setting: str,
        settings: Mapping[str, str] = COMPACTED,
    ) -> None:
        self.cluster = cluster
        self.name = name
        self._partitions_setting = partitions_setting
        self._segment_setting = segment_setting
        self._settings = settings
        self.unread: set[int] = set()
        """Partitions whose new leader has yet to read them, since they cannot be read."""

    def ensure(self) -> None:
        """Makes the topic if it is not there. Raises: KafkaStorageError."""
        if self.name not in self.cluster.topics:
            settings = self.cluster.settings
            count = settings.number(self._partitions_setting)
            # Kafka has the two under the same name.
            copies = settings.number(self._partitions_setting.replace("num.partitions", "replication.factor"))
            self.cluster.create_topic(
                self.name,
                {
                    **self._settings,
                    "compression.type": "producer",
                    # Topics are not given segments as small as tests want them under the usual name.
                    (
                        "segment.bytes"
                        if settings.number(self._segment_setting) >= LEAST_SEGMENT_BYTES
                        else "internal.segment.bytes"
                    ): settings.get(self._segment_setting).value,
                },
                self.cluster.place(count, min(copies, len(self.cluster.registered)), 0),
            )

    def partition_for(self, key: str) -> Partition:
        """Raises: KafkaStorageError."""
        self.ensure()
        partitions = self.cluster.topic(self.name).partitions
        return partitions[(java_hash(key) & 0x7FFFFFFF) % len(partitions)]

    def append(self, key: str, records: Iterable[KeyValue], producer: Producer | None = None) -> None:
        """Writes records of what `key` names, in the producer's transaction if there is one. Raises:
        KafkaStorageError (none was written), with a producer also what its epoch is refused for."""
        partition = self.check_writable(key)
        timestamp = now_ms()
        batches: list[bytes] = []
        builder = _kernel.BatchBuilder(max_bytes=MAX_BATCH_BYTES)
        for record in records:
            if not builder.append(timestamp, *record):
                batches.append(_batch(builder, producer))
                builder = _kernel.BatchBuilder(max_bytes=MAX_BATCH_BYTES)
                builder.append(timestamp, *record)
        if builder.record_count:
            batches.append(_batch(builder, producer))
        if batches:
            data = b"".join(batches)
            partition.append(data, _kernel.scan_batches(data))

    def check_writable(self, key: str) -> Partition:
        """Where records of what `key` names are written. Raises: KafkaStorageError if they cannot be now."""
        partition = self.partition_for(key)
        partition.check_leader()
        try:
            check_in_sync(partition)
        except NotEnoughReplicasError:
            raise TooFewReplicasError(f"{partition.name}: too few replicas are in sync") from None
        return partition

    def read(self) -> Iterator[KeptRecord | KeptEnd]:
        """All that was kept, oldest first in each partition. Raises: KafkaStorageError, CorruptBatchError."""
        topic = self.cluster.topics.get(self.name)
        for partition in topic.partitions if topic else ():
            yield from kept_in(partition)


def _batch(builder: _kernel.BatchBuilder, producer: Producer | None) -> bytes:
    if producer is None:
        return builder.build()
    return builder.build(producer_id=producer[0], producer_epoch=producer[1], is_transactional=True)


def kept_in(partition: Partition) -> Iterator[KeptRecord | KeptEnd]:
    """All that was kept in one partition. Raises: KafkaStorageError, CorruptBatchError."""
    log = partition.log
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = memoryview(log.read(offset, READ_BYTES, at_least_one=True))
        batches = _kernel.scan_batches(data)
        for batch in batches:
            whole = data[batch.position : batch.position + batch.size]
            if batch.is_control:
                marker = end_marker(batch, whole)
                if marker is not None:
                    yield KeptEnd(partition.index, marker.producer_id, marker.is_commit)
                continue
            producer_id = batch.producer_id if batch.is_transactional else -1
            for record in _kernel.RecordReader(partition.topic.name, partition.index, whole):
                if record.key is not None:
                    yield KeptRecord(record.key, record.value, producer_id, record.offset)
        if not batches:
            return
        offset = batches[-1].last_offset + 1


def encode_numbered(number: int, message: Message, version: int) -> bytes:
    """A message with a number before it, as Kafka's coordinators write keys (its kind) and values (its
    version)."""
    return _SHORT.pack(number) + encode(message, version)


def record_type(key: bytes) -> int:
    """The kind of a key."""
    return _SHORT.unpack_from(key)[0]


def decode_key(kind: type[M], key: bytes) -> M:
    return decode_prefix(kind, 0, key, _SHORT.size)[0]


def decode_value(kind: type[M], value: bytes) -> M:
    (version,) = _SHORT.unpack_from(value)
    return decode_prefix(kind, version, value, _SHORT.size)[0]


def java_hash(text: str) -> int:
    """Java's String.hashCode, by which Kafka spreads keys over the partitions."""
    hashed = 0
    encoded = text.encode("utf-16-be")
    for (unit,) in struct.iter_unpack(">H", encoded):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    return hashed
