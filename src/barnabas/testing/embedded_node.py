"""A node of an embedded broker in another process: stopped, killed, started, paused and resumed by itself.

Owns the calls. What they do is the broker's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.testing.fault_control import FaultControl


class EmbeddedNode:
    """`control`: where the broker is told; raises ServerStartError while it does not run.

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
        return self._told()["is_paused"]

    def stop(self) -> None:
        """Gives its leaderships to others, and hangs up; its data stays for another `start`."""
        self._change("stopped")

    def kill(self) -> None:
        """Ends it as SIGKILL ends a process: nobody is told, nothing is flushed, and the others do without it
        only after broker.session.timeout.ms, or when it starts."""
        self._change("killed")

    def start(self) -> None:
        """Comes back with the data it had, and catches up."""
        self._change("started")

    def pause(self) -> None:
        """Freezes it with its connections open, until `resume`; the others do without it after
        broker.session.timeout.ms."""
        self._change("paused")

    def resume(self) -> None:
        self._change("resumed")

    def _change(self, state: str) -> None:
        self._control().call("PUT", f"/nodes/{self.node_id}", {"state": state})

    def _told(self) -> dict[str, Any]:
        return self._control().call("GET", f"/nodes/{self.node_id}")
