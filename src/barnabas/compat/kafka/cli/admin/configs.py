"""`python -m kafka.admin configs`."""

from __future__ import annotations

import re
from typing import Any

from barnabas.compat.kafka.admin._configs import AlterConfigOp, ConfigResource
from barnabas.compat.kafka.cli._argument import OneOf, switch, text, texts
from barnabas.compat.kafka.cli.admin._command import CommandGroup, command

_OPERATIONS = {
    "set": AlterConfigOp.SET,
    "del": AlterConfigOp.DELETE,
    "add": AlterConfigOp.APPEND,
    "sub": AlterConfigOp.SUBTRACT,
}
_CHANGE = re.compile(r"^(set|del|add|sub)\((.*)\)$")
_FILTERS = ("modified", "dynamic", "static", "default")
_OF_RESOURCES = (
    text(
        "-r --resource-type",
        "Type of resource to describe: topic, broker, broker_logger, client_metrics, group.",
        required=True,
    ),
    texts(
        *("-n --resource-name", "resource_names"),
        "Name of resource(s) to describe. May be repeated.",
        required=True,
    ),
)
_OF_CHANGES = (
    switch("-v --validate-only", default=False),
    switch("--allow-unknown", action="store_false", dest="raise_on_unknown", default=True),
)


def _resources(args: Any, configs: Any = None) -> list[ConfigResource]:
    kind = args.resource_type.upper().replace("-", "_")
    return [ConfigResource(kind, name, configs) for name in args.resource_names]


def _change(value: str) -> Any:
    found = _CHANGE.match(value)
    return value if found is None else (_OPERATIONS[found[1]], found[2])


@command(
    *("describe", "Describe Kafka Configs"),
    *_OF_RESOURCES,
    texts("-c --config", "configs", default=None),
    *(switch(f"--{name}", default=False) for name in ("dynamic", "modified", "static", "default")),
)
def describe_configs(client: Any, args: Any) -> Any:
    chosen = next((name for name in _FILTERS if getattr(args, name)), "all")
    return client.describe_configs(_resources(args, args.configs), config_filter=chosen)


@command(
    *("alter", "Alter Kafka Configs"),
    *_OF_RESOURCES,
    texts("-c --config", "configs", "key=value to alter", required=True),
    *_OF_CHANGES,
    OneOf(
        (
            switch("--force-incremental", dest="incremental", default=None),
            switch("--force-alter", action="store_false", dest="incremental", default=None),
        )
    ),
)
def alter_configs(client: Any, args: Any) -> Any:
    try:
        configs = {key: _change(value) for key, value in (each.split("=") for each in args.configs)}
    except ValueError:
        raise ValueError(f"Unable to parse configs! {args.configs}") from None
    return client.alter_configs(
        _resources(args, configs),
        validate_only=args.validate_only,
        raise_on_unknown=args.raise_on_unknown,
        incremental=args.incremental,
    )


@command(
    "list",
    "List config resources known to the cluster (requires broker >= 4.1 for non client_metrics types)",
    texts(
        *("-r --resource-type", "resource_types"),
        "Filter by resource type (repeatable): topic, broker, broker_logger, client_metrics, group. Omit to "
        "list all supported types.",
    ),
)
def list_config_resources(client: Any, args: Any) -> Any:
    return client.list_config_resources(resource_types=args.resource_types or None)


@command(
    *("reset", "Reset Kafka Configs"),
    *_OF_RESOURCES,
    texts("-c --config", "configs", "key to reset"),
    *_OF_CHANGES,
)
def reset_configs(client: Any, args: Any) -> Any:
    return client.reset_configs(
        _resources(args, args.configs),
        validate_only=args.validate_only,
        raise_on_unknown=args.raise_on_unknown,
    )


CONFIGS = CommandGroup(
    *("configs", "Manage Kafka Configuration"),
    (describe_configs, alter_configs, list_config_resources, reset_configs),
)
