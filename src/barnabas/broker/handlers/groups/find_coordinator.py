"""FindCoordinator, versions 0 to 6: the coordinator is the node that leads the partition in which the
group or transaction is kept, or what becomes of a share partition's records (type 2; keys are
group:topic id:partition).
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.nodes import endpoint, known_leader
from barnabas.broker.replication.registration import NO_LEADER
from barnabas.broker_errors import CoordinatorNotAvailableError, ErrorCode, InvalidRequestError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

Coordinator = FindCoordinatorResponse.Coordinator
REFUSALS: Mapping[int, str] = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
}
"""What old versions say besides the code."""
GROUP, TRANSACTION, SHARE = 0, 1, 2
FIRST_VERSION_WITH_MANY_KEYS = 4


async def handle(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if call.version >= FIRST_VERSION_WITH_MANY_KEYS:
        return FindCoordinatorResponse(
            coordinators=[_find(call, request.key_type, key) for key in request.coordinator_keys]
        )
    found = _find(call, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=REFUSALS.get(found.error_code, found.error_message),
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(call: Call, key_type: int, key: str) -> Coordinator:
    require = call.parts.authorizer.require
    try:
        if key_type == TRANSACTION:
            require(call, Operation.DESCRIBE, ResourceKind.TRANSACTIONAL_ID, key)
            partition = call.parts.transaction_store.topic.partition_for(key)
        elif key_type == GROUP:
            require(call, Operation.DESCRIBE, ResourceKind.GROUP, key)
            partition = call.parts.group_store.topic.partition_for(key)
        elif key_type == SHARE:
            call.parts.authorizer.require_cluster(call, Operation.CLUSTER_ACTION)
            partition = call.parts.share_states.topic.partition_for(key)
        else:
            raise InvalidRequestError(f"this broker coordinates nothing of type {key_type}")
    except BrokerError as error:
        return Coordinator(key, -1, "", -1, error.code, error.context)
    leader = known_leader(call, partition)
    if leader == NO_LEADER:
        return Coordinator(key, -1, "", -1, CoordinatorNotAvailableError.code, None)
    found = endpoint(call, leader)
    return Coordinator(key, found.node_id, found.host, found.port, error_message=None)


HANDLER = Handler(FindCoordinatorRequest, 0, 6, handle)
