"""`barnabas cluster`, `brokers`, `quorum` and `features`: what the cluster is made of."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, Yes, admin_client, confirm, told_dry_run, word_of
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import note, print_json, print_rows
from barnabas.client.admin.types import FeatureUpdate, QuorumReplica, RaftVoterEndpoint, UpgradeType

brokers = typer.Typer(
    help="List brokers and the APIs that they speak, and forget those that are gone.", no_args_is_help=True
)
quorum = typer.Typer(
    help="Describe the controllers that keep the cluster's metadata, and add and remove voters.",
    no_args_is_help=True,
)
features = typer.Typer(help="List, raise and lower the levels of features.", no_args_is_help=True)


def cluster(
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the cluster's id, its controller, how many brokers it has, and what this client may do."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_cluster(include_authorized_operations=True)
    operations = found.authorized_operations
    summary: dict[str, Any] = {
        "cluster_id": found.cluster_id,
        "controller": None if found.controller is None else found.controller.node_id,
        "brokers": len(found.nodes),
        "authorized_operations": None if operations is None else sorted(map(word_of, operations)),
    }
    if as_json:
        print_json(summary)
        return
    for name, value in summary.items():
        text = ", ".join(value) if name == "authorized_operations" and value else value
        print(f"{name.replace('_', ' ')}: {'-' if text is None else text}")


@brokers.command("list")
def list_brokers(
    fenced: Annotated[
        bool,
        typer.Option(
            "--fenced", help="Also brokers that are registered but do not serve (Kafka 4.1 and later)."
        ),
    ] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the brokers, with their addresses and racks."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_cluster(include_fenced_brokers=fenced)
    rows = [
        (
            node.node_id,
            node.host,
            node.port,
            node.rack,
            found.controller is not None and node.node_id == found.controller.node_id,
            node.node_id in found.fenced,
        )
        for node in found.nodes
    ]
    print_rows(("id", "host", "port", "rack", "controller", "fenced"), rows, as_json=as_json)


@brokers.command("api-versions")
def api_versions(
    broker: Annotated[
        int | None,
        typer.Option(
            "--broker", help="Only this broker; all if left out.", autocompletion=completion.brokers
        ),
    ] = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print which versions of each API brokers speak. Those that all speak alike have one row."""
    with admin_client(bootstrap, command_config, setting) as admin:
        ids = [node.node_id for node in admin.describe_cluster().nodes] if broker is None else [broker]
        found = {each: admin.describe_api_versions(node_id=each) for each in ids}
    rows: list[tuple[Any, ...]] = []
    for api in sorted({api for versions in found.values() for api in versions}):
        spoken = {each: versions.get(api) for each, versions in found.items()}
        if len(set(spoken.values())) == 1:
            rows.append((api, ids, *(spoken[ids[0]] or (None, None))))
        else:
            rows += [(api, [each], *(versions or (None, None))) for each, versions in spoken.items()]
    print_rows(("api", "brokers", "lowest", "highest"), rows, as_json=as_json)


