"""Access rules (ACLs): who may do what with which resources, and filters that match such rules."""

from __future__ import annotations

import functools
from enum import Enum
from typing import Any, ClassVar

from barnabas.compat.confluent_kafka import cimpl
from barnabas.compat.confluent_kafka._util import ConversionUtil, ValidationUtil
from barnabas.compat.confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from barnabas.compat.librdkafka.values.models import OrderedEnum


class AclOperation(OrderedEnum):
    """What is allowed or denied. ANY is for filters."""

    UNKNOWN = cimpl.ACL_OPERATION_UNKNOWN
    ANY = cimpl.ACL_OPERATION_ANY
    ALL = cimpl.ACL_OPERATION_ALL
    READ = cimpl.ACL_OPERATION_READ
    WRITE = cimpl.ACL_OPERATION_WRITE
    CREATE = cimpl.ACL_OPERATION_CREATE
    DELETE = cimpl.ACL_OPERATION_DELETE
    ALTER = cimpl.ACL_OPERATION_ALTER
    DESCRIBE = cimpl.ACL_OPERATION_DESCRIBE
    CLUSTER_ACTION = cimpl.ACL_OPERATION_CLUSTER_ACTION
    DESCRIBE_CONFIGS = cimpl.ACL_OPERATION_DESCRIBE_CONFIGS
    ALTER_CONFIGS = cimpl.ACL_OPERATION_ALTER_CONFIGS
    IDEMPOTENT_WRITE = cimpl.ACL_OPERATION_IDEMPOTENT_WRITE


class AclPermissionType(OrderedEnum):
    """Whether a rule allows or denies. ANY is for filters."""

    UNKNOWN = cimpl.ACL_PERMISSION_TYPE_UNKNOWN
    ANY = cimpl.ACL_PERMISSION_TYPE_ANY
    DENY = cimpl.ACL_PERMISSION_TYPE_DENY
    ALLOW = cimpl.ACL_PERMISSION_TYPE_ALLOW


@functools.total_ordering
class AclBinding:
    """One access rule.

    restype                what kind of resource it is for: a ResourceType, its name in any case, its number
    name                   the resource's name; a broker's is its number
    resource_pattern_type  how the name is meant: a ResourcePatternType, its name or its number
    principal              whom it is for, such as "User:alice"
    host                   where from; "*" is everywhere
    operation              what: an AclOperation, its name or its number
    permission_type        whether that is allowed or denied: an AclPermissionType, its name or its number

    Raises: ValueError (None, an unknown name, a member that is for filters), TypeError.
    """

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        resource_pattern_type: ResourcePatternType | str | int,
        principal: str,
        host: str,
        operation: AclOperation | str | int,
        permission_type: AclPermissionType | str | int,
    ) -> None:
        given = {
            "restype": restype,
            "name": name,
            "resource_pattern_type": resource_pattern_type,
            "principal": principal,
            "host": host,
            "operation": operation,
            "permission_type": permission_type,
        }
        for attribute, value in given.items():
            setattr(self, attribute, value)
        ValidationUtil.check_multiple_not_none(self, [name for name in given if name not in self._optional])
        ValidationUtil.check_multiple_is_string(self, ["name", "principal", "host"])
        self.restype = ConversionUtil.convert_to_enum(restype, ResourceType)
        self.name = name
        self.resource_pattern_type = ConversionUtil.convert_to_enum(
            resource_pattern_type, ResourcePatternType
        )
        self.principal = principal
        self.host = host
        self.operation = ConversionUtil.convert_to_enum(operation, AclOperation)
        self.permission_type = ConversionUtil.convert_to_enum(permission_type, AclPermissionType)
        for attribute, members in self._refused.items():
            member = getattr(self, attribute)
            if member in members:
                raise ValueError(f"Cannot use enum {attribute}, value {member.name} in this class")
        self.restype_int = int(self.restype.value)
        self.resource_pattern_type_int = int(self.resource_pattern_type.value)
        self.operation_int = int(self.operation.value)
        self.permission_type_int = int(self.permission_type.value)

    _optional: ClassVar[tuple[str, ...]] = ()
    _refused: ClassVar[dict[str, tuple[Enum, ...]]] = {
        "restype": (ResourceType.ANY,),
        "resource_pattern_type": (ResourcePatternType.ANY, ResourcePatternType.MATCH),
        "operation": (AclOperation.ANY,),
        "permission_type": (AclPermissionType.ANY,),
    }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(map(str, self._key))})"

    @property
    def _key(self) -> tuple[Any, ...]:
        return (
            self.restype,
            self.name,
            self.resource_pattern_type,
            self.principal,
            self.host,
            self.operation,
            self.permission_type,
        )

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, AclBinding):
            return NotImplemented
        return self._key < other._key

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AclBinding):
            return NotImplemented
        return self._key == other._key


class AclBindingFilter(AclBinding):
    """Matches access rules: those that have what it names. None as name, principal or host matches all, and
    so does ANY. With ResourcePatternType.MATCH it finds all rules that apply to the name. Takes what
    `AclBinding` takes."""

    _optional: ClassVar[tuple[str, ...]] = ("name", "principal", "host")
    _refused: ClassVar[dict[str, tuple[Enum, ...]]] = {
        "restype": (ResourceType.UNKNOWN,),
        "resource_pattern_type": (ResourcePatternType.UNKNOWN,),
        "operation": (AclOperation.UNKNOWN,),
        "permission_type": (AclPermissionType.UNKNOWN,),
    }
