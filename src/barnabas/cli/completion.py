"""Names that a shell completes, where a cluster or registry answers at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

import typer

import barnabas
from barnabas.cli import profiles
from barnabas.cli.options import client_settings
from barnabas.errors import BarnabasError, MisuseError
from barnabas.settings.table import AdminConfig

# Somebody has pressed a key and waits.
_MILLISECONDS = 1_500


def topics(context: typer.Context, incomplete: str) -> list[str]:
    return _names(context, incomplete, lambda admin: admin.list_topics())


def groups(context: typer.Context, incomplete: str) -> list[str]:
    return _names(context, incomplete, lambda admin: [group.group_id for group in admin.list_groups()])


def share_groups(context: typer.Context, incomplete: str) -> list[str]:
    return _names(
        context, incomplete, lambda admin: [each.group_id for each in admin.list_groups(types=["share"])]
    )


def users(context: typer.Context, incomplete: str) -> list[str]:
    return _names(context, incomplete, lambda admin: admin.describe_user_scram_credentials())


def transactional_ids(context: typer.Context, incomplete: str) -> list[str]:
    def ask(admin: barnabas.Admin) -> list[str]:
        found = admin.list_transactions()
        return [each.transactional_id for listings in found.values() for each in listings]

    return _names(context, incomplete, ask)


def brokers(context: typer.Context, incomplete: str) -> list[str]:
    return _names(
        context, incomplete, lambda admin: [str(node.node_id) for node in admin.describe_cluster().nodes]
    )


def features(context: typer.Context, incomplete: str) -> list[str]:
    return _names(context, incomplete, lambda admin: admin.describe_features().supported)


def resources(context: typer.Context, incomplete: str) -> list[str]:
    """Those that have settings, of the type that the line names."""
    return _names(
        context,
        incomplete,
        lambda admin: [each.name for each in admin.list_config_resources([_type_of_resource(context)])],
    )


def configs(context: typer.Context, incomplete: str) -> list[str]:
    """The settings of what the line names first; names, of which there may be more."""

    def ask(admin: barnabas.Admin) -> Iterable[str]:
        kind = _type_of_resource(context)
        given: Sequence[str] = context.params.get("words") or context.args[1:]
        yield from (each.name for each in admin.list_config_resources([kind]))
        if given:
            resource = barnabas.ConfigResource(kind, given[0])
            yield from admin.describe_configs([resource])[resource]

    return _names(context, incomplete, ask)


def topic_configs(context: typer.Context, incomplete: str) -> list[str]:
    def ask(admin: barnabas.Admin) -> Iterable[str]:
        resource = barnabas.ConfigResource(barnabas.ResourceType.TOPIC, _argument(context, 0, "topic"))
        return admin.describe_configs([resource])[resource]

    return _names(context, incomplete, ask)


def one_of(words: Iterable[str]) -> Callable[[str], list[str]]:
    """Words that are the same everywhere."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def registry_settings(incomplete: str) -> list[str]:
    # Here and not above, since no other line should wait for the import.
    from barnabas.registry_server.settings import SETTING_NAMES

    return [name for name in SETTING_NAMES if name.startswith(incomplete)]


def fault_ids(context: typer.Context, incomplete: str) -> list[str]:
    return _told(context, incomplete, "faults", "id")


def fault_nodes(context: typer.Context, incomplete: str) -> list[str]:
    return _told(context, incomplete, "nodes", "node_id")


def _told(context: typer.Context, incomplete: str, kind: str, name: str) -> list[str]:
    """Names of what there is where faults are told."""
    # Here and not above, since no other line should wait for the import.
    from barnabas.testing.fault_control import FaultControl

    try:
        control = FaultControl(context.params["at"], call_timeout_seconds=_MILLISECONDS / 1000)
        names = [str(each[name]) for each in control.call("GET", f"/{kind}")[kind]]
    except BarnabasError:
        return []
    return [each for each in names if each.startswith(incomplete)]


def _type_of_resource(context: typer.Context) -> barnabas.ResourceType:
    """Raises: MisuseError."""
    try:
        return barnabas.ResourceType[_argument(context, 0, "kind").upper().replace("-", "_")]
    except KeyError as error:
        raise MisuseError(f"{error} is no type") from None


def _argument(context: typer.Context, position: int, name: str) -> str:
    """What the line has there so far. Behind an option without its value, arguments are not parsed."""
    left = context.args[position] if len(context.args) > position else ""
    return context.params.get(name) or left


@contextmanager
def _without_log() -> Generator[None]:
    """A client logs to stderr that brokers do not answer."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _names(
    context: typer.Context, incomplete: str, ask: Callable[[barnabas.Admin], Iterable[str]]
) -> list[str]:
    given = context.params
    try:
        with profiles.chosen(given.get("profile") or context.find_root().params.get("profile")):
            settings = client_settings(
                AdminConfig,
                given.get("bootstrap"),
                given.get("command_config"),
                given.get("setting"),
                is_quiet=True,
            )
        settings |= dict.fromkeys(("default_api_timeout_ms", "request_timeout_ms"), _MILLISECONDS)
        with _without_log(), barnabas.Admin(**settings) as admin:
            return sorted(name for name in ask(admin) if name.startswith(incomplete))
    except (BarnabasError, OSError):
        # There is nowhere to tell it: the line that is being typed must stay as it is.
        return []
