"""What became of the records of share partitions, in the topic __share_group_state, in Kafka's own formats.

Owns what is written and what comes back of it: changes, and now and then all of a partition, so that what is
before that may go. Must not know who has what in hand, nor requests.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.broker.cluster import Cluster
from barnabas.broker.share_groups.offset_spans import OffsetSpans, RecordState, Span
from barnabas.broker.topic import SHARE_STATE_TOPIC, Partition
from barnabas.broker.topics.state_topic import (
    KeptEnd,
    KeptRecord,
    StateTopic,
    decode_key,
    decode_value,
    encode_numbered,
    kept_in,
    record_type,
)
from barnabas.clock import now_ms
from barnabas.protocol.messages.share_snapshot_key import ShareSnapshotKey
from barnabas.protocol.messages.share_snapshot_value import ShareSnapshotValue
from barnabas.protocol.messages.share_update_key import ShareUpdateKey
from barnabas.protocol.messages.share_update_value import ShareUpdateValue

UNKNOWN_OFFSET = -1
"""The group has yet to begin with the partition."""


class ShareKey(NamedTuple):
    """A partition as a group has it."""

    group_id: str
    topic_id: uuid.UUID
    partition: int

    @property
    def text(self) -> str:
        return f"{self.group_id}:{java_text(self.topic_id)}:{self.partition}"


def java_text(topic_id: uuid.UUID) -> str:
    """As Kafka writes an id."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


@dataclass(slots=True)
class KeptShareState:
    """What is on disk. `decided_count`: of the records from `start_offset` on, -1 where it is not known."""

    start_offset: int = UNKNOWN_OFFSET
    state_epoch: int = 0
    snapshot_epoch: int = 0
    decided_count: int = 0
    spans: OffsetSpans = field(default_factory=OffsetSpans)
    updates: int = 0
    """Since all of it was written."""
    written_at: int = 0
    """The offset in the topic's partition where all of it is."""


