"""`barnabas registry`: a schema registry in the foreground, on any Kafka or with a broker of its own."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli import completion
from barnabas.cli.options import (
    AsJson,
    Bootstrap,
    CommandConfig,
    Settings,
    UsageError,
    client_settings,
    named_bootstrap,
    pairs,
)
from barnabas.cli.output import note
from barnabas.cli.passwords import new_password
from barnabas.cli.properties import read_properties
from barnabas.cli.running.foreground import embedded_broker, run
from barnabas.settings.table import CommonConfig

File = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        exists=True,
        dir_okay=False,
        help="A properties file, with the names of Confluent's schema-registry.properties.",
    ),
]


def registry(
    file: File = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    settings: Settings = None,
    is_embedded: Annotated[
        bool, typer.Option("--embedded", help="Run a broker of its own, in the same process.")
    ] = False,
    data_dir: Annotated[
        str, typer.Option("--data-dir", "-d", help="With --embedded: where the broker keeps its data.")
    ] = "barnabas-data",
    host: Annotated[
        str | None, typer.Option("--host", help="The address to listen on; 127.0.0.1 if left out.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            "-p",
            min=0,
            max=65_535,
            help="The port to listen on; 8081 if left out, and 0 takes any free one.",
        ),
    ] = None,
    host_name: Annotated[
        str | None, typer.Option("--host-name", help="The name by which other registries reach this one.")
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            "--topic",
            help="The topic in which schemas are kept; _schemas if left out.",
            autocompletion=completion.topics,
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", help="Serve HTTPS with the certificate in this PEM file.")
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option("--tls-key", help="The certificate's key, where it is not in the same file."),
    ] = None,
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            "--tls-ca",
            help="A PEM file of the authorities that sign the certificates of clients and of the leading "
            "registry.",
        ),
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option(
            "--users",
            help="Ask for users and passwords, which are in a file that `barnabas registry-user` writes.",
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            "-c",
            metavar="NAME=VALUE",
            help="A setting, by its name in FILE.",
            autocompletion=completion.registry_settings,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a schema registry until Ctrl-C. Its URL is printed on stdout once it answers."""
    # Here and not above, since no other command should wait for the registry's import.
    from barnabas.registry_server.settings import settings_from, tls_settings

    named = named_bootstrap(bootstrap)
    properties = {} if file is None else read_properties(file)
    found = settings_from(properties | pairs(config, "--config"))
    if not found.client.get("bootstrap_servers") or bootstrap or command_config or settings:
        given = dict(found.client) | ({} if named is None else {"bootstrap_servers": named})
        asked = client_settings(CommonConfig, bootstrap, command_config, settings)
        found = replace(found, client=asked | given)
    if is_embedded and (named or file is not None):
        raise UsageError("--embedded runs a broker of its own: leave --bootstrap and FILE out")
    if tls_cert is not None:
        found = replace(found, tls=tls_settings(tls_cert, tls_key, None, tls_ca))
    options = {"host": host, "port": port, "host_name": host_name, "users": users}
    found = replace(found, **{name: value for name, value in options.items() if value is not None})
    if topic is not None:
        found = replace(found, journal=replace(found.journal, topic=topic))
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("barnabas.registry_server").setLevel(logging.INFO)
    run(embedded_broker(data_dir) if is_embedded else None, found, as_json=as_json)


def registry_user(
    name: Annotated[str, typer.Argument(help="The user's name.")],
    role: Annotated[
        str,
        typer.Option(
            "--role",
            help="What the user may do: read, or write, which includes read.",
            autocompletion=completion.one_of(("read", "write")),
        ),
    ] = "read",
) -> None:
    """Print the line of a user for the file of `barnabas registry --users`. The password is asked for, or is
    the first line of stdin."""
    from barnabas.registry_server.access import user_line

    print(user_line(name, role, new_password()))
    note(f"append it to the file of --users, and start the registry again, so that it knows {name}")
