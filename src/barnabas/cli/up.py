"""`barnabas up`: the embedded broker in the foreground, and a schema registry beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.options import AsJson, pairs
from barnabas.cli.running.broker_listeners import broker_listeners
from barnabas.cli.running.foreground import embedded_broker, run
from barnabas.ui.settings import UiSettings

DEFAULT_PORT = 9092
DEFAULT_DATA_DIR = "barnabas-data"


def up(
    port: Annotated[
        int,
        typer.Option(
            "--port",
            "-p",
            min=0,
            max=65_535,
            help="The port to listen on, of the first broker if there are several; 0 takes any free one.",
        ),
    ] = DEFAULT_PORT,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    advertise: Annotated[
        str | None,
        typer.Option(
            "--advertise",
            metavar="HOST",
            help="The name or address by which clients reach it; that of --host if left out.",
        ),
    ] = None,
    data_dir: Annotated[
        str, typer.Option("--data-dir", "-d", help="The folder in which topics and offsets are kept.")
    ] = DEFAULT_DATA_DIR,
    nodes: Annotated[
        int,
        typer.Option(
            "--nodes", "-n", min=1, max=100, help="How many brokers the cluster has, on ports in a row."
        ),
    ] = 1,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config", "-c", metavar="NAME=VALUE", help="A setting of the broker, by Kafka's name."
        ),
    ] = None,
    listener: Annotated[
        list[str] | None,
        typer.Option(
            "--listener",
            "-l",
            metavar="PROTOCOL[:PORT]",
            help="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL (repeatable); without a port on --port and "
            "those that follow.",
        ),
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option(
            "--user",
            metavar="NAME=PASSWORD",
            help="A user and the password for SASL, by SCRAM or PLAIN (repeatable).",
        ),
    ] = None,
    makes_certificates: Annotated[
        bool,
        typer.Option(
            "--make-certificates",
            help="Make certificates for TLS on localhost, and keep them in a folder beside the data.",
        ),
    ] = False,
    as_version: Annotated[
        str | None,
        typer.Option(
            "--as-version", metavar="RELEASE", help="Behave as this older release of Kafka does: 2.8, 0.10."
        ),
    ] = None,
    has_registry: Annotated[
        bool,
        typer.Option(
            "--registry", help="Run a schema registry as well, which keeps its schemas in this broker."
        ),
    ] = False,
    registry_port: Annotated[
        int,
        typer.Option(
            "--registry-port", min=0, max=65_535, help="The port of the registry; 0 takes any free one."
        ),
    ] = 8081,
    faults_port: Annotated[
        int | None,
        typer.Option(
            "--faults-port",
            min=0,
            max=65_535,
            help="The port on which it takes faults from `barnabas faults`; 0 takes any free one.",
        ),
    ] = None,
    ui_port: Annotated[
        int | None,
        typer.Option(
            "--ui-port",
            min=0,
            max=65_535,
            help="The port of a page that shows all in a browser; 0 takes any free one.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a broker, or a cluster of several, until Ctrl-C. Prints its address on stdout when it is ready,
    then the addresses of its faults, of the registry and of the page, which may change everything here. For
    each listener, where there are several or --listener names one, it also prints what belongs in a client's
    properties file."""
    registry = None
    if has_registry:
        # Here and not above, since no other command should wait for the registry's import.
        from barnabas.registry_server.settings import ServerSettings

        registry = ServerSettings(host=host, port=registry_port)
    listeners = broker_listeners(
        listener,
        user,
        pairs(config, "--config"),
        host=host,
        port=port,
        advertise=advertise,
        nodes=nodes,
        certificates=Path(f"{Path(data_dir)}-certificates") if makes_certificates else None,
    )
    broker = embedded_broker(data_dir, host, port, listeners.config, nodes, as_version, listeners.users)
    # What is here was made to try things out, so that its page changes things unasked.
    page = None if ui_port is None else UiSettings(client={}, host=host, port=ui_port, allows_writes=True)
    run(broker, registry, listeners, faults_port=faults_port, ui=page, as_json=as_json)
