"""DeleteAcls, versions 1 to 3: takes away the entries that filters match, each filter with a result of its
own, in which entries are that other filters of the request match as well."""

from __future__ import annotations

from barnabas.broker.authorization.acls import EntryFilter, Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import SecurityDisabledError
from barnabas.errors import BrokerError
from barnabas.net.server import DisconnectError
from barnabas.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse

Asked = DeleteAclsRequest.DeleteAclsFilter
Result = DeleteAclsResponse.DeleteAclsFilterResult


async def handle(call: Call, request: DeleteAclsRequest) -> DeleteAclsResponse:
    filters = [_filter(asked) for asked in request.filters]
    if any(asked.has_unknown_parts for asked in filters):
        raise DisconnectError("a filter of access control entries says that part of it is unknown")
    authorizer = call.parts.authorizer
    try:
        authorizer.require_cluster(call, Operation.ALTER)
        if not authorizer.is_on:
            raise SecurityDisabledError("No Authorizer is configured.")
        results = [_matched(call, asked) for asked in filters]
        call.parts.acls.remove(
            asked for asked, result in zip(filters, results, strict=True) if not result.error_code
        )
    except BrokerError as error:
        results = [Result(error.code, error.context) for _ in filters]
    return DeleteAclsResponse(filter_results=results)


def _filter(asked: Asked) -> EntryFilter:
    return EntryFilter(
        resource=asked.resource_type_filter,
        name=asked.resource_name_filter,
        pattern=asked.pattern_type_filter,
        principal=asked.principal_filter,
        host=asked.host_filter,
        operation=asked.operation,
        permission=asked.permission_type,
    )


def _matched(call: Call, asked: EntryFilter) -> Result:
    try:
        asked.check()
    except BrokerError as error:
        return Result(error.code, error.context)
    matching = [
        DeleteAclsResponse.DeleteAclsMatchingAcl(
            error_message=None,
            resource_type=entry.resource,
            resource_name=entry.name,
            pattern_type=entry.pattern,
            principal=entry.principal,
            host=entry.host,
            operation=entry.operation,
            permission_type=entry.permission,
        )
        for entry in call.parts.acls.matching(asked)
    ]
    return Result(error_message=None, matching_acls=matching)


HANDLER = Handler(DeleteAclsRequest, 1, 3, handle)
