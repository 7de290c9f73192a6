"""A node of an embedded broker in another process: stopped, killed, paused, parted, lagging, brought back.

Owns the calls. What they do is the broker's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.testing.fault_control import FaultControl


class EmbeddedNode:
    """`control`: where the node is controlled; raises ServerStartError while it does not run.

    Raises: FaultControlError, at every call that the broker cannot do.
    """

    def __init__(self, node_id: int, port: int, control: Callable[[], FaultControl]) -> None:
        self.node_id = node_id
        self.port = port
        self._control = control

    @property
    def bootstrap(self) -> str:
        """`host:port`, the same after every start."""
        return f"127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        """A paused one is, too."""
        return self._told()["is_running"]

    @property
    def is_paused(self) -> bool:
        """Whether `pause` holds it still."""
        return self._told()["is_paused"]

    @property
    def is_parted(self) -> bool:
        """Whether `part` keeps it from the others."""
        return self._told()["is_parted"]

    @property
    def is_lagging(self) -> bool:
        """Whether `lag` keeps it from following."""
        return self._told()["is_lagging"]

    def stop(self) -> None:
        """Gives its leaderships to others, and hangs up; its data stays for another `start`."""
        self._change("stopped")

    def kill(self) -> None:
        """Ends it as SIGKILL ends a process: it flushes nothing and does not say that it leaves; for the
        others it is there until broker.session.timeout.ms is over, or it starts."""
        self._change("killed")

    def start(self) -> None:
        """Comes back with the data it had, and catches up."""
        self._change("started")

    def pause(self) -> None:
        """Freezes it with its connections open, until `resume`; the others do without it after
        broker.session.timeout.ms."""
        self._change("paused")

    def resume(self) -> None:
        """Ends `pause`."""
        self._change("resumed")

    def part(self) -> None:
        """Cuts it off from the other nodes, not from clients, until `join`; the others do without it after
        broker.session.timeout.ms, and elect, while it goes on to lead what it led."""
        self._change("parted")

    def join(self) -> None:
        """Ends `part`; what only this node has of what others lead now it gives up."""
        self._change("joined")

    def lag(self) -> None:
        """It follows what others lead no further, until `catch_up`, and does all else; it is counted out of
        those in sync after replica.lag.time.max.ms, if it lacks anything."""
        self._change("lagging")

    def catch_up(self) -> None:
        """Ends `lag`; it is in sync again once it has all that the leaders have."""
        self._change("catching_up")

    def _change(self, state: str) -> None:
        self._control().call("PUT", f"/nodes/{self.node_id}", {"state": state})

    def _told(self) -> dict[str, Any]:
        return self._control().call("GET", f"/nodes/{self.node_id}")
