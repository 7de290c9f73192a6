"""`barnabas configs`: settings of topics, brokers, loggers, groups and client metrics subscriptions."""

from __future__ import annotations

from typing import Annotated

import typer

from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, admin_client, member_of, told_dry_run, word_of
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError, pairs
from barnabas.cli.output import note, print_rows
from barnabas.client.admin.types import (
    ConfigChange,
    ConfigResource,
    ListChange,
    ListOperation,
    ResourceType,
)

app = typer.Typer(help="List, describe and set settings of what has any.", no_args_is_help=True)

Kind = Annotated[
    str, typer.Argument(metavar="TYPE", help="topic, broker, broker-logger, group or client-metrics.")
]
Name = Annotated[
    str,
    typer.Argument(
        help="Its name; of a broker its id, or <default> for all brokers.",
        autocompletion=completion.resources,
    ),
]


@app.command("list")
def list_resources(
    kind: Annotated[str | None, typer.Argument(metavar="[TYPE]", help="Only of this type.")] = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print what has settings."""
    types = None if kind is None else [member_of(ResourceType, kind, "TYPE")]
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.list_config_resources(types)
    rows = sorted((word_of(resource.type), resource.name) for resource in found)
    print_rows(("type", "name"), rows, as_json=as_json)


@app.command()
def describe(
    kind: Kind,
    name: Name,
    every: Annotated[bool, typer.Option("--all", help="Those that are defaults as well.")] = False,
    documentation: Annotated[
        bool, typer.Option("--documentation", help="What each is for, in Kafka's words.")
    ] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print settings with where their values come from. Passwords are never told."""
    resource = _resource(kind, name)
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_configs([resource], include_documentation=documentation)[resource]
    rows = [
        (
            entry.name,
            entry.value,
            word_of(entry.source),
            *(["read-only" if entry.is_read_only else "sensitive" if entry.is_sensitive else None]),
            *([entry.documentation] if documentation else []),
        )
        for _, entry in sorted(found.items())
        if every or not entry.is_default
    ]
    columns = ("name", "value", "source", "note", *(["documentation"] if documentation else []))
    print_rows(columns, rows, as_json=as_json)


@app.command("set")
def set_configs(
    kind: Kind,
    name: Name,
    configs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...", help="Settings by Kafka's names.", autocompletion=completion.configs
        ),
    ] = None,
    delete: Annotated[
        list[str] | None,
        typer.Option(
            "--delete",
            metavar="NAME",
            help="Back to the default (repeatable).",
            autocompletion=completion.configs,
        ),
    ] = None,
    append: Annotated[
        list[str] | None,
        typer.Option(
            "--append",
            metavar="NAME=ITEM",
            help="Add an item to a list (repeatable).",
            autocompletion=completion.configs,
        ),
    ] = None,
    subtract: Annotated[
        list[str] | None,
        typer.Option(
            "--subtract",
            metavar="NAME=ITEM",
            help="Take one out of a list (repeatable).",
            autocompletion=completion.configs,
        ),
    ] = None,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Set settings. Those that are not named stay as they are; the broker checks them with --dry-run too."""
    resource = _resource(kind, name)
    changes: dict[str, ConfigChange] = {**pairs(configs, "a setting"), **dict.fromkeys(delete or ())}
    for option, operation, given in (
        ("--append", ListOperation.APPEND, append),
        ("--subtract", ListOperation.SUBTRACT, subtract),
    ):
        changes |= {key: ListChange(operation, item) for key, item in pairs(given, option).items()}
    if not changes:
        raise UsageError("nothing to set: give NAME=VALUE, --delete, --append or --subtract")
    with admin_client(bootstrap, command_config, setting) as admin:
        admin.alter_configs({resource: changes}, validate_only=dry_run)
    if dry_run:
        told_dry_run()
    else:
        note(f"set {', '.join(changes)} of {resource}")


def _resource(kind: str, name: str) -> ConfigResource:
    found = member_of(ResourceType, kind, "TYPE")
    is_default = found is ResourceType.BROKER and name == "<default>"
    return ConfigResource(found, "" if is_default else name)
