"""`barnabas acls`: who may do what."""

from __future__ import annotations

from typing import Annotated

import typer

from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, Yes, admin_client, confirm, member_of, told_dry_run, word_of
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import note, plural, print_rows
from barnabas.client.admin.types import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    ResourcePatternType,
)

app = typer.Typer(help="List, create and delete rules of access.", no_args_is_help=True)

CLUSTER_NAME = "kafka-cluster"

Topic = Annotated[
    list[str] | None,
    typer.Option("--topic", "-t", help="A topic, * for all (repeatable).", autocompletion=completion.topics),
]
Group = Annotated[
    list[str] | None,
    typer.Option("--group", "-g", help="A group (repeatable).", autocompletion=completion.groups),
]
TransactionalId = Annotated[
    list[str] | None, typer.Option("--transactional-id", help="A transactional id (repeatable).")
]
Cluster = Annotated[bool, typer.Option("--cluster", help="The cluster itself.")]
Token = Annotated[list[str] | None, typer.Option("--delegation-token", help="A token's id (repeatable).")]
User = Annotated[
    list[str] | None, typer.Option("--user-principal", help="A user whose tokens are meant (repeatable).")
]
Prefixed = Annotated[bool, typer.Option("--prefixed", help="The names are what names begin with.")]
Operation = Annotated[
    list[str] | None,
    typer.Option("--operation", "-o", help="read, write, describe, all, ... (repeatable)."),
]
Host = Annotated[str | None, typer.Option("--host", help="The address of clients; all if left out.")]

_COLUMNS = ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission")


@app.command("list")
def list_acls(
    principal: Annotated[str | None, typer.Option("--principal", help="Only of User:alice.")] = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    cluster: Cluster = False,
    delegation_token: Token = None,
    user_principal: User = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print rules; with resources, those that apply to them, by prefix or * as well."""
    resources = _resources(topic, group, transactional_id, cluster, delegation_token, user_principal)
    filters = [
        AclBindingFilter(kind, name, principal, pattern_type=ResourcePatternType.MATCH)
        for kind, name in resources
    ] or [AclBindingFilter(principal=principal)]
    with admin_client(bootstrap, command_config, setting) as admin:
        found = {binding for each in filters for binding in admin.describe_acls(each)}
    _print(found, as_json)


@app.command()
def create(
    allow: Annotated[list[str] | None, typer.Option("--allow", help="Who may: User:alice.")] = None,
    deny: Annotated[list[str] | None, typer.Option("--deny", help="Who may not.")] = None,
    operation: Operation = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    cluster: Cluster = False,
    delegation_token: Token = None,
    user_principal: User = None,
    prefixed: Prefixed = False,
    host: Host = None,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Allow or deny operations on resources. A rule that is there already stays."""
    resources = _resources(topic, group, transactional_id, cluster, delegation_token, user_principal)
    who = [(name, AclPermissionType.ALLOW) for name in allow or ()]
    who += [(name, AclPermissionType.DENY) for name in deny or ()]
    if not resources or not who or not operation:
        raise UsageError(
            "name who, what and on which: --allow or --deny, --operation, and --topic, --group or another"
        )
    for name, _ in who:
        if ":" not in name:
            raise UsageError(f"a principal is like User:{name}, not {name!r}")
    pattern = ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL
    bindings = [
        AclBinding(
            kind,
            name,
            principal,
            member_of(AclOperation, each, "--operation"),
            permission,
            host or "*",
            pattern,
        )
        for kind, name in resources
        for principal, permission in who
        for each in operation
    ]
    if not dry_run:
        with admin_client(bootstrap, command_config, setting) as admin:
            admin.create_acls(bindings)
    _print(set(bindings), as_json)
    if dry_run:
        told_dry_run()


@app.command()
def delete(
    principal: Annotated[str | None, typer.Option("--principal", help="Only of User:alice.")] = None,
    operation: Operation = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    cluster: Cluster = False,
    delegation_token: Token = None,
    user_principal: User = None,
    prefixed: Prefixed = False,
    host: Host = None,
    every: Annotated[bool, typer.Option("--all", help="Whatever the resource.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Delete the rules for exactly these resources, principal, operations and host."""
    resources: list[tuple[AclResourceType, str | None]] = [
        *_resources(topic, group, transactional_id, cluster, delegation_token, user_principal)
    ]
    if every == bool(resources):
        raise UsageError("name resources (--topic, --group or another), or give --all")
    pattern = ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL
    filters = [
        AclBindingFilter(
            kind,
            name,
            principal,
            member_of(AclOperation, each, "--operation"),
            host=host,
            pattern_type=ResourcePatternType.ANY if every else pattern,
        )
        for kind, name in resources or [(AclResourceType.ANY, None)]
        for each in operation or ["any"]
    ]
    with admin_client(bootstrap, command_config, setting) as admin:
        found = {binding for each in filters for binding in admin.describe_acls(each)}
        _print(found, as_json)
        if dry_run:
            told_dry_run()
        elif found:
            confirm(f"delete {plural(len(found), 'rule')}", is_sure=yes)
            admin.delete_acls(filters)
            note(f"deleted {plural(len(found), 'rule')}")
        else:
            note("no rule is like that")


def _resources(
    topic: list[str] | None,
    group: list[str] | None,
    transactional_id: list[str] | None,
    cluster: bool,
    token: list[str] | None,
    user: list[str] | None,
) -> list[tuple[AclResourceType, str]]:
    named = {
        AclResourceType.TOPIC: topic,
        AclResourceType.GROUP: group,
        AclResourceType.TRANSACTIONAL_ID: transactional_id,
        AclResourceType.CLUSTER: [CLUSTER_NAME] if cluster else None,
        AclResourceType.DELEGATION_TOKEN: token,
        AclResourceType.USER: user,
    }
    return [(kind, name) for kind, names in named.items() for name in names or ()]


def _print(bindings: set[AclBinding], as_json: bool) -> None:
    rows = [
        (
            word_of(each.resource_type),
            each.resource_name,
            word_of(each.pattern_type),
            each.principal,
            each.host,
            word_of(each.operation),
            word_of(each.permission_type),
        )
        for each in bindings
    ]
    print_rows(_COLUMNS, sorted(rows), as_json=as_json)
