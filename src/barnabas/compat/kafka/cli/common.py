"""What the command lines share: arguments for connections and logging, and what they mean as settings."""

from __future__ import annotations

import argparse
import json
import logging
import logging.config
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from barnabas.compat.kafka.cli._argument import add_group, text, texts

LOGGING_LEVELS = {"NOTSET": 0, "DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
_SILENT = logging.CRITICAL + 1
_WORDS = {"None": None, "False": False, "True": True}


def build_kwargs(props: Iterable[str] | None) -> dict[str, Any]:
    """Settings out of `name=value`: numbers, None, True and False are taken for such. Raises: ValueError."""
    kwargs: dict[str, Any] = {}
    for prop in props or ():
        name, value = prop.split("=")
        try:
            kwargs[name] = int(value)
        except ValueError:
            kwargs[name] = _WORDS.get(value, value)
    return kwargs


def add_connect_cli_args(parser: argparse.ArgumentParser, bootstrap_required: bool = True) -> None:
    add_group(
        *(parser, "connection"),
        texts(
            *("-b --bootstrap-servers", "bootstrap_servers"),
            "host:port for cluster bootstrap server. Can be provided multiple times.",
            required=bootstrap_required,
            default=None,
        ),
        text("-S --security-protocol", "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL", default="PLAINTEXT"),
        text(
            *("-M --sasl-mechanism", "PLAIN, GSSAPI, OAUTHBEARER, SCRAM-SHA-256, SCRAM-SHA-512"),
            default="PLAIN",
        ),
        text("-U --sasl-user"),
        text("-P --sasl-password"),
    )


def build_connect_kwargs(config: argparse.Namespace) -> dict[str, Any]:
    """The settings of a client. Raises: ValueError where no broker is named."""
    if not config.bootstrap_servers:
        raise ValueError(
            "python -m kafka: error: the following arguments are required: -b/--bootstrap-servers"
        )
    servers = [
        server.strip() for entry in config.bootstrap_servers for server in entry.split(",") if server.strip()
    ]
    return build_kwargs(config.extra_config) | {
        "bootstrap_servers": servers,
        "security_protocol": config.security_protocol,
        "sasl_mechanism": config.sasl_mechanism,
        "sasl_plain_username": config.sasl_user,
        "sasl_plain_password": config.sasl_password,
    }


def add_logging_cli_args(parser: argparse.ArgumentParser) -> None:
    add_group(
        *(parser, "logging"),
        text("-l --log-level", "logging level, passed to logging.basicConfig", default="CRITICAL"),
        texts(
            *("-L --enable-logger", "enable_logger"),
            "enable a specific logger. Can be provided multiple times. If not provided, all loggers are "
            "enabled",
            default=None,
        ),
        texts(
            *("-D --disable-logger", "disable_logger"),
            "disable a specific logger. Can be provided multiple times.",
            default=None,
        ),
        text("--log-format", "log message format string, passed to logging.Formatter"),
        text("--log-date-format", "log date format string, passed to logging.Formatter"),
        text("--log-file", "write logs to this file instead of stderr"),
        text(
            "--log-config",
            "path to a logging configuration file for full control over handlers, formatters, etc. "
            "A .json (or .yaml/.yml, if PyYAML is installed) file is loaded as a logging.config.dictConfig; "
            "any other extension is loaded as a logging.config.fileConfig. The file owns "
            "handlers/formatters, so --log-format, --log-date-format and --log-file are ignored, but "
            "--enable-logger and --disable-logger still apply as logger level adjustments.",
        ),
    )


def add_extended_cli_args(parser: argparse.ArgumentParser) -> None:
    add_group(
        *(parser, "extended"),
        texts(
            *("-C --extra-config", "extra_config"),
            'additional configuration properties for client in "key=val" format. '
            "Can be provided multiple times.",
            default=None,
        ),
    )


def add_common_cli_args(parser: argparse.ArgumentParser, bootstrap_required: bool = True) -> None:
    add_connect_cli_args(parser, bootstrap_required)
    add_logging_cli_args(parser)
    add_extended_cli_args(parser)


def configure_logging(config: argparse.Namespace) -> None:
    """As the arguments say. Raises: KeyError for a level that there is not; ValueError for a file in YAML
    without PyYAML."""
    level = LOGGING_LEVELS[config.log_level.upper()]
    if config.log_config:
        _load(config.log_config)
        if config.enable_logger is not None:
            # The file's handlers stay, and hear these loggers alone.
            logging.getLogger().setLevel(_SILENT)
            for name in config.enable_logger:
                logger = logging.getLogger(name)
                logger.disabled = False
                logger.setLevel(level)
    else:
        _configure(config, level)
    for name in config.disable_logger or ():
        logging.getLogger(name).setLevel(_SILENT)


def _configure(config: argparse.Namespace, level: int) -> None:
    log_format = config.log_format or logging.BASIC_FORMAT
    if config.enable_logger is None:
        logging.basicConfig(
            level=level, format=log_format, datefmt=config.log_date_format, filename=config.log_file
        )
        return
    handler = logging.FileHandler(config.log_file) if config.log_file else logging.StreamHandler()
    handler.setLevel(level)
    handler.setFormatter(logging.Formatter(log_format, datefmt=config.log_date_format))
    for name in config.enable_logger:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addHandler(handler)


def _load(path: str) -> None:
    if path.endswith((".yaml", ".yml")):
        try:
            import yaml  # pyright: ignore[reportMissingModuleSource]
        except ImportError:
            raise ValueError(f"PyYAML is required to load a YAML logging config: {path}") from None
        settings = yaml.safe_load(Path(path).read_text())
    elif path.endswith(".json"):
        settings = json.loads(Path(path).read_text())
    else:
        logging.config.fileConfig(path, disable_existing_loggers=False)
        return
    # Loggers that a file does not name are not silenced by it, unless it says so.
    settings.setdefault("disable_existing_loggers", False)
    logging.config.dictConfig(settings)
