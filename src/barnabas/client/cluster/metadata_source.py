"""Where a client's metadata comes from: a broker that it knows, or bootstrap_servers. The same for an Admin
of the controllers, which speaks to these alone (KIP-919).

Owns whom to ask and in which order, the way back to a cluster that has moved (KIP-899, KIP-1102), and what
went wrong with each server. Knows nothing of when to ask, nor of what the answer changes.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from barnabas.background import detached
from barnabas.chance import chance
from barnabas.client.cluster.connections import ConnectionPool
from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import (
    AuthenticationError,
    BarnabasError,
    BootstrapError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoCommonVersionError,
)
from barnabas.net.addresses import canonical_names
from barnabas.net.connection import Connection
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.settings.table import CommonConfig, parse_server
from barnabas.types import Node

logger = logging.getLogger("barnabas.client")

T = TypeVar("T")

# How long a silent broker is waited for before another one is asked the same.
STAGGER_SECONDS = 2.0
CONTROLLERS = 2
"""An endpoint type of DescribeCluster."""
# What known brokers have to answer once metadata_recovery_rebootstrap_trigger_ms is over.
SHORTEST_ATTEMPT_SECONDS = 0.1


class MetadataSource:
    """Of one client. `connect` gives the connection to a known broker. `controllers`: to be asked in place of
    bootstrap_servers, for what they are themselves."""

    def __init__(
        self,
        config: CommonConfig,
        pool: ConnectionPool,
        connect: Callable[[int], Awaitable[Connection]],
        controllers: Sequence[str] = (),
    ) -> None:
        self._config = config
        self._setting = "bootstrap_controllers" if controllers else "bootstrap_servers"
        self._servers = list(dict.fromkeys(controllers or config.bootstrap_servers))
        self._asks_controllers = bool(controllers)
        self._pool = pool
        self._connect = connect
        self._asked_servers: list[str] = []
        self._bootstrap_reasons: dict[str, BarnabasError] = {}
        self._failing_since: float | None = None
        self._asked_at: dict[int, float] = {}
        self._answering: int | None = None
        """The known broker whose answer was the last."""
        self._told_at: dict[int, float] = {}
        self.hidden_topics: re.Pattern[str] | None = None
        """Answers tell nothing of topics in whose names this finds something."""

    def bootstrap_error(self, when: str = "") -> BootstrapError:
        """What is known of each of bootstrap_servers, after they were asked in vain."""
        reasons = self._bootstrap_reasons
        servers = self._asked_servers or self._servers
        silence = f"no answer yet, with security_protocol={self._config.security_protocol}"
        texts = [str(reasons.get(server, f"{server}: {silence}")) for server in servers]
        return BootstrapError(
            f"none of {self._setting} answered{when}: {'; '.join(texts)}; check these addresses, and whether "
            "brokers run there"
        )

    def longest_unasked_first(self, node_ids: Sequence[int]) -> list[int]:
        """Has others asked than the broker whose answer is in doubt. Also one that is silent is not the first
        each time."""
        return sorted(node_ids, key=lambda node_id: self._asked_at.get(node_id, 0.0))

    def note_told(self) -> None:
        """The last answer was about all that is asked for."""
        if self._answering is not None:
            self._told_at[self._answering] = CLOCK.monotonic()

    def have_told_since(self, node_ids: Iterable[int], moment: float) -> bool:
        """Whether each of these has told what it knows. `moment` is one of `CLOCK.monotonic()`."""
        return all(self._told_at.get(node_id, -1.0) >= moment for node_id in node_ids)

    async def ask(self, request: MetadataRequest, node_ids: Sequence[int]) -> MetadataResponse:
        """From one of these known brokers, which are tried in this order; from bootstrap_servers where there
        are none, none answers, or one says so."""
        if self._failing_since is None:
            self._failing_since = CLOCK.monotonic()
        self._answering = None
        response = await self._ask_anybody(request, node_ids, self._failing_since)
        self._failing_since = None
        hidden = self.hidden_topics
        if hidden is not None:
            response.topics = [
                topic for topic in response.topics if topic.name is None or not hidden.search(topic.name)
            ]
        return response

    async def _ask_anybody(
        self, request: MetadataRequest, node_ids: Sequence[int], failing_since: float
    ) -> MetadataResponse:
        if node_ids:
            is_final = self._config.metadata_recovery_strategy == "none"
            trigger_ms = self._config.metadata_recovery_rebootstrap_trigger_ms
            give_up_at = None if is_final else failing_since + trigger_ms / 1000
            try:
                response = await self._ask_known_brokers(request, node_ids, give_up_at)
                if response.error_code != ErrorCode.REBOOTSTRAP_REQUIRED or is_final:
                    if response.error_code:
                        raise error_for(response.error_code, "metadata")
                    return response
                reason = "a broker asks for it"
            except BarnabasError as error:
                # KIP-899: brokers may all have moved since.
                if is_final or not error.retriable:
                    raise
                reason = f"no known broker answers ({error})"
            logger.info("client %s: asking %s again: %s", self._config.client_id, self._setting, reason)
        return await self._ask_bootstrap_servers(request)

    async def _ask_known_brokers(
        self, request: MetadataRequest, node_ids: Sequence[int], give_up_at: float | None
    ) -> MetadataResponse:
        seconds = (
            None if give_up_at is None else max(SHORTEST_ATTEMPT_SECONDS, give_up_at - CLOCK.monotonic())
        )
        try:
            async with asyncio.timeout(seconds):
                node_id, response = await _first_success(
                    [partial(self._metadata_from, node_id, request) for node_id in node_ids]
                )
                self._answering = node_id
                return response
        except TimeoutError as error:
            if isinstance(error, BarnabasError):
                raise
            raise KafkaTimeoutError(
                "no answer within metadata_recovery_rebootstrap_trigger_ms="
                f"{self._config.metadata_recovery_rebootstrap_trigger_ms}"
            ) from None

    async def _ask_bootstrap_servers(self, request: MetadataRequest) -> MetadataResponse:
        self._asked_servers = await self._bootstrap_servers()
        servers = chance.sample(self._asked_servers, len(self._asked_servers))
        reasons: dict[str, BarnabasError] = {}
        try:
            response = await _first_success(
                [partial(self._metadata_from_server, server, request, reasons) for server in servers]
            )
            self._bootstrap_reasons.clear()
            return response
        except BarnabasError as error:
            for reason in reasons.values():
                if isinstance(reason, AuthenticationError):
                    # Its cause may be what a callback for tokens has raised.
                    raise reason from reason.__cause__
            if not error.retriable and len(servers) == 1:
                raise
            raise self.bootstrap_error() from error

    async def _bootstrap_servers(self) -> list[str]:
        """bootstrap_servers, or the names of all their addresses if client_dns_lookup says so."""
        if self._config.client_dns_lookup == "use_all_dns_ips":
            return self._servers
        seconds = self._config.socket_connection_setup_timeout_ms / 1000
        canonical: list[str] = []
        for server in self._servers:
            host, port = parse_server(server)
            try:
                names = await canonical_names(host, port, seconds)
            except OSError:
                # Connecting to it says what is wrong with it.
                canonical.append(server)
            else:
                canonical += [f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names]
        return list(dict.fromkeys(canonical))

    async def _metadata_from(self, node_id: int, request: MetadataRequest) -> tuple[int, MetadataResponse]:
        self._asked_at[node_id] = CLOCK.monotonic()
        return node_id, await self._answer(await self._connect(node_id), request)

    async def _metadata_from_server(
        self, server: str, request: MetadataRequest, reasons: dict[str, BarnabasError]
    ) -> MetadataResponse:
        host, port = parse_server(server)
        connection: Connection | None = None
        try:
            connection = await self._pool.open(Node(-1, host, port))
            response = await self._answer(connection, request)
            if not response.brokers:
                raise KafkaConnectionError(f"{server}: its metadata names no broker")
        except BarnabasError as error:
            # Kept beyond this round: at a deadline in the next one it is the last that is known.
            reasons[server] = self._bootstrap_reasons[server] = error
            if connection is not None:
                connection.close()
            raise
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        for broker in response.brokers:
            if (broker.host, broker.port) == (host, port):
                node = Node(broker.node_id, broker.host, broker.port, broker.rack)
                self._pool.adopt(broker.node_id, node, connection)
                return response
        connection.close()
        return response

    async def _answer(self, connection: Connection, request: MetadataRequest) -> MetadataResponse:
        timeout_ms = self._config.request_timeout_ms
        if self._asks_controllers:
            return await _quorum(connection, timeout_ms)
        if MetadataRequest.API_KEY not in connection.versions:
            raise NoCommonVersionError(
                f"{connection.name} does not know {MetadataRequest.NAME} requests: it seems to be a "
                "controller, and only an Admin speaks to these, by bootstrap_controllers"
            )
        return await connection.send(request, timeout_ms=timeout_ms)


async def _quorum(connection: Connection, timeout_ms: float) -> MetadataResponse:
    """What controllers say of themselves, as if they were brokers. Raises: MismatchedEndpointTypeError."""
    request = DescribeClusterRequest(endpoint_type=CONTROLLERS)
    described = await connection.send(request, timeout_ms=timeout_ms)
    if described.error_code:
        raise error_for(described.error_code, connection.name, described.error_message)
    return MetadataResponse(
        cluster_id=described.cluster_id,
        controller_id=described.controller_id,
        brokers=[
            MetadataResponse.MetadataResponseBroker(
                node_id=node.broker_id, host=node.host, port=node.port, rack=node.rack
            )
            for node in described.brokers
        ],
    )


async def _first_success(attempts: Sequence[Callable[[], Coroutine[Any, Any, T]]]) -> T:
    """The first result. Each attempt starts when the one before has failed, or is silent for a while.

    Raises: the last error, when all have failed.
    """
    started: list[asyncio.Task[T]] = []
    error: BaseException | None = None
    try:
        pending: set[asyncio.Task[T]] = set()
        while len(started) < len(attempts) or pending:
            if len(started) < len(attempts):
                started.append(detached(attempts[len(started)]()))
                pending.add(started[-1])
            timeout = STAGGER_SECONDS if len(started) < len(attempts) else None
            done, pending = await asyncio.wait(pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = task.exception()
                if error is None:
                    return task.result()
        assert error is not None
        raise error
    finally:
        for task in started:
            task.cancel()
        await asyncio.gather(*started, return_exceptions=True)
