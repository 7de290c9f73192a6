"""Groups of consumers and their members."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.client.admin.requests.common import Answer
from barnabas.client.admin.types import GroupListing
from barnabas.error_codes import ErrorCode
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

NOT_OF_THE_CONSUMER_PROTOCOL = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})
"""What ConsumerGroupDescribe is answered with where DescribeGroups is to be asked."""
LAST_DESCRIBE_GROUPS_WITH_DEAD_GROUPS = 5
"""Later versions answer with an error where there is no such group."""


def list_groups(*, states: Iterable[str] = (), types: Iterable[str] = ()) -> ListGroupsRequest:
    return ListGroupsRequest(states_filter=list(states), types_filter=list(types))


def listed_groups(response: ListGroupsResponse) -> list[GroupListing]:
    return [
        GroupListing(found.group_id, found.protocol_type, found.group_state, found.group_type)
        for found in response.groups
    ]


def describe_consumer_groups(
    group_ids: Sequence[str], *, include_operations: bool
) -> ConsumerGroupDescribeRequest:
    return ConsumerGroupDescribeRequest(
        group_ids=list(group_ids), include_authorized_operations=include_operations
    )


def describe_classic_groups(
    group_ids: Sequence[str], *, include_operations: bool = False
) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=list(group_ids), include_authorized_operations=include_operations)


def delete_groups(group_ids: Sequence[str]) -> DeleteGroupsRequest:
    return DeleteGroupsRequest(groups_names=list(group_ids))


def deleted_groups(response: DeleteGroupsResponse) -> list[Answer[str, None]]:
    return [Answer(result.group_id, None, result.error_code) for result in response.results]
