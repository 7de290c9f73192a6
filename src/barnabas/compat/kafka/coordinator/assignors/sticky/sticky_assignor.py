"""StickyPartitionAssignor."""

from __future__ import annotations

from barnabas.compat.kafka.coordinator.assignors._of_core import CoreAssignor


class StickyPartitionAssignor(CoreAssignor):
    """As even as can be with few changes of owner (KIP-54)."""

    name = "sticky"
    core_name = "sticky"
