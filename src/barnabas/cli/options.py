"""The options that several commands share, and what their texts mean.

Knows nothing of any one command.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from barnabas.cli import librdkafka_names, profiles
from barnabas.cli.librdkafka_names import with_kafka_names
from barnabas.cli.output import note
from barnabas.cli.properties import read_properties
from barnabas.errors import InvalidSettingError
from barnabas.records.asked import UsageError as UsageError
from barnabas.settings.table import (
    ALIASES,
    SERIALIZERS,
    AdminConfig,
    CommonConfig,
    ConsumerConfig,
    ProducerConfig,
    from_properties,
    load,
    names,
)

DEFAULT_BOOTSTRAP = "localhost:9092"
# A person at a terminal hears of a wrong address sooner than a service does.
API_TIMEOUT_MS = 15_000
# Of settings of a registry's client, as Confluent's serializers have it in properties files.
REGISTRY_PREFIX = "schema_registry_"
# Of them too, as in the files that Confluent Cloud gives.
_ALSO_OF_REGISTRY = ("basic_auth_", "bearer_auth_")
# Names of classes, and what is about Java's own ways.
_ONLY_JAVA = re.compile(
    r"(key|value)\.(de)?serializer|metric\.reporters|metrics\..+|.+\.(class|classes)|security\.providers|"
    r"auto\.include\.jmx\.reporter|ssl\.(provider|keymanager\.algorithm|trustmanager\.algorithm|"
    r"secure\.random\.implementation)"
)
_told: set[tuple[str, ...]] = set()
CLIENTS = (AdminConfig, ConsumerConfig, ProducerConfig)
_BOOTSTRAP_VARIABLE = "BARNABAS_BOOTSTRAP"
_FILE_VARIABLE = "BARNABAS_COMMAND_CONFIG"
_of_environment: set[str] = set()
"""Of these variables, those that stand in for options that the command line does not have."""


def _noting_where_from(variable: str) -> Callable[..., Any]:
    def note_where_from(context: typer.Context, parameter: typer.CallbackParam, value: Any) -> Any:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "ENVIRONMENT":
            _of_environment.add(variable)
        else:
            _of_environment.discard(variable)
        return value

    return note_where_from


Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        "-b",
        envvar=_BOOTSTRAP_VARIABLE,
        callback=_noting_where_from(_BOOTSTRAP_VARIABLE),
        metavar="HOST:PORT",
        help=f"Brokers to begin with; {DEFAULT_BOOTSTRAP} where nothing names any.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        envvar=_FILE_VARIABLE,
        callback=_noting_where_from(_FILE_VARIABLE),
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
    *,
    profile: str | None = None,
    is_quiet: bool = False,
) -> dict[str, Any]:
    """Keyword arguments for a client: from `-X name=value` before those of the file, and these before those
    of a profile, the one that the command line names unless `profile` does. `bootstrap` is before both,
    unless it comes from the environment, and the file or the profile is one that the command line names. Of
    file and profile, a setting that is another kind of client's is left out, so that one serves all, and what
    only Java or librdkafka know, which is told for a file unless `is_quiet`; everywhere what is a registry's
    client's. Raises: InvalidSettingError."""
    properties = with_kafka_names(profiles.settings(profile))
    are_servers_named = profiles.is_asked_for() and "bootstrap.servers" in properties
    if command_config is not None:
        of_file = with_kafka_names(read_properties(command_config))
        if not is_quiet:
            tell_what_is_left_out(of_file)
        is_file_named = not _is_of_environment(_FILE_VARIABLE, str(command_config))
        are_servers_named |= is_file_named and "bootstrap.servers" in of_file
        properties |= of_file
    file = from_properties(_without(properties, left_out_of(properties)))
    elsewhere = {name for kind in CLIENTS for name in names(kind)} - set(names(config_type))
    settings: dict[str, Any] = {
        "bootstrap_servers": DEFAULT_BOOTSTRAP,
        "default_api_timeout_ms": API_TIMEOUT_MS,
    }
    settings |= {name: value for name, value in file.items() if ALIASES.get(name, name) not in elsewhere}
    is_passed_over = are_servers_named and _is_of_environment(_BOOTSTRAP_VARIABLE, bootstrap)
    if bootstrap is not None and not is_passed_over:
        settings["bootstrap_servers"] = bootstrap
    settings |= from_properties(with_kafka_names(pairs(given, "-X")))
    of_registry = (REGISTRY_PREFIX, *_ALSO_OF_REGISTRY)
    return {name: value for name, value in settings.items() if not name.startswith(of_registry)}


def named_bootstrap(bootstrap: str | None) -> str | None:
    """What the option has, where it is the command line that has it and not the environment."""
    return None if _is_of_environment(_BOOTSTRAP_VARIABLE, bootstrap) else bootstrap


def named_file(command_config: Path | None) -> Path | None:
    """As `named_bootstrap`, of --command-config."""
    return None if _is_of_environment(_FILE_VARIABLE, str(command_config)) else command_config


