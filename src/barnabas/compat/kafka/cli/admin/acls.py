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
from barnabas.compat.kafka.cli.admin._command import Command, CommandGroup, Parser


def _names(members: Any) -> list[str]:
    return [each.name.lower() for each in members]


def add_acl_filter_args(parser: Parser) -> None:
    parser.add_argument("--principal", type=str, default=None, help="ACL principal (e.g. User:alice)")
    parser.add_argument("--host", type=str, default=None, help="ACL host (default: match any)")
    for name, members, what in (
        ("--operation", ACLOperation, "ACL operation"),
        ("--permission-type", ACLPermissionType, "ACL permission type"),
        ("--resource-type", ResourceType, "Resource type"),
        ("--pattern-type", ACLResourcePatternType, "Resource pattern type"),
    ):
        if name == "--pattern-type":
            parser.add_argument(
                "--resource-name", type=str, default=None, help="Resource name (* wildcards accepted)"
            )
        parser.add_argument(
            name, type=str, default="any", choices=_names(members), help=f"{what} (default: any)"
        )


def add_acl_args(parser: Parser, required: bool = False) -> None:
    parser.add_argument("--principal", type=str, required=required, help="ACL principal (e.g. User:alice)")
    parser.add_argument("--host", type=str, default="*", help="ACL host (default: *)")
    parser.add_argument(
        "--operation", type=str, required=required, choices=_names(ACLOperation), help="ACL operation"
    )
    parser.add_argument(
        "--permission-type",
        type=str,
        default="allow",
        choices=_names(ACLPermissionType),
        help="ACL permission type (default: allow)",
    )
    parser.add_argument(
        "--resource-type", type=str, required=required, choices=_names(ResourceType), help="Resource type"
    )
    parser.add_argument(
        "--resource-name", type=str, required=required, help="Resource name (* wildcards accepted)"
    )
    parser.add_argument(
        "--pattern-type",
        type=str,
        default="literal",
        choices=_names(ACLResourcePatternType),
        help="Resource pattern type (default: literal)",
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


def acl_filter_from_args(args: Any) -> ACLFilter:
    return _made(args, ACLFilter, ResourcePatternFilter)


def acl_from_args(args: Any) -> ACL:
    args.host = args.host or "*"
    return _made(args, ACL, ResourcePattern)


class DescribeACLs(Command):
    COMMAND = "describe"
    HELP = "Describe Kafka ACLs"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_acl_filter_args(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> list[str]:
        acls, _ = client.describe_acls(acl_filter_from_args(args))
        return [repr(acl) for acl in acls]


class CreateACLs(Command):
    COMMAND = "create"
    HELP = "Create Kafka ACLs"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_acl_args(parser, required=True)

    @classmethod
    def command(cls, client: Any, args: Any) -> dict[str, list[str]]:
        result = client.create_acls([acl_from_args(args)])
        return {
            "succeeded": [repr(acl) for acl in result["succeeded"]],
            "failed": [str(error) for error in result["failed"]],
        }


class DeleteACLs(Command):
    COMMAND = "delete"
    HELP = "Delete Kafka ACLs"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_acl_filter_args(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> list[dict[str, Any]]:
        return [
            {
                "filter": repr(acl_filter),
                "deleted": [repr(acl) for acl in deleted],
                "error": str(error),
            }
            for acl_filter, deleted, error in client.delete_acls([acl_filter_from_args(args)])
        ]


class ACLsCommandGroup(CommandGroup):
    GROUP = "acls"
    HELP = "Manage Kafka ACLs"
    COMMANDS = (DescribeACLs, CreateACLs, DeleteACLs)
