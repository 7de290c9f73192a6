"""How far moves of replicas are. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.admin.types import LogDirDescription, PartitionReassignment
from barnabas.types import TopicPartition


def bytes_left_of(
    moves: Mapping[TopicPartition, PartitionReassignment],
    folders: Mapping[int, Mapping[str, LogDirDescription]],
) -> dict[TopicPartition, int]:
    """What the new replicas do not have yet, all together, by the sizes of logs on disk. Partitions are left
    out of which no broker tells."""
    sizes = {
        (tp, broker): replica.size_bytes
        for broker, by_path in folders.items()
        for folder in by_path.values()
        for tp, replica in folder.replicas.items()
    }
    found: dict[TopicPartition, int] = {}
    for tp, move in moves.items():
        whole = max((sizes.get((tp, broker), 0) for broker in move.replicas), default=0)
        if any((tp, broker) in sizes for broker in move.replicas):
            found[tp] = sum(whole - sizes.get((tp, broker), 0) for broker in move.adding_replicas)
    return found
