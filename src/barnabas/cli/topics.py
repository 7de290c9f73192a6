"""`barnabas topics`: what the cluster's topics are, and changes to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import barnabas
from barnabas import TopicPartition
from barnabas.broker_errors import TopicAlreadyExistsError
from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, Yes, confirm, told_dry_run
from barnabas.cli.options import (
    AsJson,
    Bootstrap,
    CommandConfig,
    Settings,
    UsageError,
    client_settings,
    pairs,
)
from barnabas.cli.output import note, print_json, print_table
from barnabas.settings.table import AdminConfig

if TYPE_CHECKING:
    from barnabas import Admin, TopicDescription
from barnabas.types import PartitionInfo

app = typer.Typer(help="List, describe, create, alter and delete topics.", no_args_is_help=True)

Topic = Annotated[str, typer.Argument(help="The topic.", autocompletion=completion.topics)]
Topics = Annotated[list[str], typer.Argument(help="The topics.", autocompletion=completion.topics)]
Config = Annotated[
    list[str] | None, typer.Option("--config", "-c", metavar="NAME=VALUE", help="A setting of the topic.")
]


@app.command("list")
def list_topics(
    internal: Annotated[bool, typer.Option("--internal", help="Kafka's own topics as well.")] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the names of all topics."""
    settings = client_settings(AdminConfig, bootstrap, command_config, setting)
    with barnabas.Admin(**settings) as admin:
        names = admin.list_topics(internal=internal)
    if as_json:
        print_json(names)
    else:
        for name in names:
            print(name)


@app.command()
def create(
    topic: Topic,
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", "-p", min=1, help="How many; the broker's default if left out."),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option("--replication-factor", "-r", min=1, help="The broker's default if left out."),
    ] = None,
    config: Config = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do nothing if the topic is there.")
    ] = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Create a topic."""
    # Here and not above: no help waits for what administers.
    from barnabas.client.admin.types import BROKER_DEFAULT

    wanted = barnabas.NewTopic(
        topic, partitions or BROKER_DEFAULT, replication_factor or BROKER_DEFAULT, pairs(config, "--config")
    )
    settings = client_settings(AdminConfig, bootstrap, command_config, setting)
    with barnabas.Admin(**settings) as admin:
        try:
            admin.create_topics([wanted], validate_only=dry_run)
        except TopicAlreadyExistsError:
            if not if_not_exists:
                raise
            note(f"topic {topic} is there already")
        else:
            if dry_run:
                told_dry_run(f"create topic {topic}")
            else:
                note(f"created topic {topic}")


@app.command()
def describe(
    topics: Annotated[
        list[str] | None,
        typer.Argument(help="The topics; all if left out.", autocompletion=completion.topics),
    ] = None,
    under_replicated: Annotated[
        bool, typer.Option("--under-replicated", help="Only partitions with replicas that are not in sync.")
    ] = False,
    unavailable: Annotated[
        bool, typer.Option("--unavailable", help="Only partitions without a leader.")
    ] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the partitions, their offsets, and the settings that are not defaults."""
    settings = client_settings(AdminConfig, bootstrap, command_config, setting)
    with barnabas.Admin(**settings) as admin:
        described = admin.describe_topics(topics or None, internal=True)

        def is_shown(info: PartitionInfo) -> bool:
            is_whole = len(info.in_sync_replicas) == len(info.replicas)
            return (not under_replicated or not is_whole) and (not unavailable or info.leader < 0)

        shown = [
            replace(described[name], partitions=tuple(filter(is_shown, described[name].partitions)))
            for name in topics or sorted(described)
        ]
        is_filtered = under_replicated or unavailable
        found = _descriptions(admin, [topic for topic in shown if topic.partitions or not is_filtered])
    if as_json:
        print_json(found)
        return
    for topic in found:
        print(f"{topic['name']}  (id {topic['topic_id']})")
        for name, value in topic["configs"].items():
            print(f"  {name}={value}")
        columns = ["PARTITION", "LEADER", "REPLICAS", "IN SYNC", "FIRST OFFSET", "END OFFSET"]
        keys = ["partition", "leader", "replicas", "in_sync_replicas", "first_offset", "end_offset"]
        print_table(columns, [[_cell(row[key]) for key in keys] for row in topic["partitions"]])


@app.command()
def alter(
    topic: Topic,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, help="The new number, more than before.")
    ] = None,
    config: Config = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option(
            "--delete-config",
            metavar="NAME",
            help="Back to the broker's default.",
            autocompletion=completion.topic_configs,
        ),
    ] = None,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Add partitions, or change settings. Settings that are not named stay as they are."""
    changes: dict[str, str | None] = {**pairs(config, "--config"), **dict.fromkeys(delete_config or ())}
    if partitions is None and not changes:
        raise UsageError("nothing to alter: give --partitions, --config or --delete-config")
    settings = client_settings(AdminConfig, bootstrap, command_config, setting)
    with barnabas.Admin(**settings) as admin:
        if changes:
            admin.alter_configs(
                {barnabas.ConfigResource(barnabas.ResourceType.TOPIC, topic): changes}, validate_only=dry_run
            )
        if partitions is not None:
            admin.create_partitions({topic: partitions}, validate_only=dry_run)
    if dry_run:
        told_dry_run(f"alter topic {topic}")
    else:
        note(f"altered topic {topic}")


@app.command()
def delete(
    topics: Topics,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Delete topics, with all their records."""
    settings = client_settings(AdminConfig, bootstrap, command_config, setting)
    with barnabas.Admin(**settings) as admin:
        admin.describe_topics(topics)
        if dry_run:
            note(f"would delete {', '.join(topics)}")
            told_dry_run()
            return
        confirm(f"delete {', '.join(topics)} with all records", is_sure=yes)
        admin.delete_topics(topics)
    note(f"deleted {', '.join(topics)}")


def _descriptions(admin: Admin, topics: Sequence[TopicDescription]) -> list[dict[str, Any]]:
    """Offsets are None where there is no leader to tell them."""
    led = [
        TopicPartition(topic.name, info.partition)
        for topic in topics
        for info in topic.partitions
        if info.leader >= 0
    ]
    first = admin.list_offsets(dict.fromkeys(led, "earliest"))
    end = admin.list_offsets(dict.fromkeys(led, "latest"))
    configs = admin.describe_configs(
        [barnabas.ConfigResource(barnabas.ResourceType.TOPIC, topic.name) for topic in topics]
    )

    def partition(info: PartitionInfo) -> dict[str, Any]:
        place = TopicPartition(info.topic, info.partition)
        return {
            "partition": info.partition,
            "leader": info.leader if info.leader >= 0 else None,
            "replicas": list(info.replicas),
            "in_sync_replicas": list(info.in_sync_replicas),
            "first_offset": first[place].offset if place in first else None,
            "end_offset": end[place].offset if place in end else None,
        }

    return [
        {
            "name": topic.name,
            "topic_id": str(topic.topic_id),
            "is_internal": topic.is_internal,
            "configs": {
                name: entry.value
                for name, entry in sorted(
                    configs[barnabas.ConfigResource(barnabas.ResourceType.TOPIC, topic.name)].items()
                )
                if not entry.is_default
            },
            "partitions": [partition(info) for info in topic.partitions],
        }
        for topic in topics
    ]


def _cell(value: int | list[int] | None) -> int | str | None:
    return ",".join(map(str, value)) if isinstance(value, list) else value
