"""All commands under one name, and what becomes of errors.

An error is one line on stderr and exit status 1; `--debug` shows where it came from.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from barnabas.cli import version_line
from barnabas.cli.ending import as_by_ctrl_c
from barnabas.cli.output import note
from barnabas.cli.profiles import Profile, chosen, taking_profile
from barnabas.cli.running.markdown_later import markdown_later
from barnabas.cli.running.plain_types import name_types_plainly
from barnabas.cli.running.plain_values import take_plain_values
from barnabas.errors import BarnabasError

_STATUS_OF_CTRL_C = 130
COMMANDS = {
    "up": ("up:up", "Run a broker, or a cluster of several, until Ctrl-C."),
    "ui": ("ui:ui", "Show the cluster in a browser: topics, records, groups and more."),
    "ui-user": ("ui:ui_user", "Print the line of a user for the file of `barnabas ui --users`."),
    "produce": ("produce:produce", "Send each line of stdin, or of files, as a record."),
    "consume": (
        "consume:consume",
        "Print records, one per line, until Ctrl-C or the end that was asked for.",
    ),
    "copy": (
        "copying.command:copy",
        "Copy records with their keys, headers, timestamps and partitions to other topics or another "
        "cluster.",
    ),
    "cluster": (
        "admin.cluster:cluster",
        "Print the cluster's id, its controller, how many brokers it has, and what this client may do.",
    ),
    "health": (
        "health.command:health",
        "Print what is wrong with the cluster, for people and for monitoring.",
    ),
    "delete-records": ("admin.delete_records:delete_records", "Delete the oldest records of partitions."),
    "elect": (
        "admin.elect:elect",
        "Make the preferred replicas leaders again, or with --unclean any replica.",
    ),
    "registry": ("registry:registry", "Run a schema registry until Ctrl-C."),
    "registry-user": (
        "registry:registry_user",
        "Print the line of a user for the file of `barnabas registry --users`.",
    ),
    "topics": ("topics.commands:app", "List, describe, compare, create, alter and delete topics."),
    "acls": ("admin.acls:app", "List, create and delete rules of access."),
    "brokers": (
        "admin.cluster:brokers",
        "List brokers and the APIs that they speak, and forget those that are gone.",
    ),
    "configs": (
        "admin.configs:app",
        "List, describe, set and delete settings of topics, brokers, groups and more.",
    ),
    "features": ("admin.cluster:features", "List, raise and lower the levels of features."),
    "log-dirs": (
        "admin.log_dirs:app",
        "Show the sizes of folders and replicas on disk, and move replicas between folders.",
    ),
    "quorum": (
        "admin.cluster:quorum",
        "Describe the controllers that keep the cluster's metadata, and add and remove voters.",
    ),
    "quotas": ("admin.quotas:app", "List and set quotas of users, clients and addresses."),
    "reassign": (
        "reassign.commands:app",
        "Move replicas to other brokers, show how far the moves are, and cancel them.",
    ),
    "share-groups": ("groups.share_groups:app", "List, describe, delete and reset share groups."),
    "tokens": ("admin.tokens:app", "Create, list, renew and expire delegation tokens."),
    "transactions": (
        "admin.transactions:app",
        "List and describe transactions, find those that hang, and abort them.",
    ),
    "users": ("admin.users:app", "List, set and delete passwords for SASL SCRAM."),
    "bench": ("bench:app", "Measure throughput and latency of a cluster."),
    "dlq": (
        "dlq.replay:app",
        "Send dead letters back to their topics: of Spark queries, Kafka Connect, Kafka Streams, Spring "
        "and others.",
    ),
    "faults": (
        "faults:app",
        "Make a broker fail for tests, by errors, delays and broken connections: `barnabas up "
        "--faults-port 9644`, or before any Kafka, `barnabas faults --upstream HOST:PORT`.",
    ),
    "groups": (
        "groups.commands:app",
        "Show groups of consumers and of Kafka Streams, their lag and members, and change their offsets.",
    ),
    "migrate": ("migrate:app", "Move programs to another client or to Kafka 4."),
    "pipeline": ("pipelines.commands:app", "Streaming queries of Spark on Kafka."),
    "schemas": ("schemas:app", "List, show, register, check, compare and delete schemas."),
    "spark": ("spark:app", "Prepare an installed Spark."),
    "profile": ("admin.profile:app", "Settings of clusters, kept under names for --profile."),
}
"""Where each command or group of commands is, below `barnabas.cli`, and the first sentence of its help: the
list of all is printed without importing all. In the order of that list."""


@cache
def _loaded(name: str) -> Any:
    """The command or group of this name, which is built from the annotations of its functions."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found: typer.Typer | Callable[..., Any] = getattr(import_module(f"barnabas.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        if name != "profile":
            _give_profiles(found)
        command: Any = typer.main.get_group(found)
    else:
        holder = typer.Typer(add_completion=False)
        holder.command(name)(found)
        _give_profiles(holder)
        command = typer.main.get_command(holder)
    command.name = name
    _lighten(command)
    return command


