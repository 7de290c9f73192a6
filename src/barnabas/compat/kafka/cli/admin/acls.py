"""`python -m kafka.admin acls`."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.admin._acls import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from barnabas.compat.kafka.cli._argument import Argument, text
from barnabas.compat.kafka.cli.admin._command import CommandGroup, command


def _choice(flag: str, members: Any, about: str, **settings: Any) -> Argument:
    if "default" in settings:
        about += f" (default: {settings['default']})"
    return text(flag, about, choices=[each.name.lower() for each in members], **settings)


_PRINCIPAL = "ACL principal (e.g. User:alice)"
_NAME = "Resource name (* wildcards accepted)"
_OF_FILTER = (
    text("--principal", _PRINCIPAL),
    text("--host", "ACL host (default: match any)"),
    _choice("--operation", ACLOperation, "ACL operation", default="any"),
    _choice("--permission-type", ACLPermissionType, "ACL permission type", default="any"),
    _choice("--resource-type", ResourceType, "Resource type", default="any"),
    text("--resource-name", _NAME),
    _choice("--pattern-type", ACLResourcePatternType, "Resource pattern type", default="any"),
)
_OF_ACL = (
    text("--principal", _PRINCIPAL, required=True),
    text("--host", "ACL host (default: *)", default="*"),
    _choice("--operation", ACLOperation, "ACL operation", required=True),
    _choice("--permission-type", ACLPermissionType, "ACL permission type", default="allow"),
    _choice("--resource-type", ResourceType, "Resource type", required=True),
    text("--resource-name", _NAME, required=True),
    _choice("--pattern-type", ACLResourcePatternType, "Resource pattern type", default="literal"),
)


def _made(args: Any, acl: Any, pattern: Any) -> Any:
    return acl(
        principal=args.principal,
        host=args.host,
        operation=ACLOperation[args.operation.upper()],
        permission_type=ACLPermissionType[args.permission_type.upper()],
        resource_pattern=pattern(
            resource_type=ResourceType[args.resource_type.upper()],
            resource_name=args.resource_name,
            pattern_type=ACLResourcePatternType[args.pattern_type.upper()],
        ),
    )


def _filter_from(args: Any) -> Any:
    return _made(args, ACLFilter, ResourcePatternFilter)


@command("describe", "Describe Kafka ACLs", *_OF_FILTER)
def describe_acls(client: Any, args: Any) -> list[str]:
    acls, _ = client.describe_acls(_filter_from(args))
    return [repr(acl) for acl in acls]


@command("create", "Create Kafka ACLs", *_OF_ACL)
def create_acls(client: Any, args: Any) -> dict[str, list[str]]:
    args.host = args.host or "*"
    result = client.create_acls([_made(args, ACL, ResourcePattern)])
    return {
        "succeeded": [repr(acl) for acl in result["succeeded"]],
        "failed": [str(error) for error in result["failed"]],
    }


@command("delete", "Delete Kafka ACLs", *_OF_FILTER)
def delete_acls(client: Any, args: Any) -> list[dict[str, Any]]:
    return [
        {"filter": repr(acl_filter), "deleted": [repr(acl) for acl in deleted], "error": str(error)}
        for acl_filter, deleted, error in client.delete_acls([_filter_from(args)])
    ]


ACLS = CommandGroup("acls", "Manage Kafka ACLs", (describe_acls, create_acls, delete_acls))
