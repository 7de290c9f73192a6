"""`barnabas ui`: the page for a browser, on any Kafka."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from barnabas.cli import completion, profiles
from barnabas.cli.options import (
    AsJson,
    Bootstrap,
    CommandConfig,
    Settings,
    UsageError,
    client_settings,
    named_bootstrap,
    named_file,
    registry_settings,
)
from barnabas.cli.output import note
from barnabas.cli.passwords import new_password
from barnabas.cli.running.foreground import run_page
from barnabas.credentials import Secret
from barnabas.errors import InvalidSettingError
from barnabas.settings.table import CommonConfig
from barnabas.ui.roles import Role
from barnabas.ui.settings import ClusterSettings, OidcSettings, UiSettings

DEFAULT_UI_PORT = 8080
USER_ROLES = tuple(role.name.lower() for role in Role)
SECRET_VARIABLE = "BARNABAS_OIDC_CLIENT_SECRET"
VARIABLES = {
    "--registry-url": "BARNABAS_REGISTRY",
    "--listener": "BARNABAS_LISTENER",
    "--faults": "BARNABAS_FAULTS",
}

AllowWrites = Annotated[
    bool, typer.Option("--allow-writes", help="Let the page change things; without this it only reads.")
]
Mask = Annotated[
    list[str] | None,
    typer.Option(
        "--mask",
        metavar="NAME",
        help="A field or header whose values are not shown (repeatable); '*' for all values. A value that is "
        "not JSON and has no schema is then not shown at all.",
    ),
]


def ui(
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option("--port", "-p", min=0, max=65_535, help="The port to listen on; 0 takes any free one."),
    ] = DEFAULT_UI_PORT,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-host",
            metavar="NAME",
            help="A name by which browsers may call the page, besides --host (repeatable).",
        ),
    ] = None,
    registry_url: Annotated[
        str | None,
        typer.Option(
            "--registry-url",
            "--registry",
            "-r",
            envvar="BARNABAS_REGISTRY",
            metavar="URL",
            help="A schema registry, by whose schemas records are decoded.",
        ),
    ] = None,
    listener: Annotated[
        str | None,
        typer.Option(
            "--listener",
            "-l",
            envvar="BARNABAS_LISTENER",
            metavar="URL",
            help="The URL of a PipelineListener, whose streaming queries of Spark are shown too.",
        ),
    ] = None,
    checkpoint: Annotated[
        list[str] | None,
        typer.Option(
            "--checkpoint",
            "-C",
            metavar="FOLDER",
            help="A streaming query's checkpoint, whether it runs or not: a path, or an address such as "
            "s3://bucket/delays (repeatable).",
        ),
    ] = None,
    faults: Annotated[
        str | None,
        typer.Option(
            "--faults",
            envvar="BARNABAS_FAULTS",
            metavar="URL",
            help="The URL at which an embedded broker or a proxy takes faults, to set them from the page.",
        ),
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option(
            "--users",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Basic authentication, by a file of lines that `barnabas ui-user` prints, with what each "
            "user may do; a file of `barnabas registry-user` works as well.",
        ),
    ] = None,
    oidc_issuer: Annotated[
        str | None,
        typer.Option(
            "--oidc-issuer",
            envvar="BARNABAS_OIDC_ISSUER",
            metavar="URL",
            help="Login by OpenID Connect, in place of --users. The secret of the client is taken from "
            "BARNABAS_OIDC_CLIENT_SECRET.",
        ),
    ] = None,
    oidc_client_id: Annotated[
        str | None,
        typer.Option(
            "--oidc-client-id",
            envvar="BARNABAS_OIDC_CLIENT_ID",
            metavar="ID",
            help="The client id by which the issuer knows the page.",
        ),
    ] = None,
    oidc_scope: Annotated[
        str,
        typer.Option("--oidc-scope", metavar="TEXT", help="The scopes that the page asks the issuer for."),
    ] = "openid profile email",
    oidc_groups_claim: Annotated[
        str, typer.Option("--oidc-groups-claim", metavar="NAME", help="The claim that names a user's groups.")
    ] = "groups",
    oidc_operator_group: Annotated[
        list[str] | None,
        typer.Option(
            "--oidc-operator-group",
            metavar="NAME",
            help="A group whose members may change records and offsets, with --allow-writes (repeatable).",
        ),
    ] = None,
    oidc_admin_group: Annotated[
        list[str] | None,
        typer.Option(
            "--oidc-admin-group",
            "--oidc-write-group",
            metavar="NAME",
            help="A group whose members may change everything, with --allow-writes (repeatable). A user in "
            "no group that is named only reads.",
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            "--public-url",
            metavar="URL",
            help="The page's address as browsers see it, where there is a proxy: they may call it by that "
            "name, its path is the base path, and the issuer sends them back there.",
        ),
    ] = None,
    base_path: Annotated[
        str | None,
        typer.Option(
            "--base-path",
            metavar="PATH",
            help="The path below which a proxy serves the page, such as /kafka; the proxy may remove it or "
            "not.",
        ),
    ] = None,
    forwarded_allow_ips: Annotated[
        str | None,
        typer.Option(
            "--forwarded-allow-ips",
            metavar="ADDRESSES",
            help="Addresses or networks of proxies, with commas between, whose X-Forwarded-For and "
            "X-Forwarded-Proto are trusted; '*' for all, none if left out.",
        ),
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="A cluster of `barnabas profile`; given several times, the page shows all of them. Else "
            "BARNABAS_PROFILE, or the default one.",
            autocompletion=profiles.complete,
        ),
    ] = None,
    allow_writes: AllowWrites = False,
    mask: Mask = None,
    audit_log: Annotated[
        Path | None,
        typer.Option(
            "--audit-log",
            metavar="FILE",
            dir_okay=False,
            help="A file to which each change is appended as a line of JSON, and each one that was refused; "
            "while it cannot be written, nothing is changed.",
        ),
    ] = None,
    sample_seconds: Annotated[
        float,
        typer.Option(
            "--sample-seconds",
            min=0.1,
            help="How often the lag of groups and of Spark's queries is noted, for charts over time; the "
            "page keeps the last 720 of them, and fewer where there are very many groups.",
        ),
    ] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Show the cluster in a browser: topics, records, groups and more. Its address is printed on stdout once
    it can be opened; it ends with Ctrl-C."""
    names = list(dict.fromkeys(profile or []))
    clusters: dict[str, ClusterSettings] = {}
    if len(names) > 1:
        _refuse_what_is_of_one_cluster(
            {
                "--bootstrap": named_bootstrap(bootstrap),
                "--command-config": named_file(command_config),
                "--registry-url": registry_url,
                "--listener": listener,
                "--checkpoint": checkpoint,
                "--faults": faults,
            }
        )
        clusters = {name: _cluster(None, None, setting, None, name) for name in names}
    with profiles.chosen(names[0] if names else None):
        one = ClusterSettings({}) if clusters else _cluster(bootstrap, command_config, setting, registry_url)
    run_page(
        UiSettings(
            client=one.client,
            registry=one.registry,
            registry_settings=one.registry_settings,
            clusters=clusters,
            host=host,
            port=port,
            faults=faults,
            listener=listener,
            checkpoints=tuple(checkpoint or ()),
            users=users,
            oidc=_oidc(
                oidc_issuer,
                oidc_client_id,
                oidc_scope,
                oidc_groups_claim,
                oidc_operator_group or [],
                oidc_admin_group or [],
            ),
            allows_writes=allow_writes,
            masked=tuple(mask or ()),
            allowed_hosts=tuple(allowed_host or ()),
            sample_seconds=sample_seconds,
            audit_log=audit_log,
            base_path=base_path,
            public_url=public_url,
            forwarded_allow_ips=tuple(
                each.strip() for each in (forwarded_allow_ips or "").split(",") if each.strip()
            ),
        ),
        as_json=as_json,
    )


