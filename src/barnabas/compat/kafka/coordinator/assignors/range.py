"""RangePartitionAssignor."""

from __future__ import annotations

from barnabas.compat.kafka.coordinator.assignors._of_core import CoreAssignor


class RangePartitionAssignor(CoreAssignor):
    """Topic by topic, a contiguous range for each member."""

    name = "range"
    core_name = "range"
