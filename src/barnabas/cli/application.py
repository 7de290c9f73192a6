"""All commands under one name, and what becomes of errors.

An error is one line on stderr and exit status 1; `--debug` shows where it came from.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Annotated

import typer

import barnabas
from barnabas.cli import (
    bench,
    consume,
    faults,
    groups,
    migrate,
    produce,
    registry,
    schemas,
    spark,
    topics,
    ui,
    up,
)
from barnabas.cli.admin import (
    acls,
    cluster,
    configs,
    delete_records,
    log_dirs,
    profile,
    quotas,
    replicas,
    share_groups,
    tokens,
    transactions,
    users,
)
from barnabas.cli.copying import command as copying
from barnabas.cli.dlq import replay as dlq
from barnabas.cli.output import note
from barnabas.cli.pipelines import commands as pipelines
from barnabas.cli.profiles import taking_profile
from barnabas.errors import BarnabasError

app = typer.Typer(
    name="barnabas",
    help="A Kafka toolkit: an embedded broker, topics, records, groups and schemas.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("up")(up.up)
app.command("ui")(ui.ui)
app.add_typer(topics.app, name="topics")
app.command("produce")(produce.produce)
app.command("consume")(consume.consume)
app.command("copy")(copying.copy)
app.command("cluster")(cluster.cluster)
app.command("delete-records")(delete_records.delete_records)
app.command("elect")(replicas.elect)
for name, group in {
    "acls": acls.app,
    "brokers": cluster.brokers,
    "configs": configs.app,
    "features": cluster.features,
    "log-dirs": log_dirs.app,
    "quorum": cluster.quorum,
    "quotas": quotas.app,
    "reassign": replicas.app,
    "share-groups": share_groups.app,
    "tokens": tokens.app,
    "transactions": transactions.app,
    "users": users.app,
}.items():
    app.add_typer(group, name=name)
app.add_typer(bench.app, name="bench")
app.add_typer(dlq.app, name="dlq")
app.add_typer(faults.app, name="faults")
app.add_typer(groups.app, name="groups")
app.add_typer(migrate.app, name="migrate")
app.add_typer(pipelines.app, name="pipeline")
app.add_typer(schemas.app, name="schemas")
app.add_typer(spark.app, name="spark")
app.command("registry")(registry.registry)
app.command("registry-user")(registry.registry_user)


def _give_profiles(commands: typer.Typer) -> None:
    """All commands that talk to Kafka take `--profile`."""
    for command in commands.registered_commands:
        if command.callback is not None and "bootstrap" in signature(command.callback).parameters:
            command.callback = taking_profile(command.callback)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _give_profiles(group.typer_instance)


_give_profiles(app)
app.add_typer(profile.app, name="profile")


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
    try:
        app(arguments, prog_name="barnabas")
    except (BarnabasError, OSError) as error:
        if _mode.debug:
            traceback.print_exc()
        note(f"error: {error}")
        return 1
    return 0