def _cluster(
    bootstrap: str | None,
    command_config: Path | None,
    setting: list[str] | None,
    registry_url: str | None,
    profile: str | None = None,
) -> ClusterSettings:
    registry, of_registry = registry_settings(command_config, setting, registry_url, profile=profile)
    client = client_settings(CommonConfig, bootstrap, command_config, setting, profile=profile)
    return ClusterSettings(client, registry, of_registry)


def _refuse_what_is_of_one_cluster(options: Mapping[str, Any]) -> None:
    """Raises: UsageError."""
    given = [name for name, value in options.items() if value]
    if given:
        variable = next((f" (and {VARIABLES[name]} unset)" for name in given if name in VARIABLES), "")
        raise UsageError(
            f"{given[0]} is of one cluster, and several profiles are named: leave it out{variable}, or start "
            "a page for each cluster"
        )


def _oidc(
    issuer: str | None,
    client_id: str | None,
    scope: str,
    groups_claim: str,
    operator_groups: list[str],
    admin_groups: list[str],
) -> OidcSettings | None:
    if issuer is None:
        return None
    secret = os.environ.get(SECRET_VARIABLE)
    if client_id is None or not secret:
        missing = "--oidc-client-id" if client_id is None else SECRET_VARIABLE
        raise InvalidSettingError(
            f"--oidc-issuer needs {missing} as well: the issuer gives both to its clients"
        )
    return OidcSettings(
        issuer,
        client_id,
        Secret(secret),
        scope,
        groups_claim,
        tuple(operator_groups),
        tuple(admin_groups),
    )


def ui_user(
    name: Annotated[str, typer.Argument(help="The user's name.")],
    role: Annotated[
        str,
        typer.Option(
            "--role",
            help="What the user may do: a viewer changes nothing, an operator changes records and offsets, "
            "an admin everything.",
            autocompletion=completion.one_of(USER_ROLES),
        ),
    ] = "viewer",
) -> None:
    """Print the line of a user for the file of `barnabas ui --users`. The password is asked for, or is the
    first line of stdin."""
    from barnabas.registry_server.access import user_line

    print(user_line(name, role, new_password(), USER_ROLES))
    note(f"append it to the file of --users, and start the page again, so that it knows {name}")
