"""EndTxn, versions 0 to 5: commits or aborts a transaction.

The answer comes once all markers are written, where Kafka answers once the decision is kept. From version 5
on (KIP-890) each end raises the producer's epoch, which the answer tells.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.transactions.producer_errors import code_for
from barnabas.broker.transactions.transaction import VERSION_WITH_EPOCH_BUMPS
from barnabas.errors import BrokerError
from barnabas.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

FIRST_VERSION_WITH_FENCING = 2
FIRST_VERSION_WITH_EPOCHS = 5


async def handle(call: Call, request: EndTxnRequest) -> EndTxnResponse:
    raises_epochs = call.version >= FIRST_VERSION_WITH_EPOCHS
    try:
        call.parts.authorizer.require(
            call, Operation.WRITE, ResourceKind.TRANSACTIONAL_ID, request.transactional_id
        )
        producer_id, epoch = call.parts.transactions.end(
            request.transactional_id,
            (request.producer_id, request.producer_epoch),
            commit=request.committed,
            version=VERSION_WITH_EPOCH_BUMPS if raises_epochs else 0,
        )
    except BrokerError as error:
        return EndTxnResponse(error_code=code_for(error, call.version, FIRST_VERSION_WITH_FENCING))
    return EndTxnResponse(producer_id=producer_id, producer_epoch=epoch)


HANDLER = Handler(EndTxnRequest, 0, 5, handle)
