"""The part of Admin that concerns access control lists.

Owns the requests and what their answers mean. Must not know how a request finds its broker.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.admin.calls import AdminCalls, check, failure
from barnabas.client.admin.types import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    ResourcePatternType,
)
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.create_acls import CreateAclsRequest
from barnabas.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest


class AclAdmin(AdminCalls):
    """See `barnabas.client.admin.admin.Admin`."""

    async def create_acls(self, acls: Iterable[AclBinding], *, timeout: float | None = None) -> None:
        """Creates rules; one that is there already stays. Raises: SecurityDisabledError (the broker has no
        authorizer), ClusterAuthorizationFailedError, InvalidRequestError, ..."""

        async def ask(controller: int, group: list[AclBinding]) -> dict[AclBinding, BarnabasError | None]:
            request = CreateAclsRequest(
                creations=[
                    CreateAclsRequest.AclCreation(
                        resource_type=acl.resource_type,
                        resource_name=acl.resource_name,
                        resource_pattern_type=acl.pattern_type,
                        principal=acl.principal,
                        host=acl.host,
                        operation=acl.operation,
                        permission_type=acl.permission_type,
                    )
                    for acl in group
                ]
            )
            # Answers have no names: they are in the order of the request.
            results = (await self._send(controller, request)).results
            return {
                acl: failure(result.error_code, str(acl), result.error_message)
                for acl, result in zip(group, results, strict=False)
            }

        await self._ask_controller_for_each(acls, ask, what="creating ACLs", timeout=timeout)

    async def describe_acls(
        self, filter: AclBindingFilter | None = None, *, timeout: float | None = None
    ) -> list[AclBinding]:
        """The rules that a filter matches; None means all. Raises: SecurityDisabledError, ..."""
        wanted = filter or AclBindingFilter()
        request = DescribeAclsRequest(
            resource_type_filter=wanted.resource_type,
            resource_name_filter=wanted.resource_name,
            pattern_type_filter=wanted.pattern_type,
            principal_filter=wanted.principal,
            host_filter=wanted.host,
            operation=wanted.operation,
            permission_type=wanted.permission_type,
        )
        response = await self._ask(self._client.any_node, request, timeout)
        check(response.error_code, "describing ACLs", response.error_message)
        return [
            AclBinding(
                AclResourceType(resource.resource_type),
                resource.resource_name,
                acl.principal,
                AclOperation(acl.operation),
                AclPermissionType(acl.permission_type),
                acl.host,
                ResourcePatternType(resource.pattern_type),
            )
            for resource in response.resources
            for acl in resource.acls
        ]

    async def delete_acls(
        self, filters: Iterable[AclBindingFilter], *, timeout: float | None = None
    ) -> dict[AclBindingFilter, list[AclBinding]]:
        """Deletes the rules that filters match, and gives those that each one deleted.

        Raises: SecurityDisabledError, ClusterAuthorizationFailedError, ...
        """

        async def ask(
            controller: int, group: list[AclBindingFilter]
        ) -> dict[AclBindingFilter, list[AclBinding] | BarnabasError]:
            request = DeleteAclsRequest(
                filters=[
                    DeleteAclsRequest.DeleteAclsFilter(
                        resource_type_filter=wanted.resource_type,
                        resource_name_filter=wanted.resource_name,
                        pattern_type_filter=wanted.pattern_type,
                        principal_filter=wanted.principal,
                        host_filter=wanted.host,
                        operation=wanted.operation,
                        permission_type=wanted.permission_type,
                    )
                    for wanted in group
                ]
            )
            # Answers have no names: they are in the order of the request.
            results = (await self._send(controller, request)).filter_results
            return {
                wanted: failure(result.error_code, str(wanted), result.error_message) or _deleted(result)
                for wanted, result in zip(group, results, strict=False)
            }

        return await self._ask_controller_for_each(filters, ask, what="deleting ACLs", timeout=timeout)


def _deleted(result: DeleteAclsResponse.DeleteAclsFilterResult) -> list[AclBinding] | BarnabasError:
    deleted: list[AclBinding] = []
    for acl in result.matching_acls:
        binding = AclBinding(
            AclResourceType(acl.resource_type),
            acl.resource_name,
            acl.principal,
            AclOperation(acl.operation),
            AclPermissionType(acl.permission_type),
            acl.host,
            ResourcePatternType(acl.pattern_type),
        )
        error = failure(acl.error_code, str(binding), acl.error_message)
        if error is not None:
            return error
        deleted.append(binding)
    return deleted
