"""The offsets that a group keeps, and those that wait for the end of a transaction.

Owns which of two commits counts, and how they are written. Must not know members, nor who may commit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.broker.groups.records import Entry
from barnabas.protocol.messages.offset_commit_key import OffsetCommitKey
from barnabas.protocol.messages.offset_commit_value import OffsetCommitValue
from barnabas.types import TopicPartition


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A position that a group keeps. `commit_ms` is when it was committed, in milliseconds since 1970."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    order: int = field(default=0, compare=False)
    """Grows from commit to commit, so that it tells which of two is the later one."""


OffsetsByPartition = dict[TopicPartition, CommittedOffset]


@dataclass(slots=True, eq=False)
class GroupOffsets:
    committed: OffsetsByPartition = field(default_factory=OffsetsByPartition)
    in_transactions: dict[int, OffsetsByPartition] = field(default_factory=dict[int, OffsetsByPartition])
    """By producer id, what counts once its transaction is committed."""

    def __bool__(self) -> bool:
        return bool(self.committed or self.in_transactions)

    def is_unstable(self, partition: TopicPartition) -> bool:
        """Whether an open transaction may move the partition's offset."""
        return any(partition in offsets for offsets in self.in_transactions.values())

    def partitions(self) -> set[TopicPartition]:
        """Those of transactions that are open too."""
        return set(self.committed).union(*self.in_transactions.values())

    def forget(self, partition: TopicPartition) -> None:
        """Whatever transactions have of it goes, too."""
        self.committed.pop(partition, None)
        for offsets in self.in_transactions.values():
            offsets.pop(partition, None)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Of two commits the later one counts, though the other was in a transaction that ended later."""
        offsets = self.in_transactions.pop(producer_id, {})
        for partition, committed in offsets.items() if is_commit else ():
            current = self.committed.get(partition)
            if current is None or current.order < committed.order:
                self.committed[partition] = committed


def offset_entry(group_id: str, partition: TopicPartition, committed: CommittedOffset | None) -> Entry:
    key = OffsetCommitKey(group_id, partition.topic, partition.partition)
    if committed is None:
        return key, None
    return key, OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
    )


def committed_offset(value: OffsetCommitValue) -> CommittedOffset:
    return CommittedOffset(value.offset, value.leader_epoch, value.metadata, value.commit_timestamp)
