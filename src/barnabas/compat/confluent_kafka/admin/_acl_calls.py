"""What AdminClient asks brokers about access rules.

Owns what answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from barnabas.client.admin import types
from barnabas.client.admin.requests import acls as acl_requests
from barnabas.compat.confluent_kafka.admin._acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from barnabas.compat.librdkafka.cluster.broker_requests import BrokerRequests, broker_error
from barnabas.compat.librdkafka.values.errors import KafkaError

_Member = TypeVar("_Member", bound=Enum)

LONGEST_TEXT_BYTES = 511


async def create_acls(
    requests: BrokerRequests, acls: list[AclBinding], options: CallOptions
) -> dict[AclBinding, KafkaError | None]:
    """The outcome of each rule."""
    response = await requests.ask_controller(acl_requests.create_acls(map(_core_binding, acls)))
    return {
        answer.key: _error(answer.code, answer.message)
        for answer in acl_requests.created_acls(acls, response)
    }


async def describe_acls(
    requests: BrokerRequests, wanted: AclBindingFilter, options: CallOptions
) -> list[AclBinding]:
    """The rules that a filter matches."""
    response = await requests.ask_controller(acl_requests.describe_acls(_core_filter(wanted)))
    # As in librdkafka, a broker that refuses to tell, or has no rules to tell of, gives none.
    return list(map(_binding, acl_requests.described_acls(response)))


async def delete_acls(
    requests: BrokerRequests, filters: list[AclBindingFilter], options: CallOptions
) -> dict[AclBindingFilter, list[AclBinding] | KafkaError]:
    """The rules that each filter deleted, or why it deleted none."""
    response = await requests.ask_controller(acl_requests.delete_acls(map(_core_filter, filters)))
    return {
        answer.key: _error(answer.code, answer.message)
        or [_binding(matching.key) for matching in answer.result if not matching.code]
        for answer in acl_requests.deleted_acls(filters, response)
    }


def _error(code: int, message: str | None) -> KafkaError | None:
    """librdkafka has room for so much of what brokers say of access rules."""
    kept = None if message is None else message.encode()[:LONGEST_TEXT_BYTES].decode(errors="ignore")
    return broker_error(code, kept)


def _core_binding(acl: AclBinding) -> types.AclBinding:
    return types.AclBinding(
        types.AclResourceType(acl.restype_int),
        acl.name,
        acl.principal,
        types.AclOperation(acl.operation_int),
        types.AclPermissionType(acl.permission_type_int),
        acl.host,
        types.ResourcePatternType(acl.resource_pattern_type_int),
    )


def _core_filter(wanted: AclBindingFilter) -> types.AclBindingFilter:
    return types.AclBindingFilter(
        types.AclResourceType(wanted.restype_int),
        wanted.name,
        wanted.principal,
        types.AclOperation(wanted.operation_int),
        types.AclPermissionType(wanted.permission_type_int),
        wanted.host,
        types.ResourcePatternType(wanted.resource_pattern_type_int),
    )


def _binding(acl: types.AclBinding) -> AclBinding:
    return AclBinding(
        _known(ResourceType, acl.resource_type),
        acl.resource_name,
        _known(ResourcePatternType, acl.pattern_type),
        acl.principal,
        acl.host,
        _known(AclOperation, acl.operation),
        _known(AclPermissionType, acl.permission_type),
    )


def _known(kind: type[_Member], number: int) -> _Member:
    """A member by its number; UNKNOWN for one that is newer than librdkafka."""
    return kind(number) if number in {member.value for member in kind} else kind["UNKNOWN"]
