"""Which nodes get the replicas of a partition: those that a request names, checked, or such as spread the
load.

Pure. Must not know topics or logs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from barnabas.broker_errors import InvalidReplicaAssignmentError


def check_assignment(replicas: Sequence[int], registered: Collection[int]) -> None:
    """Raises: InvalidReplicaAssignmentError."""
    if not replicas:
        raise InvalidReplicaAssignmentError("The manual partition assignment includes an empty replica list.")
    for place, replica in enumerate(sorted(replicas)):
        if replica not in registered:
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment includes broker {replica}, "
                "but no such broker is registered."
            )
        if replica in sorted(replicas)[:place]:
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment includes the broker {replica} more than once."
            )
