"""SyncGroup, versions 0 to 5: hands out what the leader assigned, once it has."""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.errors import BrokerError
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse


async def handle(call: Call, request: SyncGroupRequest) -> SyncGroupResponse:
    try:
        protocol_type, protocol_name, assignment = await call.parts.groups.sync(
            request.group_id,
            request.generation_id,
            request.member_id,
            request.group_instance_id,
            request.protocol_type,
            request.protocol_name,
            {assigned.member_id: assigned.assignment for assigned in request.assignments},
        )
    except BrokerError as error:
        return SyncGroupResponse(error_code=error.code)
    return SyncGroupResponse(protocol_type=protocol_type, protocol_name=protocol_name, assignment=assignment)


HANDLER = Handler(SyncGroupRequest, 0, 5, handle)
