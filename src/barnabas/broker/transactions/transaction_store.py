"""Transactional ids in the topic __transaction_state, in Kafka's own record formats. Owns keys and values."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.broker.cluster import Cluster
from barnabas.broker.topic import TRANSACTIONS_TOPIC, Partition
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
from barnabas.broker.transactions.transaction import TransactionMetadata, TransactionStatus
from barnabas.protocol.messages.transaction_log_key import TransactionLogKey
from barnabas.protocol.messages.transaction_log_value import TransactionLogValue
from barnabas.types import TopicPartition

VALUE_VERSION = 1
_STATUS_OF = {status.number: status for status in TransactionStatus}


class TransactionStore:
    """Reads all transactional ids at the start, and appends each change."""

    def __init__(self, cluster: Cluster) -> None:
        self.topic = StateTopic(
            cluster,
            TRANSACTIONS_TOPIC,
            "transaction.state.log.num.partitions",
            "transaction.state.log.segment.bytes",
        )

    def append(self, metadata: TransactionMetadata) -> None:
        """Raises: KafkaStorageError."""
        value = encode_numbered(VALUE_VERSION, _value(metadata), VALUE_VERSION)
        self.topic.append(metadata.transactional_id, [(_key(metadata.transactional_id), value)])

    def remove(self, transactional_id: str) -> None:
        """Raises: KafkaStorageError."""
        self.topic.append(transactional_id, [(_key(transactional_id), None)])

    def load(self, partition: Partition | None = None) -> Iterator[tuple[str, TransactionMetadata | None]]:
        """All changes, or those in a partition, oldest first; None where an id was forgotten.

        Raises: KafkaStorageError, CorruptBatchError, BrokenProtocolError.
        """
        found: Iterator[KeptRecord | KeptEnd] = self.topic.read() if partition is None else kept_in(partition)
        for kept in found:
            if isinstance(kept, KeptEnd) or record_type(kept.key) != TransactionLogKey.RECORD_TYPE:
                continue
            transactional_id = decode_key(TransactionLogKey, kept.key).transactional_id
            if kept.value is None:
                yield transactional_id, None
            else:
                yield (
                    transactional_id,
                    _metadata(transactional_id, decode_value(TransactionLogValue, kept.value)),
                )


def _key(transactional_id: str) -> bytes:
    return encode_numbered(TransactionLogKey.RECORD_TYPE, TransactionLogKey(transactional_id), 0)


def _value(metadata: TransactionMetadata) -> TransactionLogValue:
    by_topic: dict[str, list[int]] = {}
    for partition in sorted(metadata.partitions):
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    return TransactionLogValue(
        producer_id=metadata.producer_id,
        previous_producer_id=metadata.previous_producer_id,
        next_producer_id=metadata.next_producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.status.number,
        transaction_partitions=[
            TransactionLogValue.PartitionsSchema(topic, indexes) for topic, indexes in by_topic.items()
        ],
        transaction_last_update_timestamp_ms=metadata.updated_ms,
        transaction_start_timestamp_ms=metadata.started_ms,
        client_transaction_version=metadata.version,
    )


def _metadata(transactional_id: str, value: TransactionLogValue) -> TransactionMetadata:
    return TransactionMetadata(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        timeout_ms=value.transaction_timeout_ms,
        status=_STATUS_OF[value.transaction_status],
        partitions=frozenset(
            TopicPartition(topic.topic, index)
            for topic in value.transaction_partitions or ()
            for index in topic.partition_ids
        ),
        started_ms=value.transaction_start_timestamp_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        version=value.client_transaction_version,
    )
