"""What `topics` shows of topics, as of one moment. Knows nothing of options and terminals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from barnabas import TopicPartition
from barnabas.cli.admin.common import ends_of
from barnabas.cli.groups.lags import lags_of
from barnabas.cli.names import matching
from barnabas.cli.topics.differences import TopicFacts
from barnabas.client.admin.types import ConfigResource, ConfigSource, ResourceType
from barnabas.errors import BarnabasError
from barnabas.types import PartitionInfo

if TYPE_CHECKING:
    from barnabas import Admin, TopicDescription

LISTED = ("topic", "partitions", "replicas", "records", "bytes", "groups")


def listed(admin: Admin, names: Sequence[str]) -> list[dict[str, Any]]:
    """By name, with the keys of `LISTED`. `bytes` is None where the client may not ask for it."""
    topics = [found for _, found in sorted(admin.describe_topics(names).items())] if names else []
    records = _records(admin, topics)
    sizes = _sizes(admin, topics)
    readers: defaultdict[str, list[str]] = defaultdict(list)
    for group, lag in sorted(lags_of(admin, admin.list_groups()).items()):
        for topic in lag.topics:
            readers[topic].append(group)
    return [
        {
            "topic": topic.name,
            "partitions": len(topic.partitions),
            "replicas": _replication_factor(topic),
            "records": records[topic.name],
            "bytes": None if sizes is None else sizes[topic.name],
            "groups": readers[topic.name],
        }
        for topic in topics
    ]


def facts(
    admin: Admin, names: Sequence[str] | None, pattern: str | None, *, with_records: bool
) -> dict[str, TopicFacts]:
    """Of the topics of this name that are there, or that match; without either, of all."""
    there = admin.list_topics()
    wanted = [name for name in there if not names or name in names]
    if pattern is not None:
        wanted = matching(there, pattern)
    if not wanted:
        return {}
    topics = list(admin.describe_topics(wanted).values())
    records = _records(admin, topics) if with_records else {}
    configs = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in wanted])
    return {
        topic.name: TopicFacts(
            len(topic.partitions),
            _replication_factor(topic),
            {
                name: (entry.value, entry.source is ConfigSource.DYNAMIC_TOPIC_CONFIG)
                for name, entry in configs[ConfigResource(ResourceType.TOPIC, topic.name)].items()
            },
            records.get(topic.name),
        )
        for topic in topics
    }


def described(
    admin: Admin, names: Sequence[str] | None, *, under_replicated: bool, unavailable: bool
) -> list[dict[str, Any]]:
    """Without `names` of all topics, Kafka's own as well; of those alone that have such partitions, where one
    is asked for."""

    def is_shown(info: PartitionInfo) -> bool:
        is_whole = len(info.in_sync_replicas) == len(info.replicas)
        return (not under_replicated or not is_whole) and (not unavailable or info.leader < 0)

    found = admin.describe_topics(names, internal=True)
    shown = [
        replace(found[name], partitions=tuple(filter(is_shown, found[name].partitions)))
        for name in names or sorted(found)
    ]
    is_filtered = under_replicated or unavailable
    return _descriptions(admin, [topic for topic in shown if topic.partitions or not is_filtered])


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
    configs = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic.name) for topic in topics])

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
                for name, entry in sorted(configs[ConfigResource(ResourceType.TOPIC, topic.name)].items())
                if not entry.is_default
            },
            "partitions": [partition(info) for info in topic.partitions],
        }
        for topic in topics
    ]


def _replication_factor(topic: TopicDescription) -> int:
    """The greatest, where partitions differ."""
    return max((len(info.replicas) for info in topic.partitions), default=0)


def _records(admin: Admin, topics: Sequence[TopicDescription]) -> dict[str, int]:
    """By topic, from the first offsets to the ends of those partitions that have a leader."""
    places = [TopicPartition(info.topic, info.partition) for topic in topics for info in topic.partitions]
    first, end = ends_of(admin, places, "earliest"), ends_of(admin, places)
    found = dict.fromkeys((topic.name for topic in topics), 0)
    for place in first.keys() & end.keys():
        found[place.topic] += max(end[place] - first[place], 0)
    return found


def _sizes(admin: Admin, topics: Sequence[TopicDescription]) -> dict[str, int] | None:
    """In bytes, by topic: the largest replica of each partition, as others may be behind. None where the
    client may not ask."""
    try:
        folders = admin.describe_log_dirs()
    except BarnabasError:
        return None
    of_partitions: defaultdict[TopicPartition, int] = defaultdict(int)
    for by_path in folders.values():
        for folder in by_path.values():
            for place, replica in folder.replicas.items():
                of_partitions[place] = max(of_partitions[place], replica.size_bytes)
    found = dict.fromkeys((topic.name for topic in topics), 0)
    for place, size in of_partitions.items():
        if place.topic in found:
            found[place.topic] += size
    return found
