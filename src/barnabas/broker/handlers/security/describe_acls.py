"""DescribeAcls, versions 1 to 3: the entries that a filter matches, by resource."""

from __future__ import annotations

from barnabas.broker.authorization.acls import EntryFilter, Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import SecurityDisabledError
from barnabas.errors import BrokerError
from barnabas.net.server import DisconnectError
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

Described = DescribeAclsResponse.DescribeAclsResource


async def handle(call: Call, request: DescribeAclsRequest) -> DescribeAclsResponse:
    asked = EntryFilter(
        resource=request.resource_type_filter,
        name=request.resource_name_filter,
        pattern=request.pattern_type_filter,
        principal=request.principal_filter,
        host=request.host_filter,
        operation=request.operation,
        permission=request.permission_type,
    )
    if asked.has_unknown_parts:
        raise DisconnectError("a filter of access control entries says that part of it is unknown")
    authorizer = call.parts.authorizer
    try:
        authorizer.require_cluster(call, Operation.DESCRIBE)
        if not authorizer.is_on:
            raise SecurityDisabledError("No Authorizer is configured on the broker")
    except BrokerError as error:
        return DescribeAclsResponse(error_code=error.code, error_message=error.context)
    resources: dict[tuple[int, str, int], Described] = {}
    for entry in call.parts.acls.matching(asked):
        key = entry.resource, entry.name, entry.pattern
        resources.setdefault(key, Described(*key)).acls.append(
            DescribeAclsResponse.AclDescription(
                entry.principal, entry.host, entry.operation, entry.permission
            )
        )
    return DescribeAclsResponse(resources=list(resources.values()))


HANDLER = Handler(DescribeAclsRequest, 1, 3, handle)
