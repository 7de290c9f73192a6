"""`barnabas tokens`: delegation tokens (KIP-48)."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.admin.common import DryRun, Yes, admin_client, confirm, told_dry_run
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import note, print_json, print_rows
from barnabas.client.admin.types import DelegationToken
from barnabas.records.times import duration_ms

if TYPE_CHECKING:
    from barnabas import Admin

app = typer.Typer(help="Create, list, renew and expire delegation tokens.", no_args_is_help=True)

Hmac = Annotated[str, typer.Argument(help="The token's HMAC in base64, as create prints it.")]
_COLUMNS = ("token_id", "owner", "requester", "renewers", "issued_at_ms", "expires_at_ms", "ends_at_ms")


@app.command()
def create(
    renewer: Annotated[
        list[str] | None,
        typer.Option("--renewer", help="A principal that may renew it: User:bob (repeatable)."),
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner", help="Whose token it is: User:alice; that of the user that connects if left out."
        ),
    ] = None,
    max_lifetime: Annotated[
        str | None,
        typer.Option(
            "--max-lifetime",
            "--max-lifetime-ms",
            metavar="DURATION",
            help="How long it may live, with renewals: 7d, or a number of milliseconds; as long as the "
            "broker allows if left out.",
        ),
    ] = None,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Create a token and print it, with its HMAC, which is its password and is shown only now."""
    lifetime_ms = _period_ms(max_lifetime, "--max-lifetime")
    with admin_client(bootstrap, command_config, setting) as admin:
        if dry_run:
            # Fails where this connection or cluster has no tokens.
            admin.describe_delegation_tokens()
            told_dry_run(f"create a token of {owner or 'whoever connects'}")
            return
        token = admin.create_delegation_token(renewer or (), owner=owner, max_lifetime_ms=lifetime_ms)
    shown: dict[str, Any] = dict(zip(_COLUMNS, _row(token), strict=True))
    shown["hmac"] = base64.b64encode(token.hmac).decode()
    if as_json:
        print_json(shown)
        return
    for name, value in shown.items():
        print(f"{name.replace('_', ' ')}: {', '.join(value) if name == 'renewers' else value}")


@app.command("list")
def list_tokens(
    owner: Annotated[
        list[str] | None, typer.Option("--owner", help="Only the tokens of User:alice (repeatable).")
    ] = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the tokens that this client may see, without their HMACs."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_delegation_tokens(owner)
    print_rows(_COLUMNS, [_row(token) for token in found], as_json=as_json)


@app.command()
def renew(
    hmac: Hmac,
    period: Annotated[
        str | None,
        typer.Option(
            "--period",
            "--period-ms",
            metavar="DURATION",
            help="How long it holds from now on: 1d, or a number of milliseconds; the broker's default if "
            "left out.",
        ),
    ] = None,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Renew a token: it expires later."""
    key = _hmac(hmac)
    period_ms = _period_ms(period, "--period")
    with admin_client(bootstrap, command_config, setting) as admin:
        if dry_run:
            told_dry_run(f"renew {_described(admin, key)}")
            return
        expires = admin.renew_delegation_token(key, renew_period_ms=period_ms)
    note(f"the token expires at {expires} ms since 1970")


@app.command()
def expire(
    hmac: Hmac,
    period: Annotated[
        str | None,
        typer.Option(
            "--period",
            "--period-ms",
            metavar="DURATION",
            help="In how long: 10m, or a number of milliseconds; at once if left out.",
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Make a token expire, at once or later."""
    key = _hmac(hmac)
    period_ms = _period_ms(period, "--period")
    with admin_client(bootstrap, command_config, setting) as admin:
        if dry_run:
            told_dry_run(f"end {_described(admin, key)}")
            return
        confirm("end the token", is_sure=yes)
        expires = admin.expire_delegation_token(key, expiry_time_period_ms=period_ms)
    note(f"the token expires at {expires} ms since 1970")


def _described(admin: Admin, hmac: bytes) -> str:
    """Raises: UsageError where this client sees no such token."""
    for token in admin.describe_delegation_tokens():
        if token.hmac == hmac:
            return f"token {token.token_id} of {token.owner}, which expires at {token.expiry_timestamp} ms"
    raise UsageError("there is no token with this HMAC, or it is not for this client to see")


def _row(token: DelegationToken) -> tuple[Any, ...]:
    return (
        token.token_id,
        token.owner,
        token.requester,
        list(token.renewers),
        token.issue_timestamp,
        token.expiry_timestamp,
        token.max_timestamp,
    )


def _period_ms(text: str | None, option: str) -> int:
    """-1, as brokers take it, for none."""
    if text is None or text.strip() == "-1":
        return -1
    return duration_ms(text, option, of_number=1, unit="milliseconds")


def _hmac(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise UsageError(f"the HMAC is not base64: {error}") from None
