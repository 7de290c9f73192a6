"""In a cluster of several nodes: a coordinator whose partition gets another leader begins there with what
that one has, as in Kafka. So what the old leader alone had is gone from memory, too, and members have their
sessions' time anew.

Owns which state is let go of and read again. Must not know requests, nor what the state means.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Protocol

from barnabas.broker.cluster import Cluster
from barnabas.broker.groups.directory import GroupDirectory
from barnabas.broker.groups.store import GroupStore, KeptEntry
from barnabas.broker.share_groups.lending import ShareLending
from barnabas.broker.share_groups.share_state_store import ShareStateStore
from barnabas.broker.topic import INTERNAL_TOPICS, OFFSETS_TOPIC, TRANSACTIONS_TOPIC, Partition
from barnabas.broker.topics.state_topic import KeptEnd, StateTopic
from barnabas.broker.transactions.transaction_manager import TransactionManager
from barnabas.broker.transactions.transaction_store import TransactionStore
from barnabas.broker_errors import KafkaStorageError
from barnabas.errors import BrokenProtocolError, CorruptBatchError

logger = logging.getLogger(__name__)


class KeptWithGroups(Protocol):
    """Who has offsets, or members of one protocol: what is written of them is with the records of groups."""

    def load(self, entries: Iterable[KeptEntry | KeptEnd]) -> None: ...

    def unload(self, group_ids: Iterable[str]) -> None: ...


class CoordinatorMoves:
    """Hears of each partition that has got another leader."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        groups: GroupDirectory,
        kept_with_groups: Sequence[KeptWithGroups],
        group_store: GroupStore,
        transactions: TransactionManager,
        transaction_store: TransactionStore,
        share_states: ShareStateStore,
        share_lending: ShareLending,
    ) -> None:
        """`kept_with_groups`: in the order in which they are loaded."""
        self._cluster = cluster
        self._groups = groups
        self._kept_with_groups = kept_with_groups
        self._group_store = group_store
        self._transactions = transactions
        self._transaction_store = transaction_store
        self._share_lending = share_lending
        self._topics: dict[str, StateTopic] = {
            topic.name: topic for topic in (group_store.topic, transaction_store.topic, share_states.topic)
        }

    def note_led(self, partition: Partition) -> None:
        if partition.topic.name in INTERNAL_TOPICS:
            self._read_anew(partition)

    def try_again(self) -> None:
        """Reads what could not be read before."""
        for topic in self._topics.values():
            for index in list(topic.unread):
                self._read_anew(self._cluster.topics[topic.name].partitions[index])

    def _read_anew(self, partition: Partition) -> None:
        topic = self._topics[partition.topic.name]
        topic.unread.discard(partition.index)
        is_led = partition.has_leader
        try:
            if topic.name == OFFSETS_TOPIC:
                self._read_groups(partition, is_led=is_led)
            elif topic.name == TRANSACTIONS_TOPIC:
                self._read_transactions(partition, is_led=is_led)
            elif is_led:
                self._share_lending.read_anew(partition)
        except (KafkaStorageError, CorruptBatchError, BrokenProtocolError) as error:
            topic.unread.add(partition.index)
            logger.error("%s: cannot be read by its new leader: %s", partition.name, error)

    def _read_groups(self, partition: Partition, *, is_led: bool) -> None:
        kept_here = self._group_store.partition_for
        gone = [name for name in self._groups.by_name if kept_here(name) is partition]
        for part in self._kept_with_groups:
            part.unload(gone)
        self._groups.unload(gone)
        if is_led:
            entries = list(self._group_store.load(partition))
            for part in self._kept_with_groups:
                part.load(entries)

    def _read_transactions(self, partition: Partition, *, is_led: bool) -> None:
        kept_here = self._transaction_store.topic.partition_for
        self._transactions.unload([name for name in self._transactions.by_id if kept_here(name) is partition])
        if is_led:
            self._transactions.load(partition)
