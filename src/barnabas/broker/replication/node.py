"""A node of the cluster: its number, its rack, where it listens, and its logs while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.memory_files import AnyPath

NODE_ID = 1
"""Of the first node, or of the one that there is."""


@dataclass(slots=True, eq=False)
class ReplicaNode:
    """`logs` are there while the node runs. A paused one runs, and answers nobody. One that lags answers, and
    takes nothing of what leaders write."""

    node_id: int
    directory: AnyPath
    rack: str | None = None
    host: str = ""
    port: int = 0
    addresses: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Where clients find it, by listener; `host` and `port` are those of the first."""
    logs: LogManager | None = None
    is_paused: bool = False
    is_lagging: bool = False
    is_parted: bool = False
    """From all other nodes, and the controller; clients still find it."""

    @property
    def replicates(self) -> bool:
        """Whether it takes what leaders write."""
        return self.is_heard and not self.is_lagging

    @property
    def is_heard(self) -> bool:
        """Whether leaders and the controller hear of it."""
        return self.is_within_reach and not self.is_paused

    @property
    def is_within_reach(self) -> bool:
        """Whether it runs, and the others can get at it."""
        return self.logs is not None and not self.is_parted
