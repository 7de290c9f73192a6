"""All commands under one name, and what becomes of errors.

An error is one line on stderr and exit status 1; `--debug` shows where it came from.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Annotated, Any

import typer
import typer.core
import typer.main

import barnabas
from barnabas.cli.ending import as_by_ctrl_c
from barnabas.cli.output import note
from barnabas.cli.profiles import taking_profile
from barnabas.errors import BarnabasError

_STATUS_OF_CTRL_C = 130
COMMANDS = {
    "up": "up:up",
    "ui": "ui:ui",
    "produce": "produce:produce",
    "consume": "consume:consume",
    "copy": "copying.command:copy",
    "cluster": "admin.cluster:cluster",
    "delete-records": "admin.delete_records:delete_records",
    "elect": "admin.replicas:elect",
    "registry": "registry:registry",
    "registry-user": "registry:registry_user",
    "topics": "topics:app",
    "acls": "admin.acls:app",
    "brokers": "admin.cluster:brokers",
    "configs": "admin.configs:app",
    "features": "admin.cluster:features",
    "log-dirs": "admin.log_dirs:app",
    "quorum": "admin.cluster:quorum",
    "quotas": "admin.quotas:app",
    "reassign": "admin.replicas:app",
    "share-groups": "admin.share_groups:app",
    "tokens": "admin.tokens:app",
    "transactions": "admin.transactions:app",
    "users": "admin.users:app",
    "bench": "bench:app",
    "dlq": "dlq.replay:app",
    "faults": "faults:app",
    "groups": "groups:app",
    "migrate": "migrate:app",
    "pipeline": "pipelines.commands:app",
    "schemas": "schemas:app",
    "spark": "spark:app",
    "profile": "admin.profile:app",
}
"""Where each command or group of commands is, below `barnabas.cli`. In the order of the help."""


@cache
def _loaded(name: str) -> Any:
    """The command or group of this name, which is built from the annotations of its functions."""
    module, _, attribute = COMMANDS[name].partition(":")
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
    return command


def _give_profiles(commands: typer.Typer) -> None:
    """All commands that talk to Kafka or to a registry take `--profile`."""
    for command in commands.registered_commands:
        if command.callback is not None and (
            signature(command.callback).parameters.keys() & {"bootstrap", "registry_url"}
        ):
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
        self.commands = _Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


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
        print(f"barnabas {barnabas.__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What every command takes, before its name."""
    _mode.debug = debug


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
