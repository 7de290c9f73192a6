"""`barnabas profile`: settings of clusters, kept under names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli import profiles
from barnabas.cli.admin.common import DryRun, Yes, confirm, told_dry_run
from barnabas.cli.librdkafka_names import with_kafka_names
from barnabas.cli.options import AsJson, Settings, UsageError, pairs, tell_what_is_left_out
from barnabas.cli.output import note, print_json, print_rows
from barnabas.cli.properties import read_properties

app = typer.Typer(help="Settings of clusters, kept under names for --profile.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The profile.", autocompletion=profiles.complete)]


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="The profile's name.")],
    bootstrap: Annotated[
        str | None, typer.Option("--bootstrap", "-b", metavar="HOST:PORT", help="Brokers to begin with.")
    ] = None,
    properties: Annotated[
        Path | None,
        typer.Option(
            "--properties",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="A properties file whose settings are copied, as Kafka's own tools take it.",
        ),
    ] = None,
    setting: Settings = None,
    default: Annotated[bool, typer.Option("--default", help="Make this the default profile.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a profile of this name.")] = False,
) -> None:
    """Keep a cluster's settings. Write a secret as ${env:NAME} or ${keyring:SERVICE/NAME}: it is looked up
    when the profile is used.

    For example: barnabas profile add prod --bootstrap kafka:9093 --properties client.properties --default
    """
    if not replace and profiles.path_of(name).exists():
        raise UsageError(f"there is a profile {name!r} already: add --replace")
    found = {} if properties is None else read_properties(properties)
    found |= pairs(setting, "-X")
    if bootstrap is not None:
        found["bootstrap.servers"] = bootstrap
    if not found:
        raise UsageError("the profile would be empty: give --bootstrap, --properties or -X")
    profiles.save(name, found)
    if default:
        profiles.set_default(name)
    note(f"profile {name} is kept in {profiles.path_of(name)}")
    tell_what_is_left_out(found)
    plain = [key for key, value in sorted(found.items()) if profiles.is_plain_secret(key, value)]
    if plain:
        verb = "stands" if len(plain) == 1 else "stand"
        references = "${env:NAME} or ${keyring:SERVICE/NAME}"
        note(f"{', '.join(plain)} {verb} there as plain text: {references} keeps it elsewhere")


@app.command("list")
def list_profiles(as_json: AsJson = False) -> None:
    """Print all profiles and their brokers."""
    default = profiles.default_name()
    rows = [
        (name, with_kafka_names(profiles.stored(name)).get("bootstrap.servers"), name == default)
        for name in profiles.names()
    ]
    print_rows(("name", "bootstrap_servers", "is_default"), rows, as_json=as_json)


@app.command()
def show(name: Name, as_json: AsJson = False) -> None:
    """Print a profile's settings, without the secrets."""
    found = profiles.hidden(profiles.stored(name))
    if as_json:
        print_json(found)
    else:
        for key, value in found.items():
            print(f"{key}={value}")


@app.command()
def remove(name: Name, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Delete a profile."""
    profiles.stored(name)
    what = f"delete profile {name}"
    if dry_run:
        told_dry_run(what)
        return
    confirm(what, is_sure=yes)
    profiles.path_of(name).unlink()
    if profiles.default_name() == name:
        profiles.set_default(None)
    note(f"deleted profile {name}")


@app.command()
def default(
    name: Annotated[str | None, typer.Argument(help="The profile.", autocompletion=profiles.complete)] = None,
    none: Annotated[bool, typer.Option("--none", help="Have no default profile.")] = False,
) -> None:
    """Set the default profile; without a name, print it."""
    if name is not None and none:
        raise UsageError("--none and a profile exclude each other")
    if name is None and not none:
        print(profiles.default_name() or "")
        return
    if name is not None:
        profiles.stored(name)
    profiles.set_default(name)
    note("no profile is the default" if name is None else f"{name} is the default")
