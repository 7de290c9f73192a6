"""`barnabas ui`: the page for a browser, on any Kafka."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.options import (
    AsJson,
    Bootstrap,
    CommandConfig,
    Settings,
    client_settings,
    registry_settings,
)
from barnabas.cli.running.foreground import run_page
from barnabas.credentials import Secret
from barnabas.errors import InvalidSettingError
from barnabas.settings.table import CommonConfig
from barnabas.ui.settings import OidcSettings, UiSettings

DEFAULT_UI_PORT = 8080
SECRET_VARIABLE = "BARNABAS_OIDC_CLIENT_SECRET"

AllowWrites = Annotated[
    bool, typer.Option("--allow-writes", help="Let the page change things; without this it only reads.")
]
Mask = Annotated[
    list[str] | None,
    typer.Option(
        "--mask",
        metavar="NAME",
        help="A field or header whose values are not shown (may be repeated); '*' for all values. A value "
        "that is no JSON and has no schema is then not shown at all.",
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
            help="A name by which browsers may call the page, besides --host (may be repeated).",
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
            "s3://bucket/delays (may be repeated).",
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
            help="Basic authentication, by a file that `barnabas registry-user` writes; who has the role "
            "read changes nothing.",
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
    oidc_write_group: Annotated[
        list[str] | None,
        typer.Option(
            "--oidc-write-group",
            metavar="NAME",
            help="A group whose members may change things, with --allow-writes (may be repeated); all others "
            "read.",
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            "--public-url",
            metavar="URL",
            help="The page's address as browsers see it, where a proxy is before it: the issuer sends them "
            "back there.",
        ),
    ] = None,
    allow_writes: AllowWrites = False,
    mask: Mask = None,
    as_json: AsJson = False,
) -> None:
    """Show the cluster in a browser: topics, records, groups and more. Its address is printed on stdout once
    it can be opened; it ends with Ctrl-C."""
    registry, of_registry = registry_settings(command_config, setting, registry_url)
    run_page(
        UiSettings(
            client=client_settings(CommonConfig, bootstrap, command_config, setting),
            host=host,
            port=port,
            registry=registry,
            registry_settings=of_registry,
            faults=faults,
            listener=listener,
            checkpoints=tuple(checkpoint or ()),
            users=users,
            oidc=_oidc(
                oidc_issuer, oidc_client_id, oidc_scope, oidc_groups_claim, oidc_write_group or [], public_url
            ),
            allows_writes=allow_writes,
            masked=tuple(mask or ()),
            allowed_hosts=tuple(allowed_host or ()),
        ),
        as_json=as_json,
    )


def _oidc(
    issuer: str | None,
    client_id: str | None,
    scope: str,
    groups_claim: str,
    write_groups: list[str],
    public_url: str | None,
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
        issuer, client_id, Secret(secret), scope, groups_claim, tuple(write_groups), public_url
    )
