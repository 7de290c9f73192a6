"""InitProducerId, versions 0 to 5: an id for an idempotent producer (KIP-98, KIP-360).

A producer that comes with an id and epoch gets a new id. Transactional ids are refused with
TRANSACTIONAL_ID_AUTHORIZATION_FAILED, which clients give up on at once, as there are no transactions yet.
"""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


async def handle(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        refusal = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return InitProducerIdResponse(error_code=refusal, producer_epoch=-1)
    try:
        return InitProducerIdResponse(producer_id=call.parts.cluster.next_producer_id(), producer_epoch=0)
    except BrokerError as error:
        return InitProducerIdResponse(error_code=error.code, producer_epoch=-1)


HANDLER = Handler(InitProducerIdRequest, 0, 5, handle)
