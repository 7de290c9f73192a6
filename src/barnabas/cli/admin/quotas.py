"""`barnabas quotas`: how much clients may do."""

from __future__ import annotations

from typing import Annotated

import typer

from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, admin_client, told_dry_run
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError, pairs
from barnabas.cli.output import note, print_rows
from barnabas.client.admin.types import ClientQuotaEntity, ClientQuotaFilter, QuotaMatch

app = typer.Typer(help="List and set quotas of users, clients and addresses.", no_args_is_help=True)

DEFAULT = "<default>"

User = Annotated[
    str | None,
    typer.Option(
        "--user", help=f"A user; {DEFAULT} for all without their own.", autocompletion=completion.users
    ),
]
ClientId = Annotated[
    str | None,
    typer.Option("--client-id", help="A client.id; <default> for all without a quota of their own."),
]
Ip = Annotated[
    str | None,
    typer.Option(
        "--ip", help="An address that clients connect from; <default> for all without a quota of their own."
    ),
]


@app.command("list")
def list_quotas(
    user: User = None,
    client_id: ClientId = None,
    ip: Ip = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print quotas, those of all or only of a user, a client id or an address."""
    filters = [
        ClientQuotaFilter(kind, QuotaMatch.DEFAULT)
        if name == DEFAULT
        else ClientQuotaFilter(kind, QuotaMatch.EXACT, name)
        for kind, name in _given(user, client_id, ip).items()
    ]
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_client_quotas(filters)
    rows = [
        (
            *(DEFAULT if kind in entity.names and name is None else name for kind, name in _all(entity)),
            quota,
            value,
        )
        for entity, quotas in found.items()
        for quota, value in sorted(quotas.items())
    ]
    columns = ("user", "client_id", "ip", "quota", "value")
    print_rows(columns, sorted(rows, key=str), as_json=as_json)


@app.command("set")
def set_quotas(
    quotas: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help="A quota: producer_byte_rate=1048576 (bytes a second), request_percentage=50, ...",
        ),
    ] = None,
    delete: Annotated[
        list[str] | None, typer.Option("--delete", metavar="NAME", help="Delete this quota (repeatable).")
    ] = None,
    user: User = None,
    client_id: ClientId = None,
    ip: Ip = None,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Set quotas of a user, a client id, both together, or an address.

    For example: barnabas quotas set --user alice producer_byte_rate=1048576
    """
    given = _given(user, client_id, ip)
    changes: dict[str, float | None] = {}
    for name, value in pairs(quotas, "a quota").items():
        try:
            changes[name] = float(value)
        except ValueError:
            raise UsageError(f"the quota {name!r} is a number, not {value!r}") from None
    changes |= dict.fromkeys(delete or ())
    if not given or not changes:
        raise UsageError("name whom (--user, --client-id, --ip) and what (NAME=VALUE or --delete NAME)")
    entity = ClientQuotaEntity({kind: None if name == DEFAULT else name for kind, name in given.items()})
    with admin_client(bootstrap, command_config, setting) as admin:
        admin.alter_client_quotas({entity: changes}, validate_only=dry_run)
    if dry_run:
        told_dry_run()
    else:
        whom = ", ".join(f"{kind} {name}" for kind, name in given.items())
        note(f"set {', '.join(changes)} of {whom}")


def _given(user: str | None, client_id: str | None, ip: str | None) -> dict[str, str]:
    named = {"user": user, "client-id": client_id, "ip": ip}
    return {kind: name for kind, name in named.items() if name is not None}


def _all(entity: ClientQuotaEntity) -> list[tuple[str, str | None]]:
    return [(kind, entity.names.get(kind)) for kind in ("user", "client-id", "ip")]
