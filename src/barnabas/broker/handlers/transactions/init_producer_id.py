"""InitProducerId, versions 0 to 5: an id and epoch for an idempotent or transactional producer (KIP-98,
KIP-360).

Without a transactional id there is a new id each time. With one the epoch is raised, which fences whoever has
the one before; a transaction that is open is aborted, with CONCURRENT_TRANSACTIONS as the answer.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.transactions.producer_errors import code_for
from barnabas.broker_errors import InvalidRequestError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

FIRST_VERSION_WITH_FENCING = 4


async def handle(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    try:
        _check_rights(call, request.transactional_id)
        producer_id, epoch = _begin(call, request)
    except BrokerError as error:
        code = code_for(error, call.version, FIRST_VERSION_WITH_FENCING)
        return InitProducerIdResponse(error_code=code, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)


def _check_rights(call: Call, transactional_id: str | None) -> None:
    """Without a transactional id, the right to write to any topic is enough (KIP-679).

    Raises: TransactionalIdAuthorizationFailedError, ClusterAuthorizationFailedError.
    """
    authorizer = call.parts.authorizer
    if transactional_id is not None:
        authorizer.require(call, Operation.WRITE, ResourceKind.TRANSACTIONAL_ID, transactional_id)
    elif not authorizer.authorize_any(call, Operation.WRITE, ResourceKind.TOPIC):
        authorizer.require_cluster(call, Operation.IDEMPOTENT_WRITE)


def _begin(call: Call, request: InitProducerIdRequest) -> tuple[int, int]:
    if (request.producer_id < 0) != (request.producer_epoch < 0):
        raise InvalidRequestError("a producer id and an epoch are given together or not at all")
    if request.transactional_id is None:
        return call.parts.transactions.producer_ids.next(), 0
    expected = None if request.producer_id < 0 else (request.producer_id, request.producer_epoch)
    return call.parts.transactions.init_producer_id(
        request.transactional_id, request.transaction_timeout_ms, expected
    )


HANDLER = Handler(InitProducerIdRequest, 0, 5, handle)
