"""CooperativeStickyAssignor."""

from __future__ import annotations

from barnabas.compat.kafka.coordinator.assignors.abstract import RebalanceProtocol
from barnabas.compat.kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor


class CooperativeStickyAssignor(StickyPartitionAssignor):
    """The sticky assignor for members that give up only what another one will get (KIP-429)."""

    name = "cooperative-sticky"
    version = 1
    core_name = "cooperative-sticky"

    def supported_protocols(self) -> list[RebalanceProtocol]:
        return [RebalanceProtocol.COOPERATIVE]
