"""The transaction coordinator: gives out producer ids and epochs, and ends transactions in all partitions.

Owns all transactional ids. A decision is kept before the first marker is written, and is carried out to the
end, after a restart too. Belongs to one event loop; every method finishes at once. Must not know requests.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.broker.cluster import Cluster
from barnabas.broker.groups.offset_coordinator import OffsetCoordinator
from barnabas.broker.log.markers import EndMarker
from barnabas.broker.replication.acknowledgement import Written, check_in_sync
from barnabas.broker.topic import OFFSETS_TOPIC, Partition
from barnabas.broker.transactions.producer_ids import ProducerIds
from barnabas.broker.transactions.transaction import (
    NO_PRODUCER_ID,
    PREPARED,
    VERSION_WITH_EPOCH_BUMPS,
    TransactionMetadata,
    TransactionStatus,
)
from barnabas.broker.transactions.transaction_store import TransactionStore
from barnabas.broker_errors import (
    ConcurrentTransactionsError,
    CoordinatorNotAvailableError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidRequestError,
    InvalidTransactionTimeoutError,
    KafkaStorageError,
    NotEnoughReplicasError,
    ProducerFencedError,
    UnknownTopicOrPartitionError,
)
from barnabas.clock import now_ms
from barnabas.types import TopicPartition

logger = logging.getLogger(__name__)

IdAndEpoch = tuple[int, int]
FORGETTABLE = (TransactionStatus.EMPTY, TransactionStatus.COMPLETE_COMMIT, TransactionStatus.COMPLETE_ABORT)


@dataclass(frozen=True, slots=True)
class _Ending:
    """A transaction that is decided. `markers`: the partitions that still want one, None where it is not
    written yet. `decision`: markers wait until it is where it outlives its node."""

    decision: Written
    markers: dict[TopicPartition, Written | None]


class TransactionManager:
    """Every method raises subclasses of BrokerError, whose codes are the answers of Kafka's protocol."""

    def __init__(self, cluster: Cluster, offsets: OffsetCoordinator, store: TransactionStore) -> None:
        self._cluster = cluster
        self._offsets = offsets
        self.producer_ids = ProducerIds(cluster.metadata)
        self._store = store
        self.by_id: dict[str, TransactionMetadata] = {}
        self._unfinished: dict[str, _Ending] = {}
        """Decided transactions that have not ended everywhere."""

    def load(self, partition: Partition | None = None) -> None:
        """Takes up what was written down, in a partition of its topic or in all, and carries out what was
        decided."""
        found: dict[str, TransactionMetadata] = {}
        for transactional_id, metadata in self._store.load(partition):
            if metadata is None:
                found.pop(transactional_id, None)
            else:
                found[transactional_id] = metadata
        self.by_id.update(found)
        for transactional_id, metadata in found.items():
            if metadata.status in PREPARED:
                markers = {
                    name: self._marker_in(name, metadata.producer_id) for name in sorted(metadata.partitions)
                }
                self._unfinished[transactional_id] = self._ending(transactional_id, markers)
        self.finish_decided()

    def unload(self, transactional_ids: Iterable[str]) -> None:
        """Lets go of ids that another node coordinates from now on."""
        for transactional_id in transactional_ids:
            del self.by_id[transactional_id]
            self._unfinished.pop(transactional_id, None)

    def _ending(self, transactional_id: str, markers: dict[TopicPartition, Written | None]) -> _Ending:
        return _Ending(Written.all_of(self._store.topic.partition_for(transactional_id)), markers)

    def _marker_in(self, name: TopicPartition, producer_id: int) -> Written | None:
        """None where a partition still lacks the marker that another leader or process wanted to write."""
        topic = self._cluster.topics.get(name.topic)
        if topic is None or name.partition >= len(topic.partitions):
            return None
        partition = topic.partitions[name.partition]
        known = partition.log.producers.by_id.get(producer_id)
        is_open = known is not None and known.first_offset is not None
        return None if is_open else Written.all_of(partition)

    # Beginning

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: IdAndEpoch | None
    ) -> IdAndEpoch:
        """The id and epoch for a producer that begins, who may `expect` to be one that it was before."""
        self._check_id(transactional_id)
        longest = self._cluster.settings.number("transaction.max.timeout.ms")
        if not 0 < timeout_ms <= longest:
            raise InvalidTransactionTimeoutError(
                f"{timeout_ms} ms is not from 1 to transaction.max.timeout.ms={longest}"
            )
        metadata = self.by_id.get(transactional_id)
        if metadata is None:
            metadata = TransactionMetadata(
                transactional_id=transactional_id,
                producer_id=self._next_producer_id(),
                timeout_ms=timeout_ms,
                updated_ms=now_ms(),
            )
        metadata.check_beginner(expected)
        if metadata.status is TransactionStatus.ONGOING:
            self._abort_unasked(metadata)
            raise ConcurrentTransactionsError(f"a transaction of {transactional_id} was open, and is aborted")
        expected_epoch = None if expected is None else expected[1]
        needs_new_id = metadata.is_epoch_exhausted and expected_epoch in (None, metadata.producer_epoch)
        begun = metadata.begun(
            timeout_ms, expected_epoch, now_ms(), self._next_producer_id() if needs_new_id else None
        )
        self._keep(begun)
        return begun.producer_id, begun.producer_epoch

    def _next_producer_id(self) -> int:
        try:
            return self.producer_ids.next()
        except KafkaStorageError as error:
            raise CoordinatorNotAvailableError(error.context) from error

    # Going on

    def add_partitions(
        self,
        transactional_id: str,
        producer: IdAndEpoch,
        partitions: Iterable[TopicPartition],
        version: int,
    ) -> None:
        """Makes partitions part of the producer's transaction, which begins if none is open."""
        metadata = self._existing(transactional_id)
        metadata.check_owner(*producer)
        changed = metadata.with_partitions(frozenset(partitions), version, now_ms())
        if changed is not None:
            self._keep(changed)

    def missing_partitions(
        self, transactional_id: str, producer: IdAndEpoch, partitions: Iterable[TopicPartition]
    ) -> set[TopicPartition]:
        """Those that do not belong to the producer's transaction."""
        metadata = self._existing(transactional_id)
        metadata.check_owner(*producer)
        return set(partitions) - metadata.partitions

    # Ending

    def end(self, transactional_id: str, producer: IdAndEpoch, *, commit: bool, version: int) -> IdAndEpoch:
        """Commits or aborts; the id and epoch that the producer goes on with."""
        metadata = self._existing(transactional_id)
        producer_id, epoch = producer
        bumps_epochs = version >= VERSION_WITH_EPOCH_BUMPS
        is_retry = bumps_epochs and metadata.is_retried_end(producer_id, epoch)
        if producer_id != metadata.producer_id and not is_retry:
            raise InvalidProducerIdMappingError(
                f"{transactional_id} belongs to producer {metadata.producer_id}, not {producer_id}"
            )
        if epoch != metadata.producer_epoch and not is_retry:
            raise ProducerFencedError(
                f"{transactional_id} is in epoch {metadata.producer_epoch}, not {epoch}"
            )
        if metadata.check_end(commit=commit, is_retry=is_retry, bumps_epochs=bumps_epochs):
            metadata = self._decide(metadata, commit=commit, version=version)
        return metadata.producer_id, metadata.producer_epoch

    def _abort_unasked(self, metadata: TransactionMetadata) -> None:
        """Aborts an open transaction, and fences its producer."""
        fenced = metadata if metadata.bumps_epochs else metadata.fenced()
        self._decide(fenced, commit=False, version=metadata.version)

    def _decide(self, metadata: TransactionMetadata, *, commit: bool, version: int) -> TransactionMetadata:
        """Takes the decision and carries it out, as far as the disk allows; what comes of it."""
        needs_new_id = version >= VERSION_WITH_EPOCH_BUMPS and metadata.is_epoch_exhausted
        next_producer_id = self._next_producer_id() if needs_new_id else NO_PRODUCER_ID
        prepared = metadata.prepared(
            commit=commit, version=version, next_producer_id=next_producer_id, now_ms=now_ms()
        )
        self._keep(prepared)
        markers: dict[TopicPartition, Written | None] = dict.fromkeys(sorted(prepared.partitions))
        self._unfinished[metadata.transactional_id] = self._ending(metadata.transactional_id, markers)
        self._finish(prepared)
        return prepared.completed(now_ms())

    def finish_decided(self) -> None:
        """Writes the markers that could not be written before, or have to wait for replicas."""
        for transactional_id in list(self._unfinished):
            self._finish(self.by_id[transactional_id])

    def _finish(self, prepared: TransactionMetadata) -> None:
        ending = self._unfinished[prepared.transactional_id]
        if not ending.decision.is_replicated:
            return
        marker = EndMarker(
            prepared.producer_id,
            prepared.producer_epoch,
            prepared.status is TransactionStatus.PREPARE_COMMIT,
            self._cluster.leader_epoch,
        )
        try:
            for name in sorted(ending.markers):
                try:
                    written = ending.markers[name]
                    if written is not None and written.has_moved:
                        written = self._marker_in(name, prepared.producer_id)
                    if written is None:
                        written = self.write_marker(name, marker, needs_newer_epoch=prepared.bumps_epochs)
                    ending.markers[name] = written
                    if not written.is_replicated:
                        continue
                except UnknownTopicOrPartitionError:
                    logger.info("%s has gone with transaction %s open", name, prepared.transactional_id)
                except InvalidProducerEpochError as error:
                    logger.info("%s needs no marker of %s: %s", name, prepared.transactional_id, error)
                del ending.markers[name]
            if ending.markers:
                return
            self._keep(prepared.completed(now_ms()))
        except (KafkaStorageError, NotEnoughReplicasError, CoordinatorNotAvailableError) as error:
            logger.error("transaction %s ends once it can be written: %s", prepared.transactional_id, error)
            return
        del self._unfinished[prepared.transactional_id]

    def write_marker(self, name: TopicPartition, marker: EndMarker, *, needs_newer_epoch: bool) -> Written:
        """Ends a transaction in one partition, and for the offsets that are kept there.

        Raises: UnknownTopicOrPartitionError, NotEnoughReplicasError, and as Partition.end_transaction.
        """
        partition = self._cluster.partition(self._cluster.topic(name.topic), name.partition)
        check_in_sync(partition)
        partition.end_transaction(marker, needs_newer_epoch=needs_newer_epoch)
        if name.topic == OFFSETS_TOPIC:
            self._offsets.end_transaction(name.partition, marker.producer_id, is_commit=marker.is_commit)
        return Written.all_of(partition)

    # Upkeep

    def abort_timed_out(self) -> None:
        """Aborts what has been open for longer than its producer allowed."""
        now = now_ms()
        for metadata in list(self.by_id.values()):
            is_open = metadata.status is TransactionStatus.ONGOING
            if not is_open or metadata.started_ms + metadata.timeout_ms >= now:
                continue
            logger.info(
                "transaction %s was open for longer than %d ms: aborted",
                metadata.transactional_id,
                metadata.timeout_ms,
            )
            try:
                self._abort_unasked(metadata)
            except CoordinatorNotAvailableError as error:
                logger.error("transaction %s stays open: %s", metadata.transactional_id, error)

    def forget_unused(self) -> None:
        """Forgets transactional ids that have long not been used."""
        before_ms = now_ms() - self._cluster.settings.number("transactional.id.expiration.ms")
        for metadata in list(self.by_id.values()):
            if metadata.status in FORGETTABLE and metadata.updated_ms < before_ms:
                try:
                    self._store.remove(metadata.transactional_id)
                except KafkaStorageError as error:
                    logger.error("transactional id %s stays: %s", metadata.transactional_id, error)
                    return
                del self.by_id[metadata.transactional_id]

    # Helpers

    @staticmethod
    def _check_id(transactional_id: str) -> None:
        if not transactional_id:
            raise InvalidRequestError("a transactional id has at least one character")

    def _existing(self, transactional_id: str) -> TransactionMetadata:
        self._check_id(transactional_id)
        metadata = self.by_id.get(transactional_id)
        if metadata is None:
            raise InvalidProducerIdMappingError(f"transactional id {transactional_id} is not known")
        return metadata

    def _keep(self, metadata: TransactionMetadata) -> None:
        """Raises: CoordinatorNotAvailableError, and then nothing has changed."""
        try:
            self._store.append(metadata)
        except KafkaStorageError as error:
            raise CoordinatorNotAvailableError(error.context) from error
        self.by_id[metadata.transactional_id] = metadata
