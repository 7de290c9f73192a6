"""Assignors whose division of partitions is the core's."""

# They are methods of the classes here, and of objects where programs make their own.
# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false

from __future__ import annotations

from typing import Any, ClassVar

from barnabas.compat.kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from barnabas.compat.kafka_engine.consume.assignors import divide
from barnabas.compat.kafka_engine.consume.membership import subscribed
from barnabas.settings.table import AssignorName


class CoreAssignor(AbstractPartitionAssignor):
    """One of the core's assignors, by its name there."""

    name: ClassVar[str]
    version = 0
    core_name: ClassVar[AssignorName]

    @classmethod
    def assign(cls, cluster: Any, members: Any) -> Any:
        return divide(cls.core_name, cluster, members)

    @classmethod
    def metadata(cls, topics: Any) -> Any:
        return subscribed(topics)

    @classmethod
    def on_assignment(cls, assignment: Any, generation: int = -1) -> None:
        """The core knows it already."""
