"""ListGroups, versions 0 to 5: by state from version 4 on, by type from 5 on."""

from __future__ import annotations

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse


async def handle(call: Call, request: ListGroupsRequest) -> ListGroupsResponse:
    parts = call.parts
    groups = [(group, group.consumers) for group in parts.groups.by_name.values()]
    listed = [
        ListGroupsResponse.ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type,
            group_state=group.state.value if consumers is None else consumers.state_name,
            group_type="classic" if consumers is None else consumers.kind,
        )
        for group, consumers in groups
    ]
    authorizer = parts.authorizer
    if not authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.CLUSTER, CLUSTER_NAME):
        listed = [
            group
            for group in listed
            if authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.GROUP, group.group_id)
        ]
    states = {state.lower() for state in request.states_filter}
    types = {name.lower() for name in request.types_filter}
    return ListGroupsResponse(
        groups=[
            group
            for group in listed
            if (not states or group.group_state.lower() in states)
            and (not types or group.group_type in types)
        ]
    )


HANDLER = Handler(ListGroupsRequest, 0, 5, handle)
