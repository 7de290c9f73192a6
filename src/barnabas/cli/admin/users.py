"""`barnabas users`: who has a password for SASL SCRAM. Passwords are never shown."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, Yes, admin_client, confirm, told_dry_run
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import note, print_rows
from barnabas.client.admin.types import ScramDeletion, ScramMechanism, ScramUpsertion

app = typer.Typer(help="List, set and delete passwords for SASL SCRAM.", no_args_is_help=True)

_MECHANISMS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}

User = Annotated[str, typer.Argument(help="The user.", autocompletion=completion.users)]
Mechanism = Annotated[
    list[str] | None,
    typer.Option("--mechanism", "-m", help="SCRAM-SHA-256 or SCRAM-SHA-512 (repeatable)."),
]


@app.command("list")
def list_users(
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the users that have passwords, their mechanisms, and how many times each is hashed."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_user_scram_credentials()
    rows = [
        (user, info.mechanism.name.replace("_", "-"), info.iterations)
        for user in sorted(found)
        for info in found[user]
    ]
    print_rows(("user", "mechanism", "iterations"), rows, as_json=as_json)


@app.command("set")
def set_password(
    user: User,
    mechanism: Mechanism = None,
    iterations: Annotated[
        int,
        typer.Option(
            "--iterations", "-i", min=4096, max=16_384, help="How many times the password is hashed."
        ),
    ] = 4096,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Give a user a password, which is asked for, or is the first line of stdin. The mechanism is
    SCRAM-SHA-512 if none is named.

    For example: barnabas users set alice < password.txt
    """
    mechanisms = _mechanisms(mechanism) or [ScramMechanism.SCRAM_SHA_512]
    if dry_run:
        with admin_client(bootstrap, command_config, setting) as admin:
            known = {info.mechanism for info in admin.describe_user_scram_credentials().get(user, ())}
        for each in mechanisms:
            verb = "replace the" if each in known else "make a"
            note(f"would {verb} password of {user} for {_names([each])}")
        told_dry_run()
        return
    if sys.stdin.isatty():
        password = typer.prompt(f"password of {user}", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise UsageError("the password is empty: give it on stdin")
    with admin_client(bootstrap, command_config, setting) as admin:
        admin.alter_user_scram_credentials(
            [ScramUpsertion(user, each, password, iterations) for each in mechanisms]
        )
    note(f"user {user} has a password for {_names(mechanisms)}")


@app.command()
def delete(
    user: User,
    mechanism: Mechanism = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Delete a user's passwords, for these mechanisms or for all."""
    mechanisms = _mechanisms(mechanism)
    with admin_client(bootstrap, command_config, setting) as admin:
        known = [info.mechanism for info in admin.describe_user_scram_credentials([user])[user]]
        missing = [each for each in mechanisms if each not in known]
        if missing:
            raise UsageError(f"user {user!r} has no password for {_names(missing)}")
        mechanisms = mechanisms or known
        what = f"delete the password of {user} for {_names(mechanisms)}"
        if dry_run:
            told_dry_run(what)
            return
        confirm(what, is_sure=yes)
        admin.alter_user_scram_credentials([ScramDeletion(user, each) for each in mechanisms])
    note(f"user {user} has no password for {_names(mechanisms)}")


def _mechanisms(given: list[str] | None) -> list[ScramMechanism]:
    for name in given or ():
        if name.upper() not in _MECHANISMS:
            raise UsageError(f"--mechanism is {' or '.join(_MECHANISMS)}, not {name!r}")
    return [_MECHANISMS[name.upper()] for name in given or ()]


def _names(mechanisms: list[ScramMechanism]) -> str:
    return " and ".join(each.name.replace("_", "-") for each in mechanisms)
