"""JoinGroup, versions 0 to 9 (KIP-345 static members, KIP-394 a member id first, KIP-814 no assignment
twice).
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.classic_groups.join_attempt import JoinAttempt, MemberIdGivenError
from barnabas.broker.handlers.api import Call, Handler
from barnabas.errors import BrokerError
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

FIRST_VERSION_WITH_KNOWN_MEMBER_ID = 4
FIRST_VERSION_WITH_NULL_PROTOCOL = 7
FIRST_VERSION_WITH_SKIPPED_ASSIGNMENT = 9


async def handle(call: Call, request: JoinGroupRequest) -> JoinGroupResponse:
    has_rebalance_timeout = request.rebalance_timeout_ms >= 0
    attempt = JoinAttempt(
        group_id=request.group_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        client_id=call.client_id,
        client_host=call.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms
        if has_rebalance_timeout
        else request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=[(protocol.name, protocol.metadata) for protocol in request.protocols],
        requires_known_member_id=call.version >= FIRST_VERSION_WITH_KNOWN_MEMBER_ID,
        supports_skipping_assignment=call.version >= FIRST_VERSION_WITH_SKIPPED_ASSIGNMENT,
    )
    try:
        call.parts.authorizer.require(call, Operation.READ, ResourceKind.GROUP, request.group_id)
        result = await call.parts.classic_groups.join(attempt)
    except BrokerError as error:
        return JoinGroupResponse(
            error_code=error.code,
            protocol_name=None if call.version >= FIRST_VERSION_WITH_NULL_PROTOCOL else "",
            member_id=error.member_id if isinstance(error, MemberIdGivenError) else request.member_id,
        )
    return JoinGroupResponse(
        generation_id=result.generation,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol,
        leader=result.leader,
        skip_assignment=result.skip_assignment,
        member_id=result.member_id,
        members=[
            JoinGroupResponse.JoinGroupResponseMember(member_id, instance_id, metadata)
            for member_id, instance_id, metadata in result.members
        ],
    )


HANDLER = Handler(JoinGroupRequest, 0, 9, handle)
