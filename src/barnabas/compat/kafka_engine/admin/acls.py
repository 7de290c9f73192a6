"""Access control lists. Knows no shape of answers, and takes from ACLs only their fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.compat.kafka_engine.admin.session import BrokerAnswer, BrokerSession
from barnabas.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from barnabas.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

_NEWEST = 32767
_USER = 7
_USERS_SINCE = 3


def _needed(resource_types: Iterable[int]) -> int:
    return _USERS_SINCE if _USER in resource_types else 0


def _filter_fields(acl_filter: Any) -> dict[str, Any]:
    pattern = acl_filter.resource_pattern
    return {
        "resource_type_filter": pattern.resource_type,
        "resource_name_filter": pattern.resource_name,
        "pattern_type_filter": pattern.pattern_type,
        "principal_filter": acl_filter.principal,
        "host_filter": acl_filter.host,
        "operation": acl_filter.operation,
        "permission_type": acl_filter.permission_type,
    }


async def describe_acls(
    session: BrokerSession, acl_filter: Any, *, max_version: int = _NEWEST
) -> BrokerAnswer[DescribeAclsResponse]:
    """Those that match a filter."""
    request = DescribeAclsRequest(**_filter_fields(acl_filter))
    needed = _needed([request.resource_type_filter])
    return await session.ask(request, min_version=needed, max_version=max_version)


async def create_acls(
    session: BrokerSession, acls: Sequence[Any], *, max_version: int = _NEWEST
) -> BrokerAnswer[CreateAclsResponse]:
    """The results are in the order of `acls`."""
    request = CreateAclsRequest(
        creations=[
            CreateAclsRequest.AclCreation(
                resource_type=acl.resource_pattern.resource_type,
                resource_name=acl.resource_pattern.resource_name,
                resource_pattern_type=acl.resource_pattern.pattern_type,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            )
            for acl in acls
        ]
    )
    needed = _needed(creation.resource_type for creation in request.creations)
    return await session.ask(request, min_version=needed, max_version=max_version)


async def delete_acls(
    session: BrokerSession, acl_filters: Sequence[Any], *, max_version: int = _NEWEST
) -> BrokerAnswer[DeleteAclsResponse]:
    """The results are in the order of `acl_filters`."""
    request = DeleteAclsRequest(
        filters=[DeleteAclsRequest.DeleteAclsFilter(**_filter_fields(each)) for each in acl_filters]
    )
    needed = _needed(each.resource_type_filter for each in request.filters)
    return await session.ask(request, min_version=needed, max_version=max_version)
