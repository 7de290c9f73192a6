"""`barnabas configs`: settings of topics, brokers, loggers, groups and client metrics subscriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, Yes, admin_client, confirm, member_of, told_dry_run, word_of
from barnabas.cli.names import Pattern, chosen
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError, pairs
from barnabas.cli.output import note, plural, print_rows
from barnabas.client.admin.config_changes import ALL_BROKERS, changes_of, own_settings, shown_name
from barnabas.client.admin.types import (
    ConfigChange,
    ConfigResource,
    ListChange,
    ListOperation,
    ResourceType,
)

if TYPE_CHECKING:
    from barnabas import Admin

app = typer.Typer(
    help="List, describe, set and delete settings of topics, brokers, groups and more.", no_args_is_help=True
)

Kind = Annotated[
    str, typer.Argument(metavar="TYPE", help="topic, broker, broker-logger, group or client-metrics.")
]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME]...",
        help="Their names; for brokers their ids, or <default> for all.",
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
    """Print the names of what has settings."""
    types = None if kind is None else [member_of(ResourceType, kind, "TYPE")]
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.list_config_resources(types)
    rows = sorted((word_of(resource.type), resource.name) for resource in found)
    print_rows(("type", "name"), rows, as_json=as_json)


@app.command()
def describe(
    kind: Kind,
    names: Names = None,
    pattern: Pattern = None,
    every: Annotated[bool, typer.Option("--all", help="Print defaults as well.")] = False,
    documentation: Annotated[
        bool, typer.Option("--documentation", help="Print what each setting is for, in Kafka's words.")
    ] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print settings with where their values come from. Passwords are never shown."""
    with admin_client(bootstrap, command_config, setting) as admin:
        resources = _resources(admin, kind, names, pattern)
        found = admin.describe_configs(resources, include_documentation=documentation)
    rows = [
        (
            shown_name(resource),
            entry.name,
            entry.value,
            word_of(entry.source),
            *(["read-only" if entry.is_read_only else "sensitive" if entry.is_sensitive else None]),
            *([entry.documentation] if documentation else []),
        )
        for resource in resources
        for _, entry in sorted(found[resource].items())
        if every or not entry.is_default
    ]
    columns = ("resource", "name", "value", "source", "note", *(["documentation"] if documentation else []))
    _print(columns, rows, len(resources), as_json=as_json)


