"""One node of a running broker: served, stopped, killed, started, paused, resumed, parted, joined, lagging.

Owns the order of these, and the server that listens. Who leads what then is the controller's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from barnabas.broker.cluster import Cluster
from barnabas.broker.configs.broker_settings import LISTENERS
from barnabas.broker.controller import Controller
from barnabas.broker.login.listeners import BrokerListener
from barnabas.broker_errors import InvalidConfigError
from barnabas.errors import MisuseError
from barnabas.net.server import KafkaServer, ListenError

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
        self._servers: dict[str, KafkaServer] = {}
        self._resumed = asyncio.Event()
        self._joined = asyncio.Event()
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
    def is_dead(self) -> bool:
        """Whether it has no logs to serve: it was killed, and may not have hung up yet."""
        return self._node.logs is None

    @property
    def is_paused(self) -> bool:
        return self._node.is_paused

    @property
    def is_lagging(self) -> bool:
        return self._node.is_lagging

    @property
    def is_parted(self) -> bool:
        return self._node.is_parted

    @property
    def listeners(self) -> Mapping[str, str]:
        """`host:port` of each, by its name."""
        return {name: f"{host}:{port}" for name, (host, port) in self._node.addresses.items()}

    @property
    def protocols(self) -> Mapping[str, str]:
        """What each listener speaks, by its name: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
        return {listener.name: listener.protocol for listener in self._listeners}

    async def bind(self) -> None:
        """Takes its listeners' ports, on which clients are refused until `accept`. Raises: ListenError."""
        for place, listener in enumerate(self._listeners):
            self._listeners[place] = await self._bind(listener)
        self._node.host, self._node.port = next(iter(self._node.addresses.values()))
        self._cluster.settings.facts[self.node_id].setdefault(
            LISTENERS, ",".join(listener.address for listener in self._listeners)
        )

    async def _bind(self, listener: BrokerListener) -> BrokerListener:
        """The listener with its port, so that it comes back where it was."""
        server = self._make_server(self.node_id, listener)
        port = await server.bind(listener.host, listener.port)
        self._servers[listener.name] = server
        self._node.addresses[listener.name] = (listener.advertised_host, listener.advertised_port or port)
        return replace(listener, port=port)

    async def listen_on(self, listeners: Sequence[BrokerListener]) -> None:
        """Closes the listeners that are not among these, and opens those that it has not got yet; what
        cannot be opened is told of in the log, as with Kafka."""
        names = {listener.name for listener in listeners}
        for gone in [listener for listener in self._listeners if listener.name not in names]:
            self._listeners.remove(gone)
            del self._node.addresses[gone.name]
            await self._servers.pop(gone.name).stop()
        for listener in listeners:
            if listener.name in self._servers:
                continue
            try:
                self._listeners.append(await self._bind(listener))
                await self._servers[listener.name].accept()
            except (InvalidConfigError, ListenError) as error:
                logger.error("node %d cannot listen: %s", self.node_id, error)

    async def accept(self) -> None:
        """Lets clients in. Raises: ListenError."""
        await asyncio.gather(*(server.accept() for server in self._servers.values()))

    async def hang_up(self) -> None:
        """Ends all connections, and listens no more."""
        self._unpause()
        self._node.is_lagging = False
        servers, self._servers = self._servers, {}
        for server in servers.values():
            await server.stop()

    async def stop(self) -> None:
        """Gives its leaderships to others, hangs up, and closes its logs. Does nothing if it does not run."""
        self._check_others("stop")
        if not self._servers:
            return
        self._end_parting()
        self._controller.node_went(self.node_id)
        await self.hang_up()
        self._cluster.close_node(self.node_id)
        logger.info("node %d has stopped", self.node_id)

    async def kill(self) -> None:
        """Ends it as SIGKILL ends a process: it flushes nothing and does not say that it leaves; for the
        others it is there until broker.session.timeout.ms is over, or it starts. Does nothing if it does not
        run."""
        self._check_others("stop")
        if not self._servers:
            return
        # Who waits for an answer gets none, and who comes now finds nobody who could make one.
        for server in self._servers.values():
            server.hang_up()
        self._end_parting()
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
            await self.bind()
            await self.accept()
        except BaseException:
            await self.hang_up()
            self._cluster.close_node(self.node_id)
            raise
        self._controller.node_came(self.node_id)
        logger.info("node %d is back on %s", self.node_id, self.bootstrap)

    def pause(self) -> None:
        """Freezes it with its connections open, until `resume`. After broker.session.timeout.ms the others do
        without it. Does nothing if it is parted."""
        if not self._servers or self._node.is_paused or self._node.is_parted:
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

    def part(self) -> None:
        """Cuts it off from the other nodes and the controller, until `join`; clients still reach it. What it
        leads it goes on to lead, replicated to nobody; after broker.session.timeout.ms the others do without
        it, and elect. Does nothing if it is paused."""
        self._check_others("part")
        if not self._servers or self._node.is_paused or self._node.is_parted:
            return
        self._joined.clear()
        self._cluster.part_node(self.node_id)
        self._controller.node_fell_silent(self.node_id)
        self._watch()
        logger.info("node %d is parted from the others", self.node_id)

    def join(self) -> None:
        """Ends `part`: it gives up what the others do not have, unless they have not missed it yet.

        Raises: DamagedLogError, OSError.
        """
        if not self._node.is_parted:
            return
        was_missed = self._fencing is None
        self._unwatch()
        self._end_parting()
        if was_missed:
            self._controller.node_came(self.node_id)
        else:
            self._controller.node_is_back(self.node_id)
        logger.info("node %d has joined the others again", self.node_id)

    def lag(self) -> None:
        """It follows what others lead no further, until `catch_up`, and does all else. After
        replica.lag.time.max.ms the leaders count it out of those in sync, if it lacks anything."""
        if self._cluster.has_one_node:
            raise MisuseError(f"node {self.node_id} is the only one, and follows nobody")
        if not self._servers or self._node.is_lagging:
            return
        self._node.is_lagging = True
        self._controller.node_fell_silent(self.node_id)
        logger.info("node %d lags", self.node_id)

    def catch_up(self) -> None:
        """Ends `lag`: it comes back among those in sync once it has all that the leaders have."""
        if not self._node.is_lagging:
            return
        self._node.is_lagging = False
        if self._node.is_heard:
            self._controller.node_came(self.node_id)

    async def wait_until_joined(self) -> None:
        await self._joined.wait()

    def _end_parting(self) -> None:
        if self._node.is_parted:
            self._cluster.rejoin_node(self.node_id)
            self._joined.set()

    def _unpause(self) -> None:
        self._node.is_paused = False
        self._resumed.set()
        self._unwatch()

    def _unwatch(self) -> None:
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
