"""LeaveGroup, versions 0 to 5: one member, or from version 3 on several, by member id or instance id
(KIP-345).
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

FIRST_VERSION_WITH_MANY_MEMBERS = 3


async def handle(call: Call, request: LeaveGroupRequest) -> LeaveGroupResponse:
    try:
        call.parts.authorizer.require(call, Operation.READ, ResourceKind.GROUP, request.group_id)
    except BrokerError as error:
        return LeaveGroupResponse(error_code=error.code)
    if call.version < FIRST_VERSION_WITH_MANY_MEMBERS:
        return LeaveGroupResponse(error_code=_leave(call, request.group_id, request.member_id, None))
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    return LeaveGroupResponse(
        members=[
            LeaveGroupResponse.MemberResponse(
                member.member_id,
                member.group_instance_id,
                _leave(call, request.group_id, member.member_id, member.group_instance_id),
            )
            for member in request.members
        ]
    )


def _leave(call: Call, group_id: str, member_id: str, group_instance_id: str | None) -> int:
    try:
        call.parts.classic_groups.leave(group_id, member_id, group_instance_id)
    except BrokerError as error:
        return error.code
    return ErrorCode.NONE


HANDLER = Handler(LeaveGroupRequest, 0, 5, handle)
