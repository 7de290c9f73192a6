"""Which replicas are to be on which brokers: made for a list of brokers, or read from a file of Kafka's tool.

Knows nothing of moves that are under way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas import TopicPartition
from barnabas.cli.options import UsageError

if TYPE_CHECKING:
    from barnabas import Admin

Replicas = dict[TopicPartition, list[int]]
_ANY_FOLDER = "any"


def replicas_now(admin: Admin, partitions: Sequence[TopicPartition]) -> Replicas:
    """Raises: UsageError for a partition that is not there."""
    described = admin.describe_topics(list(dict.fromkeys(tp.topic for tp in partitions)))
    found = {
        TopicPartition(topic.name, info.partition): list(info.replicas)
        for topic in described.values()
        for info in topic.partitions
    }
    for tp in partitions:
        if tp not in found:
            raise UsageError(f"topic {tp.topic!r} has no partition {tp.partition}")
    return {tp: found[tp] for tp in partitions}


def racks_of(admin: Admin, brokers: Sequence[int]) -> dict[int, str | None]:
    """Raises: UsageError for a broker that is not in the cluster."""
    nodes = {node.node_id: node.rack for node in admin.describe_cluster().nodes}
    for broker in brokers:
        if broker not in nodes:
            there = ", ".join(map(str, sorted(nodes)))
            raise UsageError(f"there is no broker {broker}: those of the cluster are {there}")
    return {broker: nodes[broker] for broker in brokers}


def spread(now: Replicas, racks: Mapping[int, str | None], replication_factor: int | None) -> Replicas:
    """Leaders and followers in turn over these brokers. Where all of them have racks, the replicas of a
    partition are in as many as there are. Raises: UsageError."""
    order = _across_racks(racks)
    has_racks = None not in racks.values()
    wanted: Replicas = {}
    for index, (tp, replicas) in enumerate(now.items()):
        count = replication_factor or len(replicas)
        if count > len(order):
            raise UsageError(f"{tp} has {count} replicas, and --brokers names {len(order)}")
        # After each round the followers stand in another order, so that not always the same pairs form.
        step = 1 + index // len(order) % max(1, len(order) - 1)
        chosen = [order[index % len(order)]]
        others = [
            order[(index + step + offset) % len(order)]
            for offset in range(len(order))
            if (step + offset) % len(order)
        ]
        if has_racks:
            for broker in others:
                if racks[broker] not in {racks[other] for other in chosen}:
                    chosen.append(broker)
        chosen += [broker for broker in others if broker not in chosen]
        wanted[tp] = chosen[:count]
    return wanted


def _across_racks(racks: Mapping[int, str | None]) -> list[int]:
    """Brokers in an order in which neighbours are in different racks, as far as there are any."""
    by_rack: dict[str | None, list[int]] = {}
    for broker, rack in racks.items():
        by_rack.setdefault(rack, []).append(broker)
    return [broker for row in zip_longest(*by_rack.values()) for broker in row if broker is not None]


def in_file(path: Path) -> Replicas:
    """What a file says in the JSON of kafka-reassign-partitions. Raises: UsageError."""
    try:
        found: Any = json.loads(path.read_text())
        read = [
            (
                TopicPartition(str(each["topic"]), int(each["partition"])),
                [int(broker) for broker in each["replicas"]],
                {str(folder) for folder in each.get("log_dirs", ())},
            )
            for each in found["partitions"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f'{str(path)!r} is not {{"partitions": [{{"topic": "t", "partition": 0, "replicas": [1, 2]}}]}}: '
            f"{error!r}"
        ) from None
    wanted: Replicas = {}
    for tp, replicas, folders in read:
        if tp in wanted:
            raise UsageError(f"{str(path)!r} has {tp} twice")
        if folders - {_ANY_FOLDER}:
            raise UsageError(
                f"{str(path)!r} names folders (log_dirs) of {tp}: leave them out, and move replicas between "
                "folders by barnabas log-dirs move"
            )
        wanted[tp] = replicas
    if not wanted:
        raise UsageError(f"{str(path)!r} names no partitions")
    return wanted


def for_file(replicas: Replicas) -> dict[str, Any]:
    """The JSON that `in_file` and kafka-reassign-partitions read."""
    partitions = [
        {"topic": tp.topic, "partition": tp.partition, "replicas": brokers}
        for tp, brokers in sorted(replicas.items())
    ]
    return {"version": 1, "partitions": partitions}
