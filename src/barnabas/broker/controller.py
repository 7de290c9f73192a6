"""Carries out what is decided about partitions' replicas: reassignments and elections.

Owns which nodes are registered and alive. What a decision makes of a partition's state is
`registration`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.cluster import NODE_ID, Partition
from barnabas.broker.replication.assignments import check_assignment
from barnabas.broker.replication.registration import (
    PartitionRegistration,
    reassigned,
    reassignment_cancelled,
    with_any_leader,
    with_preferred_leader,
)
from barnabas.broker_errors import (
    BrokerIdNotRegisteredError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
)


class Controller:
    """The controller of the cluster."""

    def __init__(self) -> None:
        self.registered = {NODE_ID}
        self.alive = {NODE_ID}

    def reassign(
        self, partition: Partition, target: Sequence[int], *, may_change_replication_factor: bool
    ) -> None:
        """Raises: InvalidReplicaAssignmentError, InvalidReplicationFactorError."""
        check_assignment(target, self.registered)
        before = len(partition.state.original_replicas)
        if not may_change_replication_factor and len(target) != before:
            raise InvalidReplicationFactorError(
                f"The replication factor is changed from {before} to {len(target)}"
            )
        self._change(partition, reassigned(partition.state, target, self.alive))

    def cancel_reassignment(self, partition: Partition) -> None:
        """Raises: NoReassignmentInProgressError, InvalidReplicaAssignmentError."""
        try:
            after = reassignment_cancelled(partition.state, self.alive)
        except InvalidReplicaAssignmentError as error:
            raise InvalidReplicaAssignmentError(
                f"Unable to revert partition assignment for {partition.topic.name}:{partition.index} "
                f"because {error.context}"
            ) from None
        self._change(partition, after)

    def elect_preferred(self, partition: Partition) -> None:
        """Raises: ElectionNotNeededError, PreferredLeaderNotAvailableError."""
        self._change(partition, with_preferred_leader(partition.state, self.alive))

    def elect_any(self, partition: Partition) -> None:
        """Elects a leader where there is none, though records be lost by it. Raises: ElectionNotNeededError,
        EligibleLeadersNotAvailableError."""
        self._change(partition, with_any_leader(partition.state, self.alive))

    def unregister(self, node: int) -> None:
        """Raises: BrokerIdNotRegisteredError. A node that runs registers again at once."""
        if node not in self.registered:
            raise BrokerIdNotRegisteredError(f"Broker ID {node} is not currently registered")
        if node not in self.alive:
            self.registered.discard(node)

    @staticmethod
    def _change(partition: Partition, after: PartitionRegistration) -> None:
        partition.state = after