def _lighten(command: Any) -> None:
    """This command, and all below it: what typer does for each takes less time, and its help has words for
    types."""
    take_plain_values(command)
    name_types_plainly(command)
    help_of_typer = command.format_help

    def format_help(ctx: Any, formatter: Any) -> None:
        with markdown_later():
            help_of_typer(ctx, formatter)

    command.format_help = format_help
    for below in getattr(command, "commands", {}).values():
        _lighten(below)


def _give_profiles(commands: typer.Typer) -> None:
    """All commands that talk to Kafka or to a registry take `--profile`."""
    for command in commands.registered_commands:
        if command.callback is None:
            continue
        parameters = signature(command.callback).parameters.keys()
        # The page takes several.
        if parameters & {"bootstrap", "registry_url"} and "profile" not in parameters:
            command.callback = taking_profile(command.callback)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _give_profiles(group.typer_instance)


class _Commands(MutableMapping[str, Any]):
    """Each is imported and built when somebody looks at it: all of them take a second."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __setitem__(self, name: str, command: Any) -> None:
        raise TypeError("the commands are those of the table")

    def __delitem__(self, name: str) -> None:
        raise TypeError("the commands are those of the table")


class _CommandLine(typer.core.TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        take_plain_values(self)
        name_types_plainly(self)
        self.commands = _Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with self._only_summaries(), markdown_later():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        with self._only_summaries():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _only_summaries(self) -> Generator[None]:
        """What lists all commands needs no more of them, and importing all takes long."""
        every = self.commands
        self.commands = {
            name: typer.core.TyperCommand(name, help=summary) for name, (_, summary) in COMMANDS.items()
        }
        try:
            yield
        finally:
            self.commands = every


app = typer.Typer(
    name="barnabas",
    cls=_CommandLine,
    help="A Kafka toolkit: an embedded broker, topics, records, groups and schemas.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@dataclass
class _Mode:
    debug: bool = False


_mode = _Mode()


def _print_version(wanted: bool) -> None:
    if wanted:
        print(version_line())
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    profile: Profile = None,
) -> None:
    """What every command takes, before its name."""
    _mode.debug = debug
    if profile is not None:
        context.with_resource(chosen(profile))


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line, that of the process if none is given. Usage errors end the process with status
    2, as everywhere."""
    with as_by_ctrl_c() as asked:
        try:
            app(arguments, prog_name="barnabas")
        except (BarnabasError, OSError) as error:
            if _mode.debug:
                traceback.print_exc()
            note(f"error: {error}")
            return 1
        except SystemExit as ended:
            if ended.code == _STATUS_OF_CTRL_C and asked.signal is not None:
                return asked.exit_status
            raise
    return 0
