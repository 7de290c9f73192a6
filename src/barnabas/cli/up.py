"""`barnabas up`: the embedded broker in the foreground."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from barnabas.cli.options import pairs

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
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config", "-c", metavar="NAME=VALUE", help="A setting of the broker, by Kafka's name."
        ),
    ] = None,
) -> None:
    """Run a broker until Ctrl-C. Its address is printed on stdout once it is ready."""
    # Here and not above, since no other command should wait for the broker's import.
    from barnabas.broker.__main__ import serve
    from barnabas.broker.data_directory import data_directory

    asyncio.run(serve(data_directory(data_dir), host, port, pairs(config, "--config")))
