"""DeleteGroups, versions 0 to 2: removes groups without members, and their offsets."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import CoordinatorNotAvailableError, KafkaStorageError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse


async def handle(call: Call, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            DeleteGroupsResponse.DeletableGroupResult(group_id, _delete(call, group_id))
            for group_id in request.groups_names
        ]
    )


def _delete(call: Call, group_id: str) -> int:
    try:
        call.parts.authorizer.require(call, Operation.DELETE, ResourceKind.GROUP, group_id)
        call.parts.groups.delete(group_id)
    except KafkaStorageError:
        return CoordinatorNotAvailableError.code
    except BrokerError as error:
        return error.code
    return 0


HANDLER = Handler(DeleteGroupsRequest, 0, 2, handle)
