"""UnregisterBroker, version 0 (KIP-631): a node that is stopped is forgotten until it starts again. One that
runs registers again at once, where Kafka's would be left out until its next start.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.errors import BrokerError
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


async def handle(call: Call, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    try:
        call.parts.authorizer.require_cluster(call, Operation.ALTER)
        call.parts.controller.unregister(request.broker_id)
    except BrokerError as error:
        return UnregisterBrokerResponse(error_code=error.code, error_message=error.context)
    return UnregisterBrokerResponse(error_message="")


HANDLER = Handler(UnregisterBrokerRequest, 0, 0, handle)
