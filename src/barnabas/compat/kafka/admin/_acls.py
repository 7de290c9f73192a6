"""Access control lists: the calls of KafkaAdminClient about them, as kafka-python 3 answers, and what they
take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.protocol.admin.acl import ACLOperation, ACLPermissionType, ACLResourcePatternType
from barnabas.compat.kafka.protocol.admin.acl import ACLResourceType as ResourceType
from barnabas.compat.kafka_engine.admin import acls as requests
from barnabas.compat.kafka_engine.admin.session import BrokerSession

_NOTHING_TOLD = 31
"""KIP-430: the only bit that is set where a broker does not know."""


class ResourcePatternFilter:
    """Which resources. `resource_name`: None for any."""

    def __init__(self, resource_type: Any, resource_name: str | None, pattern_type: Any) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.validate()

    def validate(self) -> None:
        """Raises: IllegalArgumentError."""
        if not isinstance(self.resource_type, ResourceType):
            raise Errors.IllegalArgumentError("resource_type must be a ResourceType object")
        if not isinstance(self.pattern_type, ACLResourcePatternType):
            raise Errors.IllegalArgumentError("pattern_type must be an ACLResourcePatternType object")

    def _values(self) -> tuple[Any, ...]:
        return self.resource_type, self.resource_name, self.pattern_type

    def __repr__(self) -> str:
        return (
            f"<ResourcePattern type={self.resource_type.name}, name={self.resource_name}, "
            f"pattern={self.pattern_type.name}>"
        )

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ResourcePatternFilter) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())


class ResourcePattern(ResourcePatternFilter):
    """The resources that an ACL is of."""

    def __init__(
        self,
        resource_type: Any,
        resource_name: str | None,
        pattern_type: Any = ACLResourcePatternType.LITERAL,
    ) -> None:
        super().__init__(resource_type, resource_name, pattern_type)

    def validate(self) -> None:
        """Raises: IllegalArgumentError."""
        if self.resource_type == ResourceType.ANY:
            raise Errors.IllegalArgumentError("resource_type cannot be ANY")
        if self.pattern_type in (ACLResourcePatternType.ANY, ACLResourcePatternType.MATCH):
            raise Errors.IllegalArgumentError(
                f"pattern_type cannot be {self.pattern_type.name} on a concrete ResourcePattern"
            )


class ACLFilter:
    """Which ACLs. `principal`, `host`: None for any."""

    def __init__(
        self,
        principal: str | None,
        host: str | None,
        operation: Any,
        permission_type: Any,
        resource_pattern: Any,
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.resource_pattern = resource_pattern
        self.validate()

    def validate(self) -> None:
        """Raises: IllegalArgumentError."""
        if not isinstance(self.operation, ACLOperation):
            raise Errors.IllegalArgumentError("operation must be an ACLOperation object, and cannot be ANY")
        if not isinstance(self.permission_type, ACLPermissionType):
            raise Errors.IllegalArgumentError(
                "permission_type must be an ACLPermissionType object, and cannot be ANY"
            )
        if not isinstance(self.resource_pattern, ResourcePatternFilter):
            raise Errors.IllegalArgumentError("resource_pattern must be a ResourcePatternFilter object")

    def _values(self) -> tuple[Any, ...]:
        return self.principal, self.host, self.operation, self.permission_type, self.resource_pattern

    def __repr__(self) -> str:
        return (
            f"<ACL principal={self.principal}, resource={self.resource_pattern}, "
            f"operation={self.operation.name}, type={self.permission_type.name}, host={self.host}>"
        )

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ACLFilter) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())


class ACL(ACLFilter):
    """Lets a principal ("User:name") do an operation from a host ("*" for any), or keeps it from it."""

    def validate(self) -> None:
        """Raises: IllegalArgumentError."""
        if self.operation == ACLOperation.ANY:
            raise Errors.IllegalArgumentError("operation cannot be ANY")
        if self.permission_type == ACLPermissionType.ANY:
            raise Errors.IllegalArgumentError("permission_type cannot be ANY")
        if not isinstance(self.resource_pattern, ResourcePattern):
            raise Errors.IllegalArgumentError("resource_pattern must be a ResourcePattern object")


def valid_acl_operations(int_vals: Iterable[int]) -> set[Any]:
    """The operations of the bits that brokers set in what a caller may do."""
    return {ACLOperation(value) for value in int_vals if value not in (0, 1, 2, _NOTHING_TOLD)}


def operation_names(bits: Iterable[int] | None) -> list[str] | None:
    """Their names; None where brokers were not asked."""
    return None if bits is None else [operation.name for operation in valid_acl_operations(bits)]


def acl_of(pattern: tuple[int, str, int], entry: Any) -> ACL:
    """The ACL of an answer. `pattern`: Kafka's numbers for the type of the resource and of its name."""
    resource_type, name, pattern_type = pattern
    return ACL(
        principal=entry.principal,
        host=entry.host,
        operation=ACLOperation(entry.operation),
        permission_type=ACLPermissionType(entry.permission_type),
        resource_pattern=ResourcePattern(
            ResourceType(resource_type), name, ACLResourcePatternType(pattern_type)
        ),
    )


def check_acls(acls: Iterable[Any]) -> None:
    """Raises: IllegalArgumentError for what is no ACL."""
    if not all(isinstance(acl, ACL) for acl in acls):
        raise Errors.IllegalArgumentError("acls must contain ACL objects")


def check_filters(acl_filters: Iterable[Any]) -> None:
    """Raises: IllegalArgumentError for what is no filter."""
    if not all(isinstance(acl_filter, ACLFilter) for acl_filter in acl_filters):
        raise Errors.IllegalArgumentError("acl_filters must contain ACLFilter type objects")


class ACLAdminMixin:
    """Calls about ACLs."""

    _session: BrokerSession

    def describe_acls(self, acl_filter: ACLFilter) -> tuple[list[ACL], Any]:
        """The ACLs that match `acl_filter`, and NoError. Raises: SecurityDisabledError where the brokers have
        no authorizer, ClusterAuthorizationFailedError."""
        message = self._session.run(requests.describe_acls(self._session, acl_filter)).message
        if message.error_code:
            raise Errors.for_code(message.error_code)(message.error_message)
        found = [
            acl_of((resource.resource_type, resource.resource_name, resource.pattern_type), entry)
            for resource in message.resources
            for entry in resource.acls
        ]
        return found, Errors.NoError

    def create_acls(self, acls: list[ACL]) -> dict[str, list[Any]]:
        """Makes ACLs. Gives those that it made as "succeeded", and the classes of the errors of the others as
        "failed". Raises: IllegalArgumentError for what is no ACL."""
        check_acls(acls)
        results = self._session.run(requests.create_acls(self._session, acls)).message.results
        return {
            "succeeded": [acl for acl, result in zip(acls, results, strict=True) if not result.error_code],
            "failed": [Errors.for_code(result.error_code) for result in results if result.error_code],
        }

    def delete_acls(self, acl_filters: list[ACLFilter]) -> list[tuple[ACLFilter, list[ACL], Any]]:
        """Deletes what matches. Gives each filter with what it deleted and the class of its error, NoError
        where there is none. Raises: IllegalArgumentError for what is no filter."""
        check_filters(acl_filters)
        results = self._session.run(requests.delete_acls(self._session, acl_filters)).message.filter_results
        return [
            (
                acl_filter,
                [
                    acl_of((each.resource_type, each.resource_name, each.pattern_type), each)
                    for each in result.matching_acls
                ],
                Errors.for_code(result.error_code),
            )
            for acl_filter, result in zip(acl_filters, results, strict=True)
        ]
