"""The options that several commands share, and what their texts mean.

Knows nothing of any one command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from barnabas.config import from_properties
from barnabas.errors import InvalidSettingError, MisuseError

DEFAULT_BOOTSTRAP = "localhost:9092"
# A person at a terminal hears of a wrong address sooner than a service does.
API_TIMEOUT_MS = 15_000

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap", "-b", envvar="BARNABAS_BOOTSTRAP", metavar="HOST:PORT", help="Brokers to begin with."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("-X", "--setting", metavar="NAME=VALUE", help="A setting of the client, by Kafka's name."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def client_settings(given: Sequence[str] | None) -> dict[str, Any]:
    """Keyword arguments for a client from `-X name=value`. Raises: InvalidSettingError."""
    settings: dict[str, Any] = {"default_api_timeout_ms": API_TIMEOUT_MS}
    return settings | from_properties(pairs(given, "-X"))


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
