"""One node of a running broker: served, stopped, killed, started, paused and resumed.

Owns the order of these, and the server that listens. Who leads what then is the controller's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from barnabas.broker.cluster import Cluster
from barnabas.broker.controller import Controller
from barnabas.broker.login.listeners import BrokerListener
from barnabas.errors import MisuseError
from barnabas.net.server import KafkaServer

logger = logging.getLogger(__name__)


class BrokerNode:
    """A node, by `Broker.nodes[node_id]`."""

    def __init__(
        self,
        node_id: int,
        cluster: Cluster,
        controller: Controller,
        make_server: Callable[[int, BrokerListener], KafkaServer],
        listeners: Sequence[BrokerListener],
    ) -> None:
        self.node_id = node_id
        self._cluster = cluster
        self._controller = controller
        self._make_server = make_server
        self._listeners = list(listeners)
        self._node = cluster.nodes[node_id]
        self._servers: list[KafkaServer] = []
        self._resumed = asyncio.Event()
        self._fencing: asyncio.TimerHandle | None = None

    @property
    def port(self) -> int:
        """The same after every start."""
        return self._node.port

    @property
    def bootstrap(self) -> str:
        """`host:port` of this node."""
        return f"{self._node.host}:{self._node.port}"

    @property
    def is_running(self) -> bool:
        """A paused one is, too."""
        return bool(self._servers)

    @property
    def is_paused(self) -> bool:
        return self._node.is_paused

    @property
    def listeners(self) -> Mapping[str, str]:
        """`host:port` of each, by its name."""
        return {name: f"{host}:{port}" for name, (host, port) in self._node.addresses.items()}

    async def serve(self) -> None:
        """Listens. Raises: ListenError."""
        for place, listener in enumerate(self._listeners):
            server = self._make_server(self.node_id, listener)
            port = await server.start(listener.host, listener.port)
            self._servers.append(server)
            # So that it comes back where it was.
            self._listeners[place] = replace(listener, port=port)
            address = (listener.advertised_host, listener.advertised_port or port)
            self._node.addresses[listener.name] = address
            if place == 0:
                self._node.host, self._node.port = address

    async def hang_up(self) -> None:
        """Ends all connections, and listens no more."""
        self._unpause()
        servers, self._servers = self._servers, []
        for server in servers:
            await server.stop()

    async def stop(self) -> None:
        """Gives its leaderships to others, hangs up, and closes its logs. Does nothing if it does not run."""
        self._check_others("stop")
        if not self._servers:
            return
        self._controller.node_went(self.node_id)
        await self.hang_up()
        self._cluster.close_node(self.node_id)
        logger.info("node %d has stopped", self.node_id)

    async def kill(self) -> None:
        """Ends it as SIGKILL ends a process: nobody is told, nothing is flushed, and the others do without it
        only after broker.session.timeout.ms, or when it starts. Does nothing if it does not run."""
        self._check_others("stop")
        if not self._servers:
            return
        self._cluster.abandon_node(self.node_id)
        self._controller.node_fell_silent(self.node_id)
        await self.hang_up()
        self._watch()
        logger.info("node %d was killed", self.node_id)

    async def start(self) -> None:
        """Comes back with the logs it had, and catches up. Does nothing if it runs.

        Raises: DamagedLogError, OSError, ListenError.
        """
        if self._servers:
            return
        if self._fencing is not None:
            # It was killed and is not missed yet; what it led is another's from now on.
            self._unpause()
            self._controller.node_went(self.node_id)
        self._cluster.open_node(self.node_id)
        try:
            await self.serve()
        except BaseException:
            await self.hang_up()
            self._cluster.close_node(self.node_id)
            raise
        self._controller.node_came(self.node_id)
        logger.info("node %d is back on %s", self.node_id, self.bootstrap)

    def pause(self) -> None:
        """Freezes it with its connections open, until `resume`. After broker.session.timeout.ms the others do
        without it."""
        if not self._servers or self._node.is_paused:
            return
        self._node.is_paused = True
        self._resumed.clear()
        if self._cluster.has_one_node:
            return
        self._controller.node_fell_silent(self.node_id)
        self._watch()

    def resume(self) -> None:
        """Goes on with what has come in."""
        if not self._node.is_paused:
            return
        self._unpause()
        if not self._cluster.has_one_node:
            self._controller.node_came(self.node_id)

    async def wait_until_resumed(self) -> None:
        await self._resumed.wait()

    def _unpause(self) -> None:
        self._node.is_paused = False
        self._resumed.set()
        if self._fencing is not None:
            self._fencing.cancel()
            self._fencing = None

    def _watch(self) -> None:
        seconds = self._cluster.settings.number("broker.session.timeout.ms") / 1000
        self._fencing = asyncio.get_running_loop().call_later(seconds, self._fence)

    def _fence(self) -> None:
        self._fencing = None
        logger.info("node %d was not heard of for too long: fenced", self.node_id)
        self._controller.node_went(self.node_id)

    def _check_others(self, what: str) -> None:
        if self._cluster.has_one_node:
            raise MisuseError(f"node {self.node_id} is the only one: {what} the broker as a whole")
