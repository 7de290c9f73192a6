"""Offsets of groups: committed, also in transactions, deleted, and expired.

Owns who may commit, and which groups a transaction has offsets of. Must not know requests and responses, nor
how members join.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Protocol

from barnabas.broker.cluster import Cluster
from barnabas.broker.groups.directory import GroupDirectory
from barnabas.broker.groups.group import Group, GroupState, Member, MemberIdentity, check_group_id
from barnabas.broker.groups.offsets import CommittedOffset, committed_offset, offset_entry
from barnabas.broker.groups.store import GroupStore, KeptEntry
from barnabas.broker.topics.state_topic import KeptEnd, Producer
from barnabas.broker_errors import (
    IllegalGenerationError,
    KafkaStorageError,
    RebalanceInProgressError,
    StaleMemberEpochError,
    UnknownMemberIdError,
)
from barnabas.clock import now_ms
from barnabas.protocol.messages.offset_commit_key import OffsetCommitKey
from barnabas.protocol.messages.offset_commit_value import OffsetCommitValue
from barnabas.types import TopicPartition

logger = logging.getLogger(__name__)

MINUTE_MS = 60_000


class ClassicSessions(Protocol):
    """A classic member that commits has been heard of."""

    def restart_session(self, group: Group, member: Member) -> None: ...


class OffsetCoordinator:
    """Belongs to one event loop; every method finishes at once, and raises subclasses of BrokerError."""

    def __init__(
        self, cluster: Cluster, store: GroupStore, groups: GroupDirectory, sessions: ClassicSessions
    ) -> None:
        self._settings = cluster.settings
        self._store = store
        self._groups = groups
        self._sessions = sessions
        self._groups_in_transactions: dict[int, set[str]] = {}
        """By producer id, the groups that its open transaction has offsets of."""
        self._commits = count()
        cluster.on_deleted.append(self._forget_topic)

    def load(self, entries: Iterable[KeptEntry | KeptEnd]) -> None:
        """Takes up the offsets that were written down."""
        by_name, loaded = self._groups.by_name, set[str]()
        for kept in entries:
            if isinstance(kept, KeptEnd):
                self.end_transaction(kept.partition, kept.producer_id, is_commit=kept.is_commit)
            elif isinstance(kept.key, OffsetCommitKey):
                name = kept.key.group
                loaded.add(name)
                partition = TopicPartition(kept.key.topic, kept.key.partition)
                self._load_offset(by_name.setdefault(name, Group(name)), partition, kept)
        self._groups.drop_bare(loaded)

    def _load_offset(self, group: Group, partition: TopicPartition, kept: KeptEntry) -> None:
        if not isinstance(kept.value, OffsetCommitValue):
            group.offsets.forget(partition)
        elif kept.producer_id < 0:
            group.offsets.committed[partition] = self._ordered(committed_offset(kept.value))
        else:
            self._note_in_transaction(group, kept.producer_id, {partition: committed_offset(kept.value)})

    def unload(self, group_ids: Iterable[str]) -> None:
        """Lets go of what transactions have of groups that another node coordinates from now on."""
        for involved in self._groups_in_transactions.values():
            involved.difference_update(group_ids)

    # Committing

    def commit(self, member: MemberIdentity, offsets: Mapping[TopicPartition, CommittedOffset]) -> None:
        """Keeps offsets, on disk when this returns. A generation below 0 commits from outside the group."""
        group_id = member.group_id
        check_group_id(group_id)
        group = self._groups.by_name.get(group_id)
        if group is not None:
            self._check_commit(group, member, offsets.keys())
        elif member.generation >= 0:
            raise UnknownMemberIdError(f"group {group_id} does not exist")
        else:
            group = Group(group_id, changed_ms=now_ms())
        self._store.append(
            group_id,
            [offset_entry(group_id, partition, committed) for partition, committed in offsets.items()],
        )
        self._groups.by_name[group_id] = group
        group.offsets.committed.update(
            (partition, self._ordered(given)) for partition, given in offsets.items()
        )

    def _check_commit(
        self, group: Group, member: MemberIdentity, partitions: Collection[TopicPartition]
    ) -> None:
        if group.consumers is not None:
            group.consumers.check_commit(member.member_id, member.generation, partitions)
            return
        # Without members programs commit that manage none, by whatever names.
        if member.generation < 0 and group.state is GroupState.EMPTY:
            return
        if member.is_anonymous:
            raise UnknownMemberIdError(
                f"group {group.group_id} has members, so that only they may commit; stop them first"
            )
        found = group.find(member.member_id, member.group_instance_id)
        group.check_generation(member.generation)
        self._sessions.restart_session(group, found)
        if group.state is GroupState.COMPLETING_REBALANCE:
            raise RebalanceInProgressError(f"group {group.group_id} rebalances")

    def check_commit_in_transaction(
        self, member: MemberIdentity, partitions: Collection[TopicPartition]
    ) -> None:
        """Whether a member, or a program that names none (generation -1), may commit in a transaction."""
        check_group_id(member.group_id)
        group = self._groups.by_name.get(member.group_id)
        if group is None:
            if member.generation >= 0:
                raise IllegalGenerationError(f"group {member.group_id} does not exist")
        elif member.is_anonymous:
            return
        elif group.consumers is not None:
            try:
                group.consumers.check_commit(member.member_id, member.generation, partitions)
            except StaleMemberEpochError as error:
                raise IllegalGenerationError(error.context) from None
        elif member.generation >= 0 or group.state is not GroupState.EMPTY:
            group.find(member.member_id, member.group_instance_id)
            group.check_generation(member.generation)

    def commit_in_transaction(
        self, group_id: str, producer: Producer, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Keeps offsets, on disk when this returns, that count once the producer's transaction is
        committed."""
        entries = [offset_entry(group_id, partition, committed) for partition, committed in offsets.items()]
        self._store.append(group_id, entries, producer)
        group = self._groups.by_name.setdefault(group_id, Group(group_id, changed_ms=now_ms()))
        self._note_in_transaction(group, producer[0], offsets)

    def _note_in_transaction(
        self, group: Group, producer_id: int, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        self._groups_in_transactions.setdefault(producer_id, set()).add(group.group_id)
        noted = group.offsets.in_transactions.setdefault(producer_id, {})
        noted.update((partition, self._ordered(given)) for partition, given in offsets.items())

    def end_transaction(self, offsets_partition: int, producer_id: int, *, is_commit: bool) -> None:
        """What a marker in a partition of __consumer_offsets means for the groups that are kept there."""
        involved = self._groups_in_transactions.get(producer_id, set())
        kept_there = [name for name in involved if self._store.partition_for(name).index == offsets_partition]
        for group_id in kept_there:
            involved.discard(group_id)
            group = self._groups.by_name.get(group_id)
            if group is not None:
                group.offsets.end_transaction(producer_id, is_commit=is_commit)
        if not involved:
            self._groups_in_transactions.pop(producer_id, None)

    def _ordered(self, committed: CommittedOffset) -> CommittedOffset:
        return replace(committed, order=next(self._commits))

    # Removing

    def delete(self, group: Group, partitions: Iterable[TopicPartition]) -> None:
        """Raises: KafkaStorageError."""
        there = group.offsets.partitions()
        present = [partition for partition in partitions if partition in there]
        if present:
            self._store.append(
                group.group_id, [offset_entry(group.group_id, partition, None) for partition in present]
            )
        for partition in present:
            group.offsets.forget(partition)

    def _forget_topic(self, topic: str) -> None:
        for group in self._groups.by_name.values():
            try:
                self.delete(group, [name for name in group.offsets.partitions() if name.topic == topic])
            except KafkaStorageError as error:
                logger.error("offsets of deleted topic %s stay in group %s: %s", topic, group.group_id, error)

    def expire(self) -> None:
        """Removes offsets of groups that have long been empty, and groups that have nothing left."""
        before_ms = now_ms() - self._settings.number("offsets.retention.minutes") * MINUTE_MS
        for group in list(self._groups.by_name.values()):
            if group.state is not GroupState.EMPTY or group.pending or group.offsets.in_transactions:
                continue
            # A group that never had members only commits; its offsets age by themselves.
            empty_since_ms = group.changed_ms if group.protocol_type else -1
            committed = group.offsets.committed
            expired = [
                partition
                for partition, offset in committed.items()
                if max(offset.commit_ms, empty_since_ms) < before_ms
            ]
            try:
                if len(expired) == len(committed) and empty_since_ms < before_ms:
                    self._groups.remove(group)
                else:
                    self.delete(group, expired)
            except KafkaStorageError as error:
                logger.error("old offsets of group %s stay: %s", group.group_id, error)
