"""ListGroups, versions 0 to 5: by state from version 4 on, by type from 5 on. All groups are of type
"classic".
"""

from __future__ import annotations

from barnabas.broker.handlers.api import Call, Handler
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

GROUP_TYPE = "classic"


async def handle(call: Call, request: ListGroupsRequest) -> ListGroupsResponse:
    states = {state.lower() for state in request.states_filter}
    types = {name.lower() for name in request.types_filter}
    return ListGroupsResponse(
        groups=[
            ListGroupsResponse.ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state.value,
                group_type=GROUP_TYPE,
            )
            for group in call.parts.groups.groups.values()
            if (not states or group.state.value.lower() in states) and (not types or GROUP_TYPE in types)
        ]
    )


HANDLER = Handler(ListGroupsRequest, 0, 5, handle)
