"""`python -m kafka.admin configs`."""

from __future__ import annotations

import re
from typing import Any

from barnabas.compat.kafka.admin._configs import AlterConfigOp, ConfigResource
from barnabas.compat.kafka.cli.admin._command import Command, CommandGroup, Parser

_OPERATIONS = {
    "set": AlterConfigOp.SET,
    "del": AlterConfigOp.DELETE,
    "add": AlterConfigOp.APPEND,
    "sub": AlterConfigOp.SUBTRACT,
}
_CHANGE = re.compile(r"^(set|del|add|sub)\((.*)\)$")
_FILTERS = ("modified", "dynamic", "static", "default")


def add_resource_arguments(parser: Parser) -> None:
    parser.add_argument(
        *("-r", "--resource-type"),
        type=str,
        required=True,
        help="Type of resource to describe: topic, broker, broker_logger, client_metrics, group.",
    )
    parser.add_argument(
        *("-n", "--resource-name"),
        type=str,
        action="append",
        dest="resource_names",
        required=True,
        help="Name of resource(s) to describe. May be repeated.",
    )


def parse_resources(args: Any, configs: Any = None) -> list[ConfigResource]:
    kind = args.resource_type.upper().replace("-", "_")
    return [ConfigResource(kind, name, configs) for name in args.resource_names]


def _add_change_arguments(parser: Parser) -> None:
    parser.add_argument("-v", "--validate-only", action="store_true", default=False)
    parser.add_argument("--allow-unknown", action="store_false", dest="raise_on_unknown", default=True)


class DescribeConfigs(Command):
    COMMAND = "describe"
    HELP = "Describe Kafka Configs"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_resource_arguments(parser)
        parser.add_argument("-c", "--config", type=str, action="append", dest="configs", default=None)
        for name in ("--dynamic", "--modified", "--static", "--default"):
            parser.add_argument(name, action="store_true", default=False)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        chosen = next((name for name in _FILTERS if getattr(args, name)), "all")
        return client.describe_configs(parse_resources(args, args.configs), config_filter=chosen)


class AlterConfigs(Command):
    COMMAND = "alter"
    HELP = "Alter Kafka Configs"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_resource_arguments(parser)
        parser.add_argument(
            *("-c", "--config"),
            type=str,
            action="append",
            dest="configs",
            required=True,
            help="key=value to alter",
        )
        _add_change_arguments(parser)
        incremental = parser.add_mutually_exclusive_group()
        incremental.add_argument("--force-incremental", action="store_true", dest="incremental", default=None)
        incremental.add_argument("--force-alter", action="store_false", dest="incremental", default=None)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        try:
            configs = {key: _change(value) for key, value in (each.split("=") for each in args.configs)}
        except ValueError:
            raise ValueError(f"Unable to parse configs! {args.configs}") from None
        return client.alter_configs(
            parse_resources(args, configs),
            validate_only=args.validate_only,
            raise_on_unknown=args.raise_on_unknown,
            incremental=args.incremental,
        )


def _change(value: str) -> Any:
    found = _CHANGE.match(value)
    return value if found is None else (_OPERATIONS[found[1]], found[2])


class ListConfigResources(Command):
    COMMAND = "list"
    HELP = "List config resources known to the cluster (requires broker >= 4.1 for non client_metrics types)"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument(
            *("-r", "--resource-type"),
            type=str,
            action="append",
            dest="resource_types",
            default=[],
            help="Filter by resource type (repeatable): topic, broker, broker_logger, client_metrics, group. "
            "Omit to list all supported types.",
        )

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.list_config_resources(resource_types=args.resource_types or None)


class ResetConfigs(Command):
    COMMAND = "reset"
    HELP = "Reset Kafka Configs"

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        add_resource_arguments(parser)
        parser.add_argument(
            *("-c", "--config"),
            type=str,
            action="append",
            dest="configs",
            default=[],
            help="key to reset",
        )
        _add_change_arguments(parser)

    @classmethod
    def command(cls, client: Any, args: Any) -> Any:
        return client.reset_configs(
            parse_resources(args, args.configs),
            validate_only=args.validate_only,
            raise_on_unknown=args.raise_on_unknown,
        )


class ConfigsCommandGroup(CommandGroup):
    GROUP = "configs"
    HELP = "Manage Kafka Configuration"
    COMMANDS = (DescribeConfigs, AlterConfigs, ListConfigResources, ResetConfigs)
