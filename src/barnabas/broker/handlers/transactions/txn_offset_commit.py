"""TxnOffsetCommit, versions 0 to 5: a group's offsets, which count once the transaction is committed.

From version 5 on (KIP-890) the group becomes part of the transaction by this. A member's generation is
checked from version 3 on (KIP-447).
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.groups.group import MemberIdentity, check_group_id
from barnabas.broker.groups.offsets import CommittedOffset
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.transactions.admission import admit, until_admitted
from barnabas.broker_errors import CoordinatorNotAvailableError, ErrorCode, KafkaStorageError
from barnabas.clock import now_ms
from barnabas.errors import BrokerError
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from barnabas.types import TopicPartition

FIRST_VERSION_THAT_TELLS_ABORTABLE = 4
FIRST_VERSION_THAT_ADDS = 5

PartitionResponse = TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition


async def handle(call: Call, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    cluster = call.parts.cluster
    longest = cluster.settings.number("offset.metadata.max.bytes")
    response = TxnOffsetCommitResponse()
    refusal = _refusal(call, request)
    known: list[PartitionResponse] = []
    accepted: dict[TopicPartition, CommittedOffset] = {}
    for asked in request.topics:
        answer = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(asked.name)
        response.topics.append(answer)
        for partition in asked.partitions:
            result = PartitionResponse(partition.partition_index)
            answer.partitions.append(result)
            try:
                if refusal is not None:
                    raise refusal
                call.parts.authorizer.require(call, Operation.READ, ResourceKind.TOPIC, asked.name)
                cluster.partition(cluster.topic(asked.name), partition.partition_index)
            except BrokerError as error:
                result.error_code = error.code
                continue
            known.append(result)
            metadata = partition.committed_metadata or ""
            if len(metadata) > longest:
                result.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
                continue
            accepted[TopicPartition(asked.name, partition.partition_index)] = CommittedOffset(
                partition.committed_offset, partition.committed_leader_epoch, metadata, now_ms()
            )
    if known:
        code = await _commit(call, request, accepted)
        for result in known:
            result.error_code = code or result.error_code
    return response


def _refusal(call: Call, request: TxnOffsetCommitRequest) -> BrokerError | None:
    """Why the client may not commit at all."""
    require = call.parts.authorizer.require
    try:
        require(call, Operation.WRITE, ResourceKind.TRANSACTIONAL_ID, request.transactional_id)
        require(call, Operation.READ, ResourceKind.GROUP, request.group_id)
    except BrokerError as error:
        return error
    return None


async def _commit(
    call: Call, request: TxnOffsetCommitRequest, offsets: dict[TopicPartition, CommittedOffset]
) -> int:
    producer = request.producer_id, request.producer_epoch
    try:
        check_group_id(request.group_id)
        _admit(call, request, adds=call.version >= FIRST_VERSION_THAT_ADDS)
        if not call.parts.cluster.has_one_node:
            await until_admitted(call.parts, request.transactional_id)
            # The transaction may have ended, and have its marker here already (KIP-890).
            _admit(call, request, adds=False)
        call.parts.offsets.check_commit_in_transaction(
            MemberIdentity(
                request.group_id, request.generation_id, request.member_id, request.group_instance_id
            ),
            offsets.keys(),
        )
        if offsets:
            call.parts.offsets.commit_in_transaction(request.group_id, producer, offsets)
    except KafkaStorageError:
        return CoordinatorNotAvailableError.code
    except BrokerError as error:
        return error.code
    return 0


def _admit(call: Call, request: TxnOffsetCommitRequest, *, adds: bool) -> None:
    """Raises: BrokerError."""
    admit(
        call.parts.transactions,
        call.parts.group_store.partition_for(request.group_id),
        request.transactional_id,
        (request.producer_id, request.producer_epoch),
        adds=adds,
        tells_abortable=call.version >= FIRST_VERSION_THAT_TELLS_ABORTABLE,
    )


HANDLER = Handler(TxnOffsetCommitRequest, 0, 5, handle)