class ShareStateStore:
    """Raises: KafkaStorageError when something cannot be written, and then what was before stands."""

    def __init__(self, cluster: Cluster) -> None:
        self._settings = cluster.settings
        self.topic = StateTopic(
            cluster,
            SHARE_STATE_TOPIC,
            "share.coordinator.state.topic.num.partitions",
            "share.coordinator.state.topic.segment.bytes",
            # Changes of one partition have one key, and all of them count.
            {"cleanup.policy": "delete", "retention.ms": "-1"},
        )
        self.kept: dict[ShareKey, KeptShareState] = {}

    def load(self) -> None:
        """Raises: KafkaStorageError, CorruptBatchError, BrokenProtocolError."""
        _take_up(self.kept, self.topic.read())

    def read_anew(self, partition: Partition) -> list[ShareKey]:
        """Another leads the partition: of which keys it has other state than there was.

        Raises: KafkaStorageError, CorruptBatchError, BrokenProtocolError.
        """
        found: dict[ShareKey, KeptShareState] = {}
        _take_up(found, kept_in(partition))
        here = [key for key in self.kept if self.topic.partition_for(key.text) is partition]
        before = {key: self.kept.pop(key) for key in here}
        self.kept.update(found)
        return [key for key in {**before, **found} if before.get(key) != found.get(key)]

    def of_group(self, group_id: str) -> dict[ShareKey, KeptShareState]:
        return {key: kept for key, kept in self.kept.items() if key.group_id == group_id}

    def check_writable(self, key: ShareKey) -> None:
        """Raises: KafkaStorageError where nothing can be kept now."""
        self.topic.check_writable(key.text)

    def begin(self, key: ShareKey, start_offset: int) -> None:
        """The group begins with the partition, or begins anew."""
        before = self.kept.get(key)
        kept = KeptShareState(start_offset)
        if before is not None:
            kept.state_epoch, kept.snapshot_epoch = before.state_epoch + 1, before.snapshot_epoch + 1
        self._write_all(key, kept)
        self.kept[key] = kept

    def update(self, key: ShareKey, start_offset: int, decided_count: int, changed: Sequence[Span]) -> None:
        kept = self.kept[key]
        value = ShareUpdateValue(
            snapshot_epoch=kept.snapshot_epoch,
            leader_epoch=0,
            start_offset=start_offset,
            delivery_complete_count=decided_count,
            state_batches=[
                ShareUpdateValue.StateBatch(span.first, span.last, span.state, span.delivery_count)
                for span in changed
            ],
        )
        record_key = ShareUpdateKey(*key)
        encoded = encode_numbered(ShareUpdateKey.RECORD_TYPE, record_key, 0), encode_numbered(0, value, 0)
        self.topic.append(key.text, [encoded])
        _apply(kept, value)
        if kept.updates > self._settings.number("share.coordinator.snapshot.update.records.per.snapshot"):
            kept.snapshot_epoch += 1
            self._write_all(key, kept)

    def forget(self, keys: Iterable[ShareKey]) -> None:
        for key in list(keys):
            encoded = encode_numbered(ShareSnapshotKey.RECORD_TYPE, ShareSnapshotKey(*key), 0)
            self.topic.append(key.text, [(encoded, None)])
            self.kept.pop(key, None)

    def _write_all(self, key: ShareKey, kept: KeptShareState) -> None:
        value = ShareSnapshotValue(
            snapshot_epoch=kept.snapshot_epoch,
            state_epoch=kept.state_epoch,
            leader_epoch=0,
            start_offset=kept.start_offset,
            delivery_complete_count=kept.decided_count,
            create_timestamp=now_ms(),
            write_timestamp=now_ms(),
            state_batches=[
                ShareSnapshotValue.StateBatch(span.first, span.last, span.state, span.delivery_count)
                for span in kept.spans
            ],
        )
        record_key = ShareSnapshotKey(*key)
        encoded = encode_numbered(ShareSnapshotKey.RECORD_TYPE, record_key, 0), encode_numbered(0, value, 0)
        kept.written_at = self.topic.partition_for(key.text).log.log_end_offset
        self.topic.append(key.text, [encoded])
        kept.updates = 0

    def prune(self) -> None:
        """Lets go of what later records have made needless. Raises: OffsetOutOfRangeError, OSError."""
        if SHARE_STATE_TOPIC not in self.topic.cluster.topics:
            return
        for partition in self.topic.cluster.topics[SHARE_STATE_TOPIC].partitions:
            needed = [
                kept.written_at
                for key, kept in self.kept.items()
                if self.topic.partition_for(key.text) is partition
            ]
            before = min(needed, default=partition.log.log_end_offset)
            if partition.has_leader and before > partition.log.log_start_offset:
                partition.delete_records_before(before)


def _take_up(kept: dict[ShareKey, KeptShareState], records: Iterable[KeptRecord | KeptEnd]) -> None:
    for record in records:
        if isinstance(record, KeptEnd):
            continue
        kind = record_type(record.key)
        if kind == ShareSnapshotKey.RECORD_TYPE:
            key = _key_of(decode_key(ShareSnapshotKey, record.key))
            if record.value is None:
                kept.pop(key, None)
            else:
                kept[key] = _from_snapshot(decode_value(ShareSnapshotValue, record.value))
                kept[key].written_at = record.offset
        elif kind == ShareUpdateKey.RECORD_TYPE and record.value is not None:
            changed = kept.get(_key_of(decode_key(ShareUpdateKey, record.key)))
            if changed is not None:
                _apply(changed, decode_value(ShareUpdateValue, record.value))


def _key_of(key: ShareSnapshotKey | ShareUpdateKey) -> ShareKey:
    return ShareKey(key.group_id, key.topic_id, key.partition)


def _from_snapshot(value: ShareSnapshotValue) -> KeptShareState:
    spans = OffsetSpans(
        Span(batch.first_offset, batch.last_offset, RecordState(batch.delivery_state), batch.delivery_count)
        for batch in value.state_batches
    )
    return KeptShareState(
        value.start_offset, value.state_epoch, value.snapshot_epoch, value.delivery_complete_count, spans
    )


def _apply(kept: KeptShareState, value: ShareUpdateValue) -> None:
    kept.updates += 1
    kept.decided_count = value.delivery_complete_count
    for batch in value.state_batches:
        state = RecordState(batch.delivery_state)
        kept.spans.put(Span(batch.first_offset, batch.last_offset, state, batch.delivery_count))
    if value.start_offset != UNKNOWN_OFFSET:
        kept.start_offset = value.start_offset
        kept.spans.drop_before(value.start_offset)
