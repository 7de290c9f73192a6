"""The options of commands that are about two clusters, the second one named by `--to-...`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from barnabas.cli import profiles
from barnabas.cli.options import settings_of_one
from barnabas.settings.table import CommonConfig
from barnabas.values import frozen

ToBootstrap = Annotated[
    str | None, typer.Option("--to-bootstrap", metavar="HOST:PORT", help="Brokers of the other cluster.")
]
ToProfile = Annotated[
    str | None,
    typer.Option(
        "--to-profile",
        metavar="NAME",
        help="The other cluster, one of `barnabas profile`.",
        autocompletion=profiles.complete,
    ),
]
ToCommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--to-command-config",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="A properties file of settings for the other cluster.",
    ),
]
ToSetting = Annotated[
    list[str] | None,
    typer.Option("--to-setting", metavar="NAME=VALUE", help="A setting of the other cluster's clients."),
]


@frozen
class ClusterAddress:
    """How one of the two clusters is reached."""

    bootstrap: str | None
    command_config: Path | None
    setting: Sequence[str] | None
    profile: str | None = None

    def settings(self, kind: type[CommonConfig]) -> dict[str, Any]:
        return settings_of_one(kind, self.bootstrap, self.command_config, self.setting, profile=self.profile)


def other_cluster(
    to_bootstrap: str | None,
    to_profile: str | None,
    to_command_config: Path | None,
    to_setting: Sequence[str] | None,
) -> ClusterAddress | None:
    """None where no option but --to-setting names one."""
    if all(given is None for given in (to_bootstrap, to_profile, to_command_config)):
        return None
    return ClusterAddress(to_bootstrap, to_command_config, to_setting, to_profile or profiles.NO_PROFILE)
