"""`barnabas log-dirs`: the folders in which brokers keep replicas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas import TopicPartition
from barnabas.cli import completion
from barnabas.cli.admin.common import (
    STATUS_OF_WHAT_IS_NOT_DONE,
    DryRun,
    KeepThrottle,
    admin_client,
    partitions_in,
    told_dry_run,
)
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import nearest, note, plural, print_rows
from barnabas.client.admin.types import ConfigResource, ResourceType, TopicPartitionReplica

if TYPE_CHECKING:
    from barnabas import Admin

app = typer.Typer(
    help="Show the sizes of folders and replicas on disk, and move replicas between folders.",
    no_args_is_help=True,
)

_THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
"""A broker's setting, which kafka-reassign-partitions sets and takes off, too."""

Broker = Annotated[
    list[int] | None,
    typer.Option(
        "--broker",
        metavar="ID",
        help="Only the broker of this id (repeatable).",
        autocompletion=completion.brokers,
    ),
]


@app.command("list")
def list_log_dirs(
    broker: Broker = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the folders, what is in them, and how much there is on their disks."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_log_dirs(broker)
    rows = [
        (
            node_id,
            path,
            len(folder.replicas),
            sum(replica.size_bytes for replica in folder.replicas.values()),
            folder.total_bytes,
            folder.usable_bytes,
            None if folder.error is None else str(folder.error),
        )
        for node_id in sorted(found)
        for path, folder in sorted(found[node_id].items())
    ]
    columns = ("broker", "path", "replicas", "size_bytes", "total_bytes", "usable_bytes", "error")
    print_rows(columns, rows, as_json=as_json)


@app.command()
def replicas(
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:0,1]",
            help="Only this topic, or some of its partitions (repeatable).",
            autocompletion=completion.topics,
        ),
    ] = None,
    broker: Broker = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the size of each replica, and how far it is behind."""
    with admin_client(bootstrap, command_config, setting) as admin:
        partitions = partitions_in(admin, topic, "--topic") if topic else None
        found = admin.describe_log_dirs(broker, partitions=partitions)
    rows = [
        (tp.topic, tp.partition, node_id, path, replica.size_bytes, replica.offset_lag, is_future)
        for node_id, folders in found.items()
        for path, folder in folders.items()
        for is_future, held in ((False, folder.replicas), (True, folder.future_replicas))
        for tp, replica in held.items()
    ]
    columns = ("topic", "partition", "broker", "path", "size_bytes", "offset_lag", "moves_here")
    print_rows(columns, sorted(rows), as_json=as_json)


@app.command()
def move(
    topic: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC[:0,1]...",
            help="Topics, or some of their partitions.",
            autocompletion=completion.topics,
        ),
    ],
    broker: Annotated[
        int,
        typer.Option(
            "--broker", help="The id of the broker that has the replicas.", autocompletion=completion.brokers
        ),
    ],
    path: Annotated[str, typer.Option("--to", metavar="PATH", help="The folder, as list prints it.")],
    throttle: Annotated[
        int | None,
        typer.Option(
            "--throttle",
            metavar="BYTES/S",
            min=1,
            help="How many bytes a second the broker moves between its folders at most, until verify takes "
            "that off.",
        ),
    ] = None,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Begin to move replicas to another folder of their broker.

    Started again with another --throttle while replicas move, it changes how fast they do.

    For example: barnabas log-dirs move orders:0 --broker 1 --to /var/kafka/2 --throttle 10000000
    """
    with admin_client(bootstrap, command_config, setting) as admin:
        partitions: list[TopicPartition] = partitions_in(admin, topic, "TOPIC")
        names = ", ".join(map(str, partitions))
        # A throttle is set first, which a move that cannot begin would leave behind.
        if dry_run or throttle is not None:
            _check_can_move(admin, partitions, broker, path)
        if dry_run:
            if throttle is not None:
                note(f"would let broker {broker} move {throttle} bytes a second at most between its folders")
            told_dry_run(f"move {names} of broker {broker} to {path}")
            return
        if throttle is not None:
            _set_throttle(admin, [broker], str(throttle))
            note(f"broker {broker} moves {throttle} bytes a second at most between its folders")
        admin.alter_replica_log_dirs(
            {TopicPartitionReplica(tp.topic, tp.partition, broker): path for tp in partitions}
        )
    note(f"{names} of broker {broker} move to {path}; see barnabas log-dirs verify")


@app.command()
def verify(
    broker: Broker = None,
    keep_throttle: KeepThrottle = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the moves between folders that are under way, and take the throttle off brokers that have none.

    The exit status is 0 if nothing moves, and 3 if something does.

    For example: barnabas log-dirs verify --broker 1
    """
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_log_dirs(broker)
        sizes = {
            (node_id, tp): (path, replica.size_bytes)
            for node_id, folders in found.items()
            for path, folder in folders.items()
            for tp, replica in folder.replicas.items()
        }
        rows: list[tuple[str, int, int, str | None, str, int | None]] = []
        for node_id, folders in found.items():
            for new_path, folder in folders.items():
                for tp, replica in folder.future_replicas.items():
                    path, size = sizes.get((node_id, tp), (None, None))
                    left = None if size is None else max(0, size - replica.size_bytes)
                    rows.append((tp.topic, tp.partition, node_id, path, new_path, left))
        columns = ("topic", "partition", "broker", "path", "new_path", "bytes_left")
        print_rows(columns, sorted(rows, key=lambda row: row[:3]), as_json=as_json)
        busy = {row[2] for row in rows}
        if busy:
            note(f"{plural(len(rows), 'replica')} still move: any throttle of {_brokers(busy)} stays")
        idle = found.keys() - busy
        if idle and not keep_throttle:
            if dry_run:
                told_dry_run(f"take the throttle of moves between folders off {_brokers(idle)}")
            else:
                _set_throttle(admin, idle, None)
                note(f"no throttle holds moves between folders of {_brokers(idle)} any more")
    if rows:
        raise typer.Exit(STATUS_OF_WHAT_IS_NOT_DONE)


def _check_can_move(admin: Admin, partitions: list[TopicPartition], broker: int, path: str) -> None:
    """Raises: UsageError (names the folder, or the partition)."""
    folders = admin.describe_log_dirs([broker])[broker]
    if path not in folders:
        raise UsageError(f"broker {broker} has no folder {path!r}{nearest(path, folders)}")
    held = {tp for folder in folders.values() for tp in folder.replicas}
    for tp in partitions:
        if tp not in held:
            raise UsageError(f"broker {broker} has no replica of {tp}")


def _set_throttle(admin: Admin, brokers: Iterable[int], bytes_per_second: str | None) -> None:
    """`None` takes it off."""
    admin.alter_configs(
        {
            ConfigResource(ResourceType.BROKER, str(each)): {_THROTTLE: bytes_per_second}
            for each in sorted(brokers)
        }
    )


def _brokers(found: set[int]) -> str:
    return f"{'broker' if len(found) == 1 else 'brokers'} {', '.join(map(str, sorted(found)))}"