@brokers.command()
def unregister(
    broker: Annotated[int, typer.Argument(help="The broker's id.", autocompletion=completion.brokers)],
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Forget a broker that will not come back."""
    what = f"forget broker {broker}"
    with admin_client(bootstrap, command_config, setting) as admin:
        if dry_run:
            if broker not in {
                node.node_id for node in admin.describe_cluster(include_fenced_brokers=True).nodes
            }:
                raise UsageError(f"no broker {broker} is registered")
            told_dry_run(what)
            return
        confirm(what, is_sure=yes)
        admin.unregister_broker(broker)
    note(f"broker {broker} is forgotten")


@quorum.command()
def describe(
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print voters and observers, and how far behind each is."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_metadata_quorum()
    leaders_end = max((r.log_end_offset for r in found.voters if r.replica_id == found.leader_id), default=0)
    rows = [
        (
            replica.replica_id,
            "leader" if replica.replica_id == found.leader_id else role,
            replica.log_end_offset,
            max(0, leaders_end - replica.log_end_offset),
            replica.last_caught_up_timestamp,
            str(replica.replica_directory_id),
        )
        for role, replicas in (("voter", found.voters), ("observer", found.observers))
        for replica in replicas
    ]
    columns = ("id", "role", "end_offset", "lag", "caught_up_at_ms", "directory_id")
    if as_json:
        print_json(
            {
                "leader": found.leader_id,
                "leader_epoch": found.leader_epoch,
                "high_watermark": found.high_watermark,
                "replicas": [dict(zip(columns, row, strict=True)) for row in rows],
            }
        )
        return
    print(f"leader {found.leader_id}, epoch {found.leader_epoch}, high watermark {found.high_watermark}")
    print_rows(columns, rows, as_json=False)


@quorum.command()
def add(
    voter: Annotated[int, typer.Argument(help="The controller's id.")],
    directory_id: Annotated[
        str, typer.Argument(help="The id of the folder of its metadata, as describe prints it.")
    ],
    endpoint: Annotated[
        list[str],
        typer.Option(
            "--endpoint", metavar="LISTENER://HOST:PORT", help="The address at which it listens (repeatable)."
        ),
    ],
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Make a controller a voter that was an observer."""
    endpoints = [_endpoint(text) for text in endpoint]
    directory = _directory(directory_id)
    with admin_client(bootstrap, command_config, setting) as admin:
        if dry_run:
            if (voter, directory) not in _replicas(admin.describe_metadata_quorum().observers):
                raise UsageError(f"no controller {voter} with this folder follows")
            told_dry_run(f"make controller {voter} a voter")
            return
        admin.add_raft_voter(voter, directory, endpoints)
    note(f"controller {voter} is a voter")


@quorum.command()
def remove(
    voter: Annotated[int, typer.Argument(help="The controller's id.")],
    directory_id: Annotated[
        str, typer.Argument(help="The id of the folder of its metadata, as describe prints it.")
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Remove a controller from the voters."""
    directory = _directory(directory_id)
    what = f"take controller {voter} out of the voters"
    with admin_client(bootstrap, command_config, setting) as admin:
        if dry_run:
            if (voter, directory) not in _replicas(admin.describe_metadata_quorum().voters):
                raise UsageError(f"no controller {voter} with this folder is a voter")
            told_dry_run(what)
            return
        confirm(what, is_sure=yes)
        admin.remove_raft_voter(voter, directory)
    note(f"controller {voter} is no voter any more")


@features.command("list")
def list_features(
    broker: Annotated[
        int | None,
        typer.Option(
            "--broker",
            help="What this broker supports; any of them if left out.",
            autocompletion=completion.brokers,
        ),
    ] = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the features that brokers support, and the levels that the cluster has settled on."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_features(node_id=broker)
    rows = [
        (
            name,
            None if (level := found.finalized.get(name)) is None else level.highest,
            None if (known := found.supported.get(name)) is None else known.lowest,
            None if known is None else known.highest,
        )
        for name in sorted({*found.finalized, *found.supported})
    ]
    print_rows(("feature", "level", "lowest", "highest"), rows, as_json=as_json)


@features.command()
def update(
    feature: Annotated[
        str,
        typer.Argument(
            help="The feature, metadata.version for instance.", autocompletion=completion.features
        ),
    ],
    level: Annotated[int, typer.Argument(min=0, help="The new level; 0 turns it off.")],
    downgrade: Annotated[
        bool, typer.Option("--downgrade", help="Let the new level be lower than the current one.")
    ] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="As --downgrade, even where metadata is lost.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Raise the level of a feature, or lower it.

    For example: barnabas features update metadata.version 25 --dry-run
    """
    kind = (
        UpgradeType.UNSAFE_DOWNGRADE
        if unsafe
        else UpgradeType.SAFE_DOWNGRADE
        if downgrade
        else UpgradeType.UPGRADE
    )
    if not dry_run:
        confirm(f"set {feature} to {level}", is_sure=yes)
    with admin_client(bootstrap, command_config, setting) as admin:
        admin.update_features({feature: FeatureUpdate(level, kind)}, validate_only=dry_run)
    if dry_run:
        told_dry_run()
    else:
        note(f"{feature} has level {level}")


def _replicas(replicas: Iterable[QuorumReplica]) -> set[tuple[int, uuid.UUID]]:
    return {(each.replica_id, each.replica_directory_id) for each in replicas}


def _endpoint(text: str) -> RaftVoterEndpoint:
    listener, found, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not found or not colon or not port.isdecimal():
        raise UsageError(f"--endpoint {text!r} is not LISTENER://HOST:PORT")
    return RaftVoterEndpoint(listener, host.strip("[]"), int(port))


def _directory(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise UsageError(f"{text!r} is no id of a folder, as quorum describe prints it") from None