def _is_of_environment(variable: str, value: str | None) -> bool:
    # The options of another cluster, as of the target of a copy, are never of the environment.
    return variable in _of_environment and value == os.environ.get(variable)


def registry_settings(
    command_config: Path | None,
    given: Sequence[str] | None,
    url: str | None = None,
    *,
    is_all: bool = False,
    profile: str | None = None,
) -> tuple[str | None, dict[str, Any]]:
    """The address and the settings of a registry's client: from `-X` before those of the file, and these
    before those of the profile, the one that the command line names unless `profile` does. `url` is what the
    command line names, before all. Of `-X`, what has no prefix
    is the registry's too if `is_all`. Raises: InvalidSettingError."""
    properties = with_kafka_names(profiles.settings(profile))
    if command_config is not None:
        of_file = with_kafka_names(read_properties(command_config))
        tell_what_is_left_out(of_file)
        properties |= of_file
    file = from_properties(_without(properties, left_out_of(properties)))
    found = _of_registry(file)
    named = from_properties(pairs(given, "-X"))
    if is_all:
        found |= {name.removeprefix(REGISTRY_PREFIX): value for name, value in named.items()}
    else:
        found |= _of_registry(named)
    _settle_sources(found, file)
    address = found.pop("url", None)
    return url or address, found


def _of_registry(settings: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in settings if name.startswith((REGISTRY_PREFIX, *_ALSO_OF_REGISTRY))]
    return {name.removeprefix(REGISTRY_PREFIX): settings[name] for name in names}


def _settle_sources(found: dict[str, Any], file: Mapping[str, Any]) -> None:
    """Takes out where Java's client has its credentials from: the other settings say it. Raises:
    InvalidSettingError."""
    source = found.pop("basic_auth_credentials_source", "URL").upper()
    if source == "SASL_INHERIT":
        found["basic_auth_user_info"] = _user_and_password(file)
    elif source not in ("URL", "USER_INFO"):
        raise InvalidSettingError(
            f"basic.auth.credentials.source must be URL, USER_INFO or SASL_INHERIT, not {source!r}"
        )
    source = found.pop("bearer_auth_credentials_source", "STATIC_TOKEN").upper()
    if source not in ("STATIC_TOKEN", "OAUTHBEARER"):
        raise InvalidSettingError(
            f"bearer.auth.credentials.source must be STATIC_TOKEN or OAUTHBEARER, not {source!r}"
        )


def _user_and_password(file: Mapping[str, Any]) -> str:
    """Of SASL. Raises: InvalidSettingError."""
    # Here and not above, since no other command should wait for the import.
    from barnabas.net.sasl.configured import with_login_module

    given = {name: value for name, value in file.items() if name in names(AdminConfig)}
    config = with_login_module(load(AdminConfig, {"bootstrap_servers": DEFAULT_BOOTSTRAP, **given}))
    if config.sasl_username is None or config.sasl_password is None:
        raise InvalidSettingError(
            "basic.auth.credentials.source=SASL_INHERIT needs sasl.jaas.config, or sasl.username and "
            "sasl.password"
        )
    return f"{config.sasl_username}:{config.sasl_password.reveal()}"


def settings_of_one(
    kind: type[CommonConfig],
    bootstrap: str | None,
    command_config: Path | None,
    given: Sequence[str] | None,
    *,
    profile: str | None = None,
) -> dict[str, Any]:
    """For one of several clients of a command: what is only another's is left out, of `-X` as well."""
    others = {name for other in CLIENTS for name in names(other)} - set(names(kind))
    settings = client_settings(kind, bootstrap, command_config, given, profile=profile)
    return {name: value for name, value in settings.items() if ALIASES.get(name, name) not in others}


def left_out_of(properties: Mapping[str, str]) -> list[str]:
    """What only Java's clients or librdkafka know."""
    known = {*ALIASES, *(name for kind in CLIENTS for name in names(kind))} - SERIALIZERS
    return sorted(
        key
        for key in properties
        if key in librdkafka_names.LEFT_OUT
        or (_ONLY_JAVA.fullmatch(key) and key.replace(".", "_") not in known)
    )


def tell_what_is_left_out(properties: Mapping[str, str]) -> None:
    """Once for all clients of a command."""
    left_out = tuple(left_out_of(properties))
    if not left_out or left_out in _told:
        return
    _told.add(left_out)
    of_librdkafka = librdkafka_names.LEFT_OUT.intersection(left_out)
    if len(of_librdkafka) == len(left_out):
        who = "librdkafka knows"
    else:
        who = "Java's clients and librdkafka know" if of_librdkafka else "Java's clients know"
    note(f"warning: left out, as only {who} {'it' if len(left_out) == 1 else 'them'}: {', '.join(left_out)}")


def _without(properties: Mapping[str, str], left_out: Sequence[str]) -> dict[str, str]:
    return {key: value for key, value in properties.items() if key not in left_out}


def pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """`["a=1", "b=2"]` as a dictionary. Raises: InvalidSettingError for what is not name=value."""
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidSettingError(f"{option} {text!r} is not name=value")
        found[name] = value
    return found
