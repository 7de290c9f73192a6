"""Heartbeat, versions 0 to 4."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.groups.group import MemberIdentity
from barnabas.broker.handlers.api import Call, Handler
from barnabas.errors import BrokerError
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


async def handle(call: Call, request: HeartbeatRequest) -> HeartbeatResponse:
    try:
        call.parts.authorizer.require(call, Operation.READ, ResourceKind.GROUP, request.group_id)
        call.parts.classic_groups.heartbeat(
            MemberIdentity(
                request.group_id, request.generation_id, request.member_id, request.group_instance_id
            )
        )
    except BrokerError as error:
        return HeartbeatResponse(error_code=error.code)
    return HeartbeatResponse()


HANDLER = Handler(HeartbeatRequest, 0, 4, handle)
