"""A node of the cluster: its number, its rack, where it listens, and its logs while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.memory_files import AnyPath


@dataclass(slots=True, eq=False)
class ReplicaNode:
    """`logs` are there while the node runs. A paused one runs, and answers nobody."""

    node_id: int
    directory: AnyPath
    rack: str | None = None
    host: str = ""
    port: int = 0
    addresses: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Where clients find it, by listener; `host` and `port` are those of the first."""
    logs: LogManager | None = None
    is_paused: bool = False

    @property
    def replicates(self) -> bool:
        """Whether it takes what leaders write."""
        return self.logs is not None and not self.is_paused
