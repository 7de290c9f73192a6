"""`python -m kafka.admin`: the calls of KafkaAdminClient from the command line, and how their answers are
printed."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from pprint import pprint
from typing import Any

from barnabas.compat.kafka.admin.client import KafkaAdminClient
from barnabas.compat.kafka.cli._argument import add_group, text
from barnabas.compat.kafka.cli._parts import add_own_arguments, begin
from barnabas.compat.kafka.cli.admin._command import CommandGroup
from barnabas.compat.kafka.cli.admin._sub_commands import SUB_COMMANDS
from barnabas.compat.kafka.cli.admin.acls import ACLS
from barnabas.compat.kafka.cli.admin.cluster import CLUSTER
from barnabas.compat.kafka.cli.admin.configs import CONFIGS
from barnabas.compat.kafka.cli.admin.groups import GROUPS
from barnabas.compat.kafka.cli.admin.partitions import PARTITIONS
from barnabas.compat.kafka.cli.admin.topics import TOPICS
from barnabas.compat.kafka.cli.admin.transactions import TRANSACTIONS
from barnabas.compat.kafka.cli.admin.users import USERS
from barnabas.compat.kafka.cli.common import add_common_cli_args
from barnabas.compat.kafka.errors import BrokerResponseError
from barnabas.compat.kafka_engine.generations import generation

DEFAULT_COMMAND_GROUPS = (ACLS, CLUSTER, CONFIGS, TOPICS, PARTITIONS, GROUPS, TRANSACTIONS, USERS)

_FORMATS = ("raw", "json")
_OWN_ERROR = 2


def main_parser(prog: str | None = None) -> argparse.ArgumentParser:
    if not generation().cli_arguments_are_shared:
        return _own_parser()
    return build_parser(DEFAULT_COMMAND_GROUPS, prog=prog)


def build_parser(groups: Sequence[CommandGroup] = (), prog: str | None = None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog or "python -m kafka.admin", description="Kafka Admin Client")
    add_common_cli_args(parser, bootstrap_required=False)
    add_group(parser, "output", text("--format", "output format: raw|json", default="raw"))
    of_groups = parser.add_subparsers(dest="group", metavar="GROUP", title="Available command groups")
    for group in groups:
        group_parser = of_groups.add_parser(group.name, help=group.about)
        group_parser.set_defaults(group=group_parser)
        commands = group_parser.add_subparsers(dest="command", metavar="COMMAND", title="Available commands")
        for command in group.commands:
            command_parser = commands.add_parser(command.name, help=command.about)
            command.add_arguments(command_parser.add_argument_group("command options"))
            command_parser.set_defaults(command=command.run)
    return parser


def _own_parser() -> argparse.ArgumentParser:
    """As in kafka-python 2, whose commands stand alone."""
    parser = argparse.ArgumentParser(prog="python -m kafka.admin", description="Kafka admin client")
    add_own_arguments(parser, "admin client")
    parser.add_argument("-f", "--format", type=str, default="raw", help="output format: raw|json")
    of_groups = parser.add_subparsers(help="subcommands")
    for group in SUB_COMMANDS:
        group_parser = of_groups.add_parser(group.name, help=group.about)
        group_parser.set_defaults(command=_helping(group_parser))
        of_commands = group_parser.add_subparsers()
        for command in group.commands:
            command_parser = of_commands.add_parser(command.name, help=command.about)
            command.add_arguments(command_parser)
            command_parser.set_defaults(command=command.run)
    return parser


def _helping(parser: argparse.ArgumentParser) -> Any:
    def show_help(_client: Any, _arguments: Any) -> None:
        parser.print_help()
        raise SystemExit(_OWN_ERROR)

    return show_help


def run_cli(args: Sequence[str] | None = None, prog: str | None = None) -> int:
    """Does what the arguments say and prints the answer; gives the exit status. Raises: what the constructor
    of KafkaAdminClient does."""
    parser = main_parser(prog)
    config = parser.parse_args(args)
    if generation().cli_arguments_are_shared:
        return _run(parser, config)
    return _run_own(parser, config)


def _run(parser: argparse.ArgumentParser, config: argparse.Namespace) -> int:
    if not config.group:
        parser.print_help()
        return 1
    if not config.command:
        config.group.print_help()
        return 1
    if config.format not in _FORMATS:
        print(f"Unrecognized format: {config.format}")
        return 1
    logger = logging.getLogger("kafka.cli.admin")
    try:
        settings = begin(config)
    except ValueError as error:
        parser.print_usage()
        print(f"{parser.prog}: {error}")
        return 1
    client: Any = KafkaAdminClient(**settings)
    try:
        _print(config.command(client, config), config.format)
    except BrokerResponseError as error:
        print(error)
        return 1
    except ValueError as error:
        print(error.args[0])
        return 1
    except AttributeError as error:
        logger.exception(error)
        parser.print_help()
        return 1
    except Exception:
        logger.critical("Error!", exc_info=True)
        return 1
    finally:
        client.close()
    return 0


def _run_own(parser: argparse.ArgumentParser, config: argparse.Namespace) -> int:
    if config.format not in _FORMATS:
        raise ValueError(f"Unrecognized format: {config.format}")
    logger = logging.getLogger("kafka.cli.admin")
    client: Any = KafkaAdminClient(**begin(config))
    try:
        _print(config.command(client, config), config.format)
    except AttributeError:
        parser.print_help()
        return _OWN_ERROR
    except Exception:
        logger.exception("Error!")
        return 1
    finally:
        client.close()
    return 0


def _print(result: Any, output_format: str) -> None:
    if output_format == "raw":
        pprint(result)
    else:
        print(json.dumps(result.to_dict() if hasattr(result, "to_dict") else result))
