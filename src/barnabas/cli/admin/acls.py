"""`barnabas acls`: who may do what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from barnabas.cli import completion
from barnabas.cli.admin.acl_roles import operations_of_roles
from barnabas.cli.admin.common import DryRun, Yes, admin_client, confirm, member_of, told_dry_run, word_of
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import note, plural, print_rows
from barnabas.client.admin.acl_roles import CLUSTER
from barnabas.client.admin.types import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    ResourcePatternType,
)

app = typer.Typer(help="List, create and delete rules of access.", no_args_is_help=True)

_ANY_HOST = "*"

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
Prefixed = Annotated[
    bool, typer.Option("--prefixed", help="The names are beginnings of names: all that begin so are meant.")
]
Operation = Annotated[
    list[str] | None,
    typer.Option("--operation", "-o", help="read, write, describe, all, ... (repeatable)."),
]
Host = Annotated[
    list[str] | None,
    typer.Option("--host", help="The address of clients (repeatable); all if left out."),
]
Principal = Annotated[
    list[str] | None,
    typer.Option("--principal", help="Only the rules of this principal: User:alice (repeatable)."),
]
IsProducer = Annotated[
    bool,
    typer.Option(
        "--producer",
        help="What a producer needs: write, describe and create on --topic; write and describe on "
        "--transactional-id.",
    ),
]
IsConsumer = Annotated[
    bool,
    typer.Option("--consumer", help="What a consumer needs: read and describe on --topic, read on --group."),
]
Idempotent = Annotated[
    bool,
    typer.Option(
        "--idempotent",
        help="With --producer: idempotent-write on the cluster, which old brokers ask for.",
    ),
]

_COLUMNS = ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission")


@app.command("list")
def list_acls(
    principal: Principal = None,
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
        AclBindingFilter(kind, name, who, pattern_type=ResourcePatternType.MATCH)
        for kind, name in resources
        for who in principal or [None]
    ] or [AclBindingFilter(principal=who) for who in principal or [None]]
    with admin_client(bootstrap, command_config, setting) as admin:
        found = {binding for each in filters for binding in admin.describe_acls(each)}
    _print(found, as_json)


@app.command()
def create(
    allow: Annotated[
        list[str] | None, typer.Option("--allow", help="The principal that may: User:alice (repeatable).")
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option("--deny", help="The principal that may not (repeatable).")
    ] = None,
    operation: Operation = None,
    producer: IsProducer = False,
    consumer: IsConsumer = False,
    idempotent: Idempotent = False,
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
    """Allow or deny operations on resources. A rule that is there already stays.

    --producer and --consumer allow all that a producer or a consumer needs: --allow User:alice --consumer
    --topic orders --group billing.
    """
    resources = _resources(topic, group, transactional_id, cluster, delegation_token, user_principal)
    has_role = producer or consumer or idempotent
    if has_role:
        if not allow or deny or operation:
            raise UsageError("--producer and --consumer go with --allow, and without --deny and --operation")
        what = operations_of_roles(resources, producer=producer, consumer=consumer, idempotent=idempotent)
    else:
        what = [(each, named) for each in resources for named in _operations(operation or ())]
    who = [(name, AclPermissionType.ALLOW) for name in allow or ()]
    who += [(name, AclPermissionType.DENY) for name in deny or ()]
    if not what or not who:
        raise UsageError(
            "name who, what and on which: --allow or --deny, --operation, and --topic, --group or another"
        )
    _check_principals(name for name, _ in who)
    bindings = [
        AclBinding(kind, name, principal, each, permission, address, _pattern_type(kind, prefixed))
        for (kind, name), each in what
        for principal, permission in who
        for address in host or [_ANY_HOST]
    ]
    if not dry_run:
        with admin_client(bootstrap, command_config, setting) as admin:
            admin.create_acls(bindings)
    _print(set(bindings), as_json)
    if dry_run:
        told_dry_run()


@app.command()
def delete(
    principal: Principal = None,
    operation: Operation = None,
    producer: IsProducer = False,
    consumer: IsConsumer = False,
    idempotent: Idempotent = False,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    cluster: Cluster = False,
    delegation_token: Token = None,
    user_principal: User = None,
    prefixed: Prefixed = False,
    host: Host = None,
    every: Annotated[bool, typer.Option("--all", help="Rules for all resources.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Delete the rules for exactly these resources, principals, operations and hosts; what is left out may be
    anything.

    With --producer and --consumer, exactly those that create makes of the same options.
    """
    resources = _resources(topic, group, transactional_id, cluster, delegation_token, user_principal)
    if producer or consumer or idempotent:
        if not principal or operation or every:
            raise UsageError(
                "--producer and --consumer go with --principal, and without --operation and --all"
            )
        what = operations_of_roles(resources, producer=producer, consumer=consumer, idempotent=idempotent)
        filters = [
            AclBindingFilter(
                kind, name, who, each, AclPermissionType.ALLOW, address, _pattern_type(kind, prefixed)
            )
            for (kind, name), each in what
            for who in principal
            for address in host or [_ANY_HOST]
        ]
    else:
        if every == bool(resources):
            raise UsageError("name resources (--topic, --group or another), or give --all")
        whatever = (AclResourceType.ANY, None)
        filters = [
            AclBindingFilter(
                kind,
                name,
                who,
                each,
                host=address,
                pattern_type=ResourcePatternType.ANY if every else _pattern_type(kind, prefixed),
            )
            for kind, name in resources or [whatever]
            for who in principal or [None]
            for each in _operations(operation or ["any"])
            for address in host or [None]
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


def _operations(words: Iterable[str]) -> list[AclOperation]:
    return [member_of(AclOperation, each, "--operation") for each in words]


def _pattern_type(kind: AclResourceType, prefixed: bool) -> ResourcePatternType:
    """There is one cluster, and its name is never a prefix."""
    is_prefix = prefixed and kind is not AclResourceType.CLUSTER
    return ResourcePatternType.PREFIXED if is_prefix else ResourcePatternType.LITERAL


def _check_principals(names: Iterable[str]) -> None:
    for name in names:
        if ":" not in name:
            raise UsageError(f"a principal is like User:{name}, not {name!r}")


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
        AclResourceType.CLUSTER: [CLUSTER[1]] if cluster else None,
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
