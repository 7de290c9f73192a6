"""Produce, versions 3 to 13 (KIP-516 topic ids from 13 on), and older ones.

acks 0, 1 and -1: an answer means that the operating system has the records, so that they survive the end of
the broker's process; with -1 in the logs of all replicas in sync. Taken is exactly one record batch of
magic 2 for each partition, checked down to its records. Batches of transactions need the transactional id,
and a partition that the transaction has; from version 12 on (KIP-890) it gets the partition by this. With
acks=0, what went wrong is told by hanging up. Before version 3 there are message sets, of any number of
messages, which are converted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from barnabas import _kernel
from barnabas._kernel import BatchInfo
from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.nodes import endpoint
from barnabas.broker.handlers.records.old_formats import FIRST_PRODUCE_WITH_BATCHES, produced_in_old_format
from barnabas.broker.handlers.records.produced_batches import ProducedBatch, RejectedRecordsError
from barnabas.broker.handlers.transactions.admission import admit, until_admitted
from barnabas.broker.replication.acknowledgement import Written, check_in_sync
from barnabas.broker.replication.registration import NO_LEADER
from barnabas.broker.topic import Partition, Topic
from barnabas.broker_errors import (
    InvalidProducerIdMappingError,
    InvalidRequiredAcksError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedCompressionTypeError,
)
from barnabas.errors import BrokerError, CorruptBatchError
from barnabas.net.server import DisconnectError
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse
from barnabas.protocol.schema import ZERO_UUID
from barnabas.turns import in_turns

PartitionResponse = ProduceResponse.PartitionProduceResponse
ALL = -1
FIRST_VERSION_WITH_ZSTD = 7
FIRST_VERSION_THAT_NAMES_LEADERS = 10
FIRST_VERSION_THAT_TELLS_ABORTABLE = 11
FIRST_VERSION_THAT_ADDS = 12


async def handle(call: Call, request: ProduceRequest) -> ProduceResponse | None:
    response = ProduceResponse()
    producers: set[tuple[int, int]] = set()
    if call.version >= FIRST_PRODUCE_WITH_BATCHES:
        producers = _transactional_producers(request)
    failed: BrokerError | None = None
    waiting: list[Awaitable[None]] = []
    async for asked in in_turns(request.topic_data):
        answer = ProduceResponse.TopicProduceResponse(name=asked.name, topic_id=asked.topic_id)
        response.responses.append(answer)
        async for data in in_turns(asked.partition_data):
            topic: Topic | None = None
            try:
                _check_request(call, request, producers)
                topic = _topic(call, asked)
                partition = call.parts.cluster.led_partition(topic, data.index, call.node)
                records = b"" if data.records is None else data.records
                if request.acks == ALL and not producers:
                    # Before it looks at the records, as Kafka, which looks at transactions before that.
                    check_in_sync(partition)
                if call.version < FIRST_PRODUCE_WITH_BATCHES:
                    records = await produced_in_old_format(str(partition.name), records)
                    partition = call.parts.cluster.led_partition(topic, data.index, call.node)
                    if not records:
                        answer.partition_responses.append(PartitionResponse(data.index, base_offset=-1))
                        continue
                produced = ProducedBatch(partition, records)
                await produced.check()
                batch = produced.info
                if batch.compression == "zstd" and call.version < FIRST_VERSION_WITH_ZSTD:
                    raise UnsupportedCompressionTypeError(
                        f"Produce requests with version {call.version} are not allowed to use ZStandard "
                        "compression"
                    )
                transactional_id = request.transactional_id if batch.is_transactional else None
                has_waited = False
                if transactional_id is not None:
                    adds = call.version >= FIRST_VERSION_THAT_ADDS
                    _admit(call, transactional_id, partition, batch, adds=adds)
                    if partition.replicas is not None:
                        has_waited = True
                        await until_admitted(call.parts, transactional_id)
                await produced.prepare()
                if produced.has_waited or has_waited:
                    topic = _topic(call, asked)
                    partition = call.parts.cluster.led_partition(topic, data.index, call.node)
                    if transactional_id is not None:
                        # The transaction may have ended, and have its marker here already (KIP-890).
                        _admit(call, transactional_id, partition, batch, adds=False)
                taken = _append(request, partition, produced)
                answer.partition_responses.append(taken)
                if request.acks == ALL and partition.log.replicated_to is not None:
                    end_offset = taken.base_offset + batch.last_offset - batch.base_offset + 1
                    written = Written(partition, partition.log, end_offset)
                    waiting.append(_replicated(written, taken, request.timeout_ms))
            except BrokerError as error:
                failed = error
                answer.partition_responses.append(_refusal(data.index, error))
                if topic is not None and error.code == NotLeaderOrFollowerError.code:
                    _name_leader(call, topic, data.index, response, answer.partition_responses[-1])
    if waiting:
        await asyncio.gather(*waiting)
    if request.acks != 0:
        return response
    if failed is not None:
        raise DisconnectError(f"produce request with acks=0 failed: {failed}")
    return None


def _transactional_producers(request: ProduceRequest) -> set[tuple[int, int]]:
    """Whose batches of transactions are in the request, as far as its batches can be read."""
    producers: set[tuple[int, int]] = set()
    for topic in request.topic_data:
        for data in topic.partition_data:
            try:
                batches = _kernel.scan_batches(data.records or b"")
            except CorruptBatchError:
                continue
            producers.update(
                (batch.producer_id, batch.producer_epoch) for batch in batches if batch.is_transactional
            )
    return producers


def _topic(call: Call, asked: ProduceRequest.TopicProduceData) -> Topic:
    """Raises: TopicAuthorizationFailedError before it tells whether a topic named is there."""
    cluster, authorizer = call.parts.cluster, call.parts.authorizer
    name = asked.name if asked.topic_id == ZERO_UUID else cluster.topic_by_id(asked.topic_id).name
    authorizer.require(call, Operation.WRITE, ResourceKind.TOPIC, name)
    return cluster.topic(name)


def _check_request(call: Call, request: ProduceRequest, producers: set[tuple[int, int]]) -> None:
    if request.acks not in (-1, 0, 1):
        raise InvalidRequiredAcksError(f"acks={request.acks} is none of -1, 0 and 1")
    if producers and request.transactional_id is None:
        raise TransactionalIdAuthorizationFailedError(
            "records of a transaction need the transactional id beside them"
        )
    if producers and request.transactional_id is not None:
        call.parts.authorizer.require(
            call, Operation.WRITE, ResourceKind.TRANSACTIONAL_ID, request.transactional_id
        )
    if len(producers) > 1:
        raise InvalidProducerIdMappingError("records of several transactional producers in one request")


def _admit(call: Call, transactional_id: str, partition: Partition, batch: BatchInfo, *, adds: bool) -> None:
    """Raises: BrokerError."""
    producer = batch.producer_id, batch.producer_epoch
    if call.node in call.parts.cluster.parted and not partition.log.producers.has_open(*producer):
        raise NotEnoughReplicasError(f"node {call.node} cannot ask the coordinator of {transactional_id}")
    admit(
        call.parts.transactions,
        partition,
        transactional_id,
        producer,
        adds=adds,
        tells_abortable=call.version >= FIRST_VERSION_THAT_TELLS_ABORTABLE,
    )


def _append(request: ProduceRequest, partition: Partition, produced: ProducedBatch) -> PartitionResponse:
    if request.acks == ALL:
        check_in_sync(partition)
    appended = partition.append(produced.records, produced.batches)
    return PartitionResponse(
        index=partition.index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time,
        log_start_offset=partition.log.log_start_offset,
    )


async def _replicated(written: Written, taken: PartitionResponse, timeout_ms: int) -> None:
    """Turns an answer into a refusal if the replicas do not get what was taken."""
    try:
        await written.until_replicated(timeout_ms)
    except BrokerError as error:
        taken.error_code, taken.base_offset = error.code, -1


def _name_leader(
    call: Call, topic: Topic, index: int, response: ProduceResponse, refused: PartitionResponse
) -> None:
    """Spares the client a request for metadata (KIP-951)."""
    if call.version < FIRST_VERSION_THAT_NAMES_LEADERS:
        return
    registration = call.parts.cluster.registration_at(topic.partitions[index], call.node)
    refused.current_leader = ProduceResponse.LeaderIdAndEpoch(registration.leader, registration.leader_epoch)
    if registration.leader not in (NO_LEADER, *(node.node_id for node in response.node_endpoints)):
        found = endpoint(call, registration.leader)
        response.node_endpoints.append(
            ProduceResponse.NodeEndpoint(found.node_id, found.host, found.port, found.rack)
        )


def _refusal(index: int, error: BrokerError) -> PartitionResponse:
    refused = PartitionResponse(
        index=index, error_code=error.code, base_offset=-1, error_message=error.context or None
    )
    if isinstance(error, RejectedRecordsError):
        refused.log_start_offset = error.log_start_offset
        refused.record_errors = [
            ProduceResponse.BatchIndexAndErrorMessage(place, text) for place, text in error.rejected.items()
        ]
    return refused


HANDLER = Handler(ProduceRequest, 3, 13, handle)
