"""Access control lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from barnabas.client.admin.requests.common import Answer
from barnabas.client.admin.types import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    ResourcePatternType,
)
from barnabas.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from barnabas.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

K = TypeVar("K")


def create_acls(acls: Iterable[AclBinding]) -> CreateAclsRequest:
    return CreateAclsRequest(
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
            for acl in acls
        ]
    )


def created_acls(asked: Sequence[K], response: CreateAclsResponse) -> list[Answer[K, None]]:
    """Answers have no names: they are in the order of what was asked."""
    return [
        Answer(acl, None, result.error_code, result.error_message)
        for acl, result in zip(asked, response.results, strict=False)
    ]


def describe_acls(wanted: AclBindingFilter) -> DescribeAclsRequest:
    return DescribeAclsRequest(
        resource_type_filter=wanted.resource_type,
        resource_name_filter=wanted.resource_name,
        pattern_type_filter=wanted.pattern_type,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission_type,
    )


def described_acls(response: DescribeAclsResponse) -> list[AclBinding]:
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


def delete_acls(filters: Iterable[AclBindingFilter]) -> DeleteAclsRequest:
    return DeleteAclsRequest(
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
            for wanted in filters
        ]
    )


def deleted_acls(
    asked: Sequence[K], response: DeleteAclsResponse
) -> list[Answer[K, list[Answer[AclBinding, None]]]]:
    """Of each filter, in the order of what was asked, what became of the rules that it matches."""
    return [
        Answer(wanted, list(map(_matching, result.matching_acls)), result.error_code, result.error_message)
        for wanted, result in zip(asked, response.filter_results, strict=False)
    ]


def _matching(acl: DeleteAclsResponse.DeleteAclsMatchingAcl) -> Answer[AclBinding, None]:
    binding = AclBinding(
        AclResourceType(acl.resource_type),
        acl.resource_name,
        acl.principal,
        AclOperation(acl.operation),
        AclPermissionType(acl.permission_type),
        acl.host,
        ResourcePatternType(acl.pattern_type),
    )
    return Answer(binding, None, acl.error_code, acl.error_message)