@app.command("set")
def set_configs(
    kind: Kind,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]... [SETTING=VALUE]...",
            help="Names, for brokers their ids, or <default> for all; then settings by Kafka's names.",
            autocompletion=completion.configs,
        ),
    ] = None,
    pattern: Pattern = None,
    delete: Annotated[
        list[str] | None,
        typer.Option(
            "--delete",
            metavar="SETTING",
            help="Delete this setting: the default holds then (repeatable).",
            autocompletion=completion.configs,
        ),
    ] = None,
    append: Annotated[
        list[str] | None,
        typer.Option(
            "--append",
            metavar="SETTING=ITEM",
            help="Add an item to a list (repeatable).",
            autocompletion=completion.configs,
        ),
    ] = None,
    subtract: Annotated[
        list[str] | None,
        typer.Option(
            "--subtract",
            metavar="SETTING=ITEM",
            help="Remove an item from a list (repeatable).",
            autocompletion=completion.configs,
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Set settings. Those that are not named stay as they are.

    With --dry-run each value is printed before and after, and the brokers check the new ones. With --pattern
    they are printed too, and you are asked before they are set.

    For example: barnabas configs set topic orders payments retention.ms=86400000 --dry-run
    """
    names, configs = _names_and_settings(words or (), has_pattern=pattern is not None)
    changes: dict[str, ConfigChange] = {**pairs(configs, "a setting"), **dict.fromkeys(delete or ())}
    for option, operation, given in (
        ("--append", ListOperation.APPEND, append),
        ("--subtract", ListOperation.SUBTRACT, subtract),
    ):
        changes |= {key: ListChange(operation, item) for key, item in pairs(given, option).items()}
    if not changes:
        raise UsageError("nothing to set: give SETTING=VALUE, --delete, --append or --subtract")
    with admin_client(bootstrap, command_config, setting) as admin:
        resources = _resources(admin, kind, names, pattern)
        wanted = dict.fromkeys(resources, changes)
        if dry_run or as_json or pattern is not None:
            _preview(admin, wanted, as_json=as_json)
        if dry_run:
            admin.alter_configs(wanted, validate_only=True)
            told_dry_run()
            return
        if pattern is not None:
            confirm(
                f"set {', '.join(changes)} of {plural(len(resources), word_of(resources[0].type))}",
                is_sure=yes,
            )
        admin.alter_configs(wanted)
    note(f"set {', '.join(changes)} of {_listed(resources)}")


@app.command()
def delete(
    kind: Kind,
    names: Names = None,
    pattern: Pattern = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Delete all settings of their own that topics, brokers, groups or client metrics subscriptions have.

    What holds then is the default, or what is set for all brokers. To delete one setting, use configs set
    --delete.
    """
    with admin_client(bootstrap, command_config, setting) as admin:
        resources = _resources(admin, kind, names, pattern)
        found = admin.describe_configs(resources)
        wanted: dict[ConfigResource, dict[str, ConfigChange]] = {
            resource: dict.fromkeys(own)
            for resource in resources
            if (own := own_settings(resource, found[resource]))
        }
        _preview(admin, wanted, as_json=as_json)
        if not wanted:
            note(f"{_listed(resources)}: no settings of their own")
            return
        if dry_run:
            admin.alter_configs(wanted, validate_only=True)
            told_dry_run()
            return
        count = plural(sum(map(len, wanted.values())), "setting")
        confirm(f"delete {count} of {_listed([*wanted])}", is_sure=yes)
        admin.alter_configs(wanted)
    note(f"deleted {count} of {_listed([*wanted])}")


def _preview(
    admin: Admin, wanted: Mapping[ConfigResource, Mapping[str, ConfigChange]], *, as_json: bool
) -> None:
    found = admin.describe_configs(wanted, include_synonyms=True) if wanted else {}
    rows = [
        row for resource, changes in wanted.items() for row in changes_of(resource, found[resource], changes)
    ]
    _print(("resource", "name", "value", "new_value"), rows, len(wanted), as_json=as_json)


def _print(
    columns: Sequence[str], rows: Sequence[Sequence[object]], resource_count: int, *, as_json: bool
) -> None:
    """For people, one resource is not named in each row."""
    if as_json or resource_count > 1:
        print_rows(columns, rows, as_json=as_json)
    else:
        print_rows(columns[1:], [row[1:] for row in rows], as_json=False)


def _names_and_settings(words: Sequence[str], *, has_pattern: bool) -> tuple[list[str], list[str]]:
    """The first word is a name where there is no pattern, and names of groups may have an = in them."""
    first = [] if has_pattern else [*words[:1]]
    others = words[len(first) :]
    names = [*first, *(word for word in others if "=" not in word)]
    return names, [word for word in others if "=" in word]


def _resources(
    admin: Admin, kind: str, names: Sequence[str] | None, pattern: str | None
) -> list[ConfigResource]:
    """Raises: UsageError."""
    found = member_of(ResourceType, kind, "TYPE")
    named = chosen(word_of(found), names, pattern, lambda: _names_there(admin, found))
    is_broker = found is ResourceType.BROKER
    return [ConfigResource(found, "" if is_broker and name == ALL_BROKERS else name) for name in named]


def _names_there(admin: Admin, kind: ResourceType) -> list[str]:
    match kind:
        case ResourceType.TOPIC:
            return admin.list_topics(internal=True)
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return [str(node.node_id) for node in admin.describe_cluster().nodes]
        case ResourceType.GROUP:
            with_settings = [each.name for each in admin.list_config_resources([kind])]
            return list({*with_settings, *(each.group_id for each in admin.list_groups())})
        case _:
            return [each.name for each in admin.list_config_resources([kind])]


def _listed(resources: Sequence[ConfigResource]) -> str:
    return ", ".join(map(str, resources))
