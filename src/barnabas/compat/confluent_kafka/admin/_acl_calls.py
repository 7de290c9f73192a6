"""What AdminClient asks brokers about access rules.

Owns the requests and what their answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from barnabas.compat.confluent_kafka.admin._acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from barnabas.compat.librdkafka.ask.requests import BrokerRequests, broker_error
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.protocol.messages.create_acls import CreateAclsRequest
from barnabas.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest

_Member = TypeVar("_Member", bound=Enum)

LONGEST_TEXT_BYTES = 511


async def create_acls(
    requests: BrokerRequests, acls: list[AclBinding], options: CallOptions
) -> dict[AclBinding, KafkaError | None]:
    """What became of each rule."""
    request = CreateAclsRequest(
        creations=[
            CreateAclsRequest.AclCreation(
                resource_type=acl.restype_int,
                resource_name=acl.name,
                resource_pattern_type=acl.resource_pattern_type_int,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation_int,
                permission_type=acl.permission_type_int,
            )
            for acl in acls
        ]
    )
    # Answers have no names: they are in the order of the request.
    results = (await requests.ask_controller(request)).results
    return {
        acl: _error(result.error_code, result.error_message)
        for acl, result in zip(acls, results, strict=False)
    }


async def describe_acls(
    requests: BrokerRequests, wanted: AclBindingFilter, options: CallOptions
) -> list[AclBinding]:
    """The rules that a filter matches."""
    request = DescribeAclsRequest(
        resource_type_filter=wanted.restype_int,
        resource_name_filter=wanted.name,
        pattern_type_filter=wanted.resource_pattern_type_int,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation_int,
        permission_type=wanted.permission_type_int,
    )
    response = await requests.ask_controller(request)
    # As in librdkafka, a broker that refuses to tell, or has no rules to tell of, gives none.
    return [
        AclBinding(
            _known(ResourceType, resource.resource_type),
            resource.resource_name,
            _known(ResourcePatternType, resource.pattern_type),
            acl.principal,
            acl.host,
            _known(AclOperation, acl.operation),
            _known(AclPermissionType, acl.permission_type),
        )
        for resource in response.resources
        for acl in resource.acls
    ]


async def delete_acls(
    requests: BrokerRequests, filters: list[AclBindingFilter], options: CallOptions
) -> dict[AclBindingFilter, list[AclBinding] | KafkaError]:
    """The rules that each filter deleted, or why it deleted none."""
    request = DeleteAclsRequest(
        filters=[
            DeleteAclsRequest.DeleteAclsFilter(
                resource_type_filter=wanted.restype_int,
                resource_name_filter=wanted.name,
                pattern_type_filter=wanted.resource_pattern_type_int,
                principal_filter=wanted.principal,
                host_filter=wanted.host,
                operation=wanted.operation_int,
                permission_type=wanted.permission_type_int,
            )
            for wanted in filters
        ]
    )
    # Answers have no names: they are in the order of the request.
    results = (await requests.ask_controller(request)).filter_results
    return {
        wanted: _error(result.error_code, result.error_message) or _deleted(result)
        for wanted, result in zip(filters, results, strict=False)
    }


def _error(code: int, message: str | None) -> KafkaError | None:
    """librdkafka has room for so much of what brokers say of access rules."""
    kept = None if message is None else message.encode()[:LONGEST_TEXT_BYTES].decode(errors="ignore")
    return broker_error(code, kept)


def _deleted(result: DeleteAclsResponse.DeleteAclsFilterResult) -> list[AclBinding]:
    return [
        AclBinding(
            _known(ResourceType, acl.resource_type),
            acl.resource_name,
            _known(ResourcePatternType, acl.pattern_type),
            acl.principal,
            acl.host,
            _known(AclOperation, acl.operation),
            _known(AclPermissionType, acl.permission_type),
        )
        for acl in result.matching_acls
        if not acl.error_code
    ]


def _known(kind: type[_Member], number: int) -> _Member:
    """A member by its number; UNKNOWN for one that is newer than librdkafka."""
    return kind(number) if number in {member.value for member in kind} else kind["UNKNOWN"]
