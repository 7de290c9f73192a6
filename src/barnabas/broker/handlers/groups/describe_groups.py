"""DescribeGroups, versions 0 to 6. From version 6 on a group that does not exist is an error, before it is
"Dead".
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.groups.group import Group, GroupState
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse

DescribedGroup = DescribeGroupsResponse.DescribedGroup
FIRST_VERSION_WITH_NOT_FOUND = 6


async def handle(call: Call, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[
            _described(call, group_id, with_operations=request.include_authorized_operations)
            for group_id in request.groups
        ]
    )


def _described(call: Call, group_id: str, *, with_operations: bool) -> DescribedGroup:
    authorizer = call.parts.authorizer
    if not authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.GROUP, group_id):
        return DescribedGroup(ErrorCode.GROUP_AUTHORIZATION_FAILED, group_id=group_id)
    group = call.parts.groups.by_name.get(group_id)
    if group is None or group.consumers is not None:
        described = _missing(group_id, call.version, group)
    else:
        described = _describe(group)
    if with_operations and not described.error_code:
        described.authorized_operations = authorizer.authorized_operations(call, ResourceKind.GROUP, group_id)
    return described


def _missing(group_id: str, version: int, group: Group | None) -> DescribedGroup:
    described = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
    if version >= FIRST_VERSION_WITH_NOT_FOUND:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        what = "not found" if group is None else "is not a classic group"
        described.error_message = f"Group {group_id} {what}."
    return described


def _describe(group: Group) -> DescribedGroup:
    stable = group.state is GroupState.STABLE
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol if stable else "",
        members=[
            DescribeGroupsResponse.DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=f"/{member.client_host}",
                member_metadata=member.metadata(group.protocol) if stable else b"",
                member_assignment=member.assignment if stable else b"",
            )
            for member in group.members.values()
        ],
    )


HANDLER = Handler(DescribeGroupsRequest, 0, 6, handle)
