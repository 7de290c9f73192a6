"""AddOffsetsToTxn, versions 0 to 4: makes a group's offsets part of a transaction of the first protocol."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.transactions.producer_errors import code_for
from barnabas.errors import BrokerError
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

FIRST_VERSION_WITH_FENCING = 2
PROTOCOL_VERSION = 0


async def handle(call: Call, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    require = call.parts.authorizer.require
    try:
        require(call, Operation.WRITE, ResourceKind.TRANSACTIONAL_ID, request.transactional_id)
        require(call, Operation.READ, ResourceKind.GROUP, request.group_id)
        call.parts.transactions.add_partitions(
            request.transactional_id,
            (request.producer_id, request.producer_epoch),
            [call.parts.group_store.partition_for(request.group_id).name],
            PROTOCOL_VERSION,
        )
    except BrokerError as error:
        return AddOffsetsToTxnResponse(error_code=code_for(error, call.version, FIRST_VERSION_WITH_FENCING))
    return AddOffsetsToTxnResponse()


HANDLER = Handler(AddOffsetsToTxnRequest, 0, 4, handle)
