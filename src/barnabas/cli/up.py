"""`barnabas up`: the embedded broker in the foreground, and a schema registry beside it."""

from __future__ import annotations

from typing import Annotated

import typer

from barnabas.cli.foreground import embedded_broker, run
from barnabas.cli.options import AsJson, pairs

DEFAULT_PORT = 9092
DEFAULT_DATA_DIR = "barnabas-data"


def up(
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65_535, help="0 takes any free one.")
    ] = DEFAULT_PORT,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    data_dir: Annotated[
        str, typer.Option("--data-dir", "-d", help="Where topics and offsets are kept.")
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
    as_version: Annotated[
        str | None,
        typer.Option("--as-version", metavar="RELEASE", help="Pass for this release of Kafka: 2.8, 0.10."),
    ] = None,
    has_registry: Annotated[
        bool, typer.Option("--registry", help="Run a schema registry as well, which keeps its schemas here.")
    ] = False,
    registry_port: Annotated[
        int, typer.Option("--registry-port", min=0, max=65_535, help="0 takes any free one.")
    ] = 8081,
    faults_port: Annotated[
        int | None,
        typer.Option(
            "--faults-port",
            min=0,
            max=65_535,
            help="Listen there for `barnabas faults`; 0 takes any.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a broker, or a cluster of several, until Ctrl-C. Its address is printed on stdout once it is ready;
    then where faults are told, and the registry's."""
    registry = None
    if has_registry:
        # Here and not above, since no other command should wait for the registry's import.
        from barnabas.registry_server.settings import ServerSettings

        registry = ServerSettings(host=host, port=registry_port)
    broker = embedded_broker(data_dir, host, port, pairs(config, "--config"), nodes, as_version)
    run(broker, registry, faults_port=faults_port, as_json=as_json)
