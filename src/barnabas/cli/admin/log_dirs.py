"""`barnabas log-dirs`: the folders in which brokers keep replicas."""

from __future__ import annotations

from typing import Annotated

import typer

from barnabas import TopicPartition
from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, admin_client, partitions_in, told_dry_run
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import nearest, note, print_rows
from barnabas.client.admin.types import TopicPartitionReplica

app = typer.Typer(
    help="Show the sizes of folders and replicas on disk, and move replicas between folders.",
    no_args_is_help=True,
)

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
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Begin to move replicas to another folder of their broker.

    For example: barnabas log-dirs move orders:0 --broker 1 --to /var/kafka/2
    """
    with admin_client(bootstrap, command_config, setting) as admin:
        partitions: list[TopicPartition] = partitions_in(admin, topic, "TOPIC")
        if dry_run:
            folders = admin.describe_log_dirs([broker])[broker]
            if path not in folders:
                raise UsageError(f"broker {broker} has no folder {path!r}{nearest(path, folders)}")
            held = {tp for folder in folders.values() for tp in folder.replicas}
            for tp in partitions:
                if tp not in held:
                    raise UsageError(f"broker {broker} has no replica of {tp}")
            told_dry_run(f"move {', '.join(map(str, partitions))} of broker {broker} to {path}")
            return
        admin.alter_replica_log_dirs(
            {TopicPartitionReplica(tp.topic, tp.partition, broker): path for tp in partitions}
        )
    note(f"{', '.join(map(str, partitions))} of broker {broker} move to {path}")
