"""Which topics a copy goes from and to, and the making of those that are missing. Copies no record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas import NewTopic
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.cli.options import UsageError
from barnabas.cli.output import note
from barnabas.client.admin.types import BROKER_DEFAULT, ConfigResource, ConfigSource, ResourceType
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Admin


@frozen
class CopyRoute:
    """One topic and where it goes."""

    source: str
    target: str
    partition_count: int
    target_partition_count: int | None
    """None where the target does not have the topic yet."""


def routes(
    source: Admin,
    target: Admin,
    topics: Sequence[str],
    renamed: Callable[[str], str],
    *,
    is_one_cluster: bool,
) -> list[CopyRoute]:
    """Raises: UsageError for a topic that would be copied into itself."""
    described = source.describe_topics(topics)
    names = {topic: renamed(topic) for topic in topics}
    existing = set(target.list_topics(internal=True))
    there = target.describe_topics(sorted(existing & set(names.values())))
    if is_one_cluster:
        for target_name in names.values():
            if target_name in names:
                raise UsageError(
                    f"topic {target_name!r} would be copied into itself, or read and written at once: give "
                    "--to, --rename, --rename-regex or --prefix"
                )
    return [
        CopyRoute(
            topic,
            name,
            len(described[topic].partitions),
            len(there[name].partitions) if name in there else None,
        )
        for topic, name in names.items()
    ]


def check(planned: Sequence[CopyRoute], *, keeps_partitions: bool, is_created: bool) -> None:
    """Raises: UsageError for a target that is missing, or has too few partitions."""
    for route in planned:
        count = route.target_partition_count
        if count is None and not is_created:
            raise UsageError(
                f"the target has no topic {route.target!r}: create it, or add --create-topics to have it "
                f"made as {route.source!r} is"
            )
        if keeps_partitions and count is not None and count < route.partition_count:
            raise UsageError(
                f"topic {route.target!r} has {count} of the {route.partition_count} partitions of "
                f"{route.source!r}: add some, or use --by-key to choose partitions by the keys"
            )


def create_missing(
    source: Admin, target: Admin, planned: Sequence[CopyRoute], replication_factor: int | None
) -> None:
    """With the partitions of their sources, and the settings that were made for these topics."""
    missing = {route.target: route for route in reversed(planned) if route.target_partition_count is None}
    for name, route in missing.items():
        counts = [each.partition_count for each in planned if each.target == name]
        configs = _configs(source, route.source)
        target.create_topics([NewTopic(name, max(counts), replication_factor or BROKER_DEFAULT, configs)])
        note(f"created topic {name}")


def with_added_partitions(target: Admin, planned: Sequence[CopyRoute]) -> list[CopyRoute]:
    """The same, once targets have as many partitions as their sources have come to."""
    return [_with_added_partitions(target, route) for route in planned]


def _with_added_partitions(target: Admin, route: CopyRoute) -> CopyRoute:
    count = route.target_partition_count
    if count is None or count >= route.partition_count:
        return route
    target.create_partitions({route.target: route.partition_count})
    note(f"added partitions to topic {route.target}, which has {route.partition_count} now")
    return replace(route, target_partition_count=route.partition_count)


def partition_counts(admin: Admin, topics: Sequence[str]) -> dict[str, int]:
    """Without topics that are gone."""
    existing = set(admin.list_topics(internal=True))
    try:
        described = admin.describe_topics(sorted(existing & set(topics)))
    except UnknownTopicOrPartitionError:
        return {}  # gone a moment ago: the next look finds those that are left
    return {name: len(topic.partitions) for name, topic in described.items()}


def _configs(admin: Admin, topic: str) -> Mapping[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    entries = admin.describe_configs([resource])[resource]
    return {
        name: entry.value
        for name, entry in entries.items()
        if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG and entry.value is not None
    }
