"""The options that several commands share, and what their texts mean.

Knows nothing of any one command.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from barnabas.cli.properties import read_properties
from barnabas.errors import InvalidSettingError, MisuseError
from barnabas.settings.table import (
    ALIASES,
    AdminConfig,
    CommonConfig,
    ConsumerConfig,
    ProducerConfig,
    from_properties,
    names,
)

DEFAULT_BOOTSTRAP = "localhost:9092"
# A person at a terminal hears of a wrong address sooner than a service does.
API_TIMEOUT_MS = 15_000
# Of settings of a registry's client, as Confluent's serializers have it in properties files.
REGISTRY_PREFIX = "schema_registry_"
CLIENTS = (AdminConfig, ConsumerConfig, ProducerConfig)

Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        "-b",
        envvar="BARNABAS_BOOTSTRAP",
        metavar="HOST:PORT",
        help=f"Brokers to begin with; {DEFAULT_BOOTSTRAP} where nothing names any.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        envvar="BARNABAS_COMMAND_CONFIG",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="A properties file of settings, as Kafka's own tools take it; for passwords above all.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("-X", "--setting", metavar="NAME=VALUE", help="A setting of the client, by Kafka's name."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def client_settings(
    config_type: type[CommonConfig],
    bootstrap: str | None,
    command_config: Path | None,
    given: Sequence[str] | None,
) -> dict[str, Any]:
    """Keyword arguments for a client: from `-X name=value` before those of the file. A setting in the file
    that is another kind of client's is left out, so that one file serves all, and everywhere what is a
    registry's client's. Raises: InvalidSettingError."""
    file = {} if command_config is None else from_properties(read_properties(command_config))
    elsewhere = {name for kind in CLIENTS for name in names(kind)} - set(names(config_type))
    settings: dict[str, Any] = {
        "bootstrap_servers": DEFAULT_BOOTSTRAP,
        "default_api_timeout_ms": API_TIMEOUT_MS,
    }
    settings |= {name: value for name, value in file.items() if ALIASES.get(name, name) not in elsewhere}
    if bootstrap is not None:
        settings["bootstrap_servers"] = bootstrap
    settings |= from_properties(pairs(given, "-X"))
    return {name: value for name, value in settings.items() if not name.startswith(REGISTRY_PREFIX)}


def pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """`["a=1", "b=2"]` as a dictionary. Raises: InvalidSettingError for what is not name=value."""
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidSettingError(f"{option} {text!r} is not name=value")
        found[name] = value
    return found


class UsageError(MisuseError):
    """Options that contradict each other, or miss one that they need."""
