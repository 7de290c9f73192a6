"""Which nodes get the replicas of partitions: those that a request names, checked, or such as spread the
load.

Pure. Must not know topics or logs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest

from barnabas.broker_errors import InvalidReplicaAssignmentError, InvalidReplicationFactorError

DEFAULT = -1


def check_assignment(replicas: Sequence[int], registered: Collection[int]) -> None:
    """Raises: InvalidReplicaAssignmentError."""
    if not replicas:
        raise InvalidReplicaAssignmentError("The manual partition assignment includes an empty replica list.")
    ordered = sorted(replicas)
    for place, replica in enumerate(ordered):
        if replica not in registered:
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment includes broker {replica}, "
                "but no such broker is registered."
            )
        if replica in ordered[:place]:
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment includes the broker {replica} more than once."
            )


def check_assignments(
    assignments: Sequence[Sequence[int]], registered: Collection[int], alive: Collection[int], first: int = 0
) -> None:
    """Of the partitions from `first` on. Raises: InvalidReplicaAssignmentError."""
    for index, replicas in enumerate(assignments, first):
        check_assignment(replicas, registered)
        if len(replicas) != len(assignments[0]):
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but "
                "this is not consistent with previous partitions, which have "
                f"{len(assignments[0])} replica(s)."
            )
        if not any(replica in alive for replica in replicas):
            raise InvalidReplicaAssignmentError(
                "All brokers specified in the manual partition assignment for partition "
                f"{index} are fenced or in controlled shutdown."
            )


def check_replication_factor(
    replication_factor: int, registered: Collection[int], alive: Collection[int]
) -> None:
    """Raises: InvalidReplicationFactorError."""
    if replication_factor < 1:
        raise InvalidReplicationFactorError(
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
    reason = ""
    if not alive:
        reason = "All brokers are currently fenced, or have all their log directories cordoned."
    elif replication_factor > len(registered):
        reason = (
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(registered)} broker(s) are registered or some brokers have all their log directories "
            "cordoned."
        )
    if reason:
        raise InvalidReplicationFactorError(
            f"Unable to replicate the partition {replication_factor} time(s): {reason}"
        )


def spread(
    partition_count: int,
    replication_factor: int,
    racks: Mapping[int, str | None],
    alive: Collection[int],
    first: int = 0,
) -> list[list[int]]:
    """Leaders go round the living nodes from place `first` on, the other replicas to other racks first, and
    to nodes that are away only when there are no others."""
    order = _across_racks(racks)
    living = [node for node in order if node in alive]
    away = [node for node in order if node not in alive]
    assignments: list[list[int]] = []
    for index in range(first, first + partition_count):
        place, turn = index % len(living), index // len(living)
        leader, rest = living[place], living[place + 1 :] + living[:place]
        # Who follows whom differs from one round to the next, so that no pair has all the load.
        shift = turn % len(rest) if rest else 0
        rest = rest[shift:] + rest[:shift]
        chosen = [leader]
        for node in sorted(rest + away, key=lambda node: node in away):
            if len(chosen) < replication_factor and racks[node] not in {racks[other] for other in chosen}:
                chosen.append(node)
        chosen += [node for node in rest + away if node not in chosen]
        assignments.append(chosen[:replication_factor])
    return assignments


def _across_racks(racks: Mapping[int, str | None]) -> list[int]:
    """Nodes in an order in which neighbours are in different racks, as far as there are any."""
    by_rack: dict[str | None, list[int]] = {}
    for node in sorted(racks):
        by_rack.setdefault(racks[node], []).append(node)
    return [node for row in zip_longest(*by_rack.values()) for node in row if node is not None]
