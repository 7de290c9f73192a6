"""CreateAcls, versions 1 to 3: entries of access control lists; one that is there already stays."""

from __future__ import annotations

from barnabas.broker.authorization.acls import AccessControlEntry, Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import SecurityDisabledError, UnknownServerError
from barnabas.errors import BrokerError
from barnabas.net.server import DisconnectError
from barnabas.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse

Creation = CreateAclsRequest.AclCreation
Result = CreateAclsResponse.AclCreationResult


async def handle(call: Call, request: CreateAclsRequest) -> CreateAclsResponse:
    entries = [_entry(creation) for creation in request.creations]
    if any(entry.has_unknown_parts for entry in entries):
        raise DisconnectError("an access control entry says that part of it is unknown")
    authorizer = call.parts.authorizer
    try:
        authorizer.require_cluster(call, Operation.ALTER)
        if not authorizer.is_on:
            raise SecurityDisabledError("No Authorizer is configured.")
        if any(entry.is_for_filters for entry in entries):
            raise UnknownServerError
        results = [_checked(entry) for entry in entries]
        call.parts.acls.add(
            entry for entry, result in zip(entries, results, strict=True) if not result.error_code
        )
    except BrokerError as error:
        results = [Result(error.code, error.context or None) for _ in entries]
    return CreateAclsResponse(results=results)


def _entry(asked: Creation) -> AccessControlEntry:
    return AccessControlEntry(
        resource=asked.resource_type,
        name=asked.resource_name,
        pattern=asked.resource_pattern_type,
        principal=asked.principal,
        host=asked.host,
        operation=asked.operation,
        permission=asked.permission_type,
    )


def _checked(entry: AccessControlEntry) -> Result:
    try:
        entry.check()
    except BrokerError as error:
        return Result(error.code, error.context)
    return Result()


HANDLER = Handler(CreateAclsRequest, 1, 3, handle)
