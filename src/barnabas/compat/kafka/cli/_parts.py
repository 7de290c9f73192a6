"""The arguments before those of a part, as the chosen generation has them, and how a part begins."""

from __future__ import annotations

import argparse
import logging
from typing import Any

from barnabas.compat.kafka.cli._argument import text, texts
from barnabas.compat.kafka.cli.common import (
    LOGGING_LEVELS,
    add_common_cli_args,
    build_connect_kwargs,
    build_kwargs,
    configure_logging,
)
from barnabas.compat.kafka_engine.generations import generation

_DESCRIPTIONS = {"consumer": "Kafka console consumer", "producer": "Kafka console producer"}


def parser_for(part: str, prog: str | None) -> argparse.ArgumentParser:
    """With the arguments for connections and logging."""
    parser = argparse.ArgumentParser(prog=prog or f"python -m kafka.{part}", description=_DESCRIPTIONS[part])
    if generation().cli_arguments_are_shared:
        add_common_cli_args(parser)
    else:
        add_own_arguments(parser, f"kafka {part}")
    return parser


def add_own_arguments(parser: argparse.ArgumentParser, client: str) -> None:
    """Those that each part has for itself in kafka-python 2."""
    for argument in (
        texts(
            *("-b --bootstrap-servers", "bootstrap_servers", "host:port for cluster bootstrap servers"),
            required=True,
        ),
        texts(
            *("-c --extra-config", "extra_config", f"additional configuration properties for {client}"),
            default=None,
        ),
        text("-l --log-level", "logging level, passed to logging.basicConfig"),
    ):
        argument.add_to(parser)


def begin(config: argparse.Namespace) -> dict[str, Any]:
    """Sets up logging; gives the settings of the client."""
    if generation().cli_arguments_are_shared:
        configure_logging(config)
        return build_connect_kwargs(config)
    if config.log_level:
        logging.basicConfig(level=LOGGING_LEVELS[config.log_level.upper()])
    return build_kwargs(config.extra_config) | {"bootstrap_servers": config.bootstrap_servers}
