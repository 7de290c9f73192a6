"""RoundRobinPartitionAssignor."""

from __future__ import annotations

from barnabas.compat.kafka.coordinator.assignors._of_core import CoreAssignor


class RoundRobinPartitionAssignor(CoreAssignor):
    """All partitions in order, one to each member in turn."""

    name = "roundrobin"
    core_name = "roundrobin"
