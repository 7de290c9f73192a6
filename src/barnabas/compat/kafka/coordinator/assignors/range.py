"""RangePartitionAssignor."""

# They are methods of the classes here, and of objects where programs make their own.
# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false, reportAssignmentType=false

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from barnabas.compat.kafka_python.consume.assignors import divide
from barnabas.compat.kafka_python.consume.membership import subscribed
from barnabas.settings.table import AssignorName


class RangePartitionAssignor(AbstractPartitionAssignor):
    """Topic by topic, a contiguous range for each member."""

    name = "range"
    version = 0
    core_name: AssignorName = "range"

    @classmethod
    def assign(cls, cluster: Any, members: Any) -> Any:
        return divide(cls.core_name, cluster, members)

    @classmethod
    def metadata(cls, topics: Any) -> Any:
        return subscribed(topics)

    @classmethod
    def on_assignment(cls, assignment: Any, generation: int = -1) -> None:
        """The core knows it already."""
