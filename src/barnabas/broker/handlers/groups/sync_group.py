"""SyncGroup, versions 0 to 5: hands out what the leader assigned, once it has."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.groups.group import MemberIdentity
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

FIRST_VERSION_WITH_PROTOCOL = 5


async def handle(call: Call, request: SyncGroupRequest) -> SyncGroupResponse:
    if call.version >= FIRST_VERSION_WITH_PROTOCOL and None in (request.protocol_type, request.protocol_name):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    try:
        call.parts.authorizer.require(call, Operation.READ, ResourceKind.GROUP, request.group_id)
        protocol_type, protocol_name, assignment = await call.parts.classic_groups.sync(
            MemberIdentity(
                request.group_id, request.generation_id, request.member_id, request.group_instance_id
            ),
            request.protocol_type,
            request.protocol_name,
            {assigned.member_id: assigned.assignment for assigned in request.assignments},
        )
    except BrokerError as error:
        return SyncGroupResponse(error_code=error.code)
    return SyncGroupResponse(protocol_type=protocol_type, protocol_name=protocol_name, assignment=assignment)


HANDLER = Handler(SyncGroupRequest, 0, 5, handle)
