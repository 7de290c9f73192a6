"""Produce, versions 3 to 13 (KIP-516 topic ids from 13 on).

acks 0, 1 and -1: an answer means that the operating system has the records, so that they survive the end of the
broker's process. Taken is exactly one record batch of magic 2 for each partition, checked down to its records.
Batches of transactions are refused. With acks=0, what went wrong is told by hanging up.
"""

from __future__ import annotations

from barnabas import _kernel
from barnabas._kernel import BatchInfo
from barnabas.broker.cluster import Partition, Topic
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.log.manager import now_ms
from barnabas.broker.recompression import recompress
from barnabas.broker_errors import (
    CorruptMessageError,
    ErrorCode,
    InvalidRecordError,
    InvalidRequiredAcksError,
    InvalidTimestampError,
    MessageTooLargeError,
    NotEnoughReplicasError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedForMessageFormatError,
)
from barnabas.errors import BrokerError, CorruptBatchError
from barnabas.net.server import DisconnectError
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse
from barnabas.protocol.schema import Records

PartitionResponse = ProduceResponse.PartitionProduceResponse


async def handle(call: Call, request: ProduceRequest) -> ProduceResponse | None:
    response = ProduceResponse()
    failed: BrokerError | None = None
    for asked in request.topic_data:
        answer = ProduceResponse.TopicProduceResponse(name=asked.name, topic_id=asked.topic_id)
        response.responses.append(answer)
        for data in asked.partition_data:
            try:
                _check_request(request)
                topic = call.parts.cluster.resolve(asked.name, asked.topic_id)
                partition = call.parts.cluster.partition(topic, data.index)
                answer.partition_responses.append(_append(partition, data.records, request.acks))
            except BrokerError as error:
                failed = error
                answer.partition_responses.append(_refusal(data.index, error))
    if request.acks != 0:
        return response
    if failed is not None:
        raise DisconnectError(f"produce request with acks=0 failed: {failed}")
    return None


def _check_request(request: ProduceRequest) -> None:
    if request.acks not in (-1, 0, 1):
        raise InvalidRequiredAcksError(f"acks={request.acks} is none of -1, 0 and 1")
    if request.transactional_id is not None:
        raise TransactionalIdAuthorizationFailedError("this broker does not know transactions yet")


def _append(partition: Partition, records: Records | None, acks: int) -> PartitionResponse:
    topic = partition.topic
    in_sync_needed = topic.settings.number("min.insync.replicas")
    if acks == -1 and in_sync_needed > 1:
        raise NotEnoughReplicasError(
            f"topic {topic.name} has min.insync.replicas={in_sync_needed}, but this is a single broker"
        )
    records = b"" if records is None else records
    batch = _checked(partition, records)
    _check_settings(topic, batch)
    records, batches = recompress(records, batch, topic.settings.text("compression.type"))
    appended = partition.append(records, batches)
    return PartitionResponse(
        index=partition.index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time,
        log_start_offset=partition.log.log_start_offset,
    )


def _checked(partition: Partition, records: Records) -> BatchInfo:
    """The batch, if it is one and whole. Raises: the errors of a broken batch."""
    try:
        batches = _kernel.scan_batches(records, check_crcs=True, check_records=True)
    except CorruptBatchError as error:
        raise CorruptMessageError(f"{partition.name}: {error.reason}") from None
    if len(batches) != 1 or batches[0].size != len(records):
        raise InvalidRecordError(
            f"{partition.name}: one whole record batch is taken for each partition, "
            f"{len(records)} bytes hold {len(batches)}"
        )
    batch = batches[0]
    if batch.magic != 2:
        raise UnsupportedForMessageFormatError(f"{partition.name}: message format {batch.magic} is too old")
    if batch.is_control or batch.is_transactional:
        raise InvalidRecordError(f"{partition.name}: this broker does not know transactions yet")
    if batch.producer_id >= 0 and (batch.producer_epoch < 0 or batch.base_sequence < 0):
        raise InvalidRecordError(f"{partition.name}: a producer id needs an epoch and a sequence")
    return batch


def _check_settings(topic: Topic, batch: BatchInfo) -> None:
    limit = topic.settings.number("max.message.bytes")
    if batch.size > limit:
        raise MessageTooLargeError(
            f"record batch of {batch.size} bytes is larger than max.message.bytes={limit} of topic {topic.name}"
        )
    if topic.settings.text("message.timestamp.type") == "CreateTime" and batch.max_timestamp >= 0:
        now = now_ms()
        after = topic.settings.number("message.timestamp.after.max.ms")
        before = topic.settings.number("message.timestamp.before.max.ms")
        if batch.max_timestamp - now > after or now - batch.base_timestamp > before:
            raise InvalidTimestampError(
                f"timestamps from {batch.base_timestamp} to {batch.max_timestamp} are not within "
                f"message.timestamp.before.max.ms={before} and message.timestamp.after.max.ms={after} "
                f"of topic {topic.name}"
            )


def _refusal(index: int, error: BrokerError) -> PartitionResponse:
    return PartitionResponse(
        index=index,
        error_code=error.code,
        base_offset=-1,
        error_message=error.context or None,
        record_errors=[ProduceResponse.BatchIndexAndErrorMessage(0, error.context)]
        if error.code in (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)
        else [],
    )


HANDLER = Handler(ProduceRequest, 3, 13, handle)
