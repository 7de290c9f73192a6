"""DeleteRecords, versions 0 to 2: moves a partition's start up to an offset, -1 for the end, for good."""

from __future__ import annotations

import logging

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.log.files import described
from barnabas.broker_errors import (
    KafkaStorageError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    RequestTimedOutError,
)
from barnabas.errors import BrokerError
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from barnabas.turns import in_turns

logger = logging.getLogger(__name__)

Result = DeleteRecordsResponse.DeleteRecordsPartitionResult
END = -1


async def handle(call: Call, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    topics = [
        DeleteRecordsResponse.DeleteRecordsTopicResult(
            name=topic.name,
            partitions=[_delete(call, topic.name, asked) async for asked in in_turns(topic.partitions, 1)],
        )
        for topic in request.topics
        if topic.partitions
    ]
    try:
        for logs in call.parts.cluster.node_logs.managers:
            logs.write_start_offsets()
    except OSError as error:
        logger.error("deleted records may be there again after a start: %s", described(error))
        for result in (result for topic in topics for result in topic.partitions if not result.error_code):
            result.error_code, result.low_watermark = KafkaStorageError.code, -1
    return DeleteRecordsResponse(topics=topics)


def _delete(call: Call, name: str, asked: DeleteRecordsRequest.DeleteRecordsPartition) -> Result:
    cluster = call.parts.cluster
    try:
        call.parts.authorizer.require(call, Operation.DELETE, ResourceKind.TOPIC, name)
        topic = cluster.topic(name)
        partition = cluster.led_partition(topic, asked.partition_index, call.node)
        log = partition.log
        if not log.settings.deletes:
            policy = topic.settings.text("cleanup.policy")
            raise PolicyViolationError(f"topic {name} has cleanup.policy={policy}, which deletes nothing")
        if asked.offset > log.high_watermark:
            raise OffsetOutOfRangeError(f"{partition.name}: offset {asked.offset} is not there yet")
        if call.node in cluster.parted and (partition.is_short or len(partition.registration.in_sync) > 1):
            # The other replicas do not hear of it, and may lead next. Kafka waits until it times out.
            raise RequestTimedOutError("")
        offset = log.high_watermark if asked.offset == END else asked.offset
        if not 0 <= offset < log.log_start_offset:
            partition.delete_records_before(offset)
        return Result(partition_index=asked.partition_index, low_watermark=log.log_start_offset)
    except OSError as error:
        code = KafkaStorageError(f"{name}-{asked.partition_index}: {error}").code
    except BrokerError as error:
        code = error.code
    return Result(partition_index=asked.partition_index, low_watermark=-1, error_code=code)


HANDLER = Handler(DeleteRecordsRequest, 0, 2, handle)
