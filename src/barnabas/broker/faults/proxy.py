"""A proxy before a Kafka cluster, which does faults to the cluster's clients.

Each node of the cluster gets an address here, which answers name in the place of its own. Owns the addresses
and the connections to nodes. Must not know what faults there are. It reads all that goes through it, so that
listeners with TLS cannot be had by way of it; SASL goes through.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from barnabas.broker.faults.injector import Answered, FaultInjector
from barnabas.errors import InvalidSettingError
from barnabas.net.frames import FrameProtocol
from barnabas.net.server import DisconnectError, KafkaServer, RequestContext
from barnabas.protocol.api_key import ApiKey
from barnabas.protocol.frame import decode_response, encode_request_parts
from barnabas.protocol.messages.api_versions import ApiVersionsResponse
from barnabas.protocol.messages.request_header import RequestHeader
from barnabas.protocol.registry import REQUESTS
from barnabas.protocol.schema import ZERO_UUID, Request, Response

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_SECONDS = 10.0
UNKNOWN_NODE = -1
UNSUPPORTED_VERSION = 35
LARGEST_REQUEST_BYTES = 1 << 30
A_YEAR_MS = 365 * 86_400_000

Address = tuple[str, int]


@dataclass(slots=True, eq=False)
class _ProxiedConnection(RequestContext):
    """A client's connection, and the one to the node that is opened for it."""

    upstream: _Upstream | None = None


@dataclass(slots=True, eq=False)
class _ProxiedNode:
    """A node of the cluster behind, as it is advertised there, and the server that stands for it."""

    address: Address
    server: KafkaServer
    node_id: int = UNKNOWN_NODE
    port: int = 0
    opened: set[_Upstream] = field(default_factory=set["_Upstream"])


class FaultProxy:
    """Stands before the cluster that `upstream` ("host:port") is a node of.

        proxy = FaultProxy("localhost:9092")
        await proxy.start()
        proxy.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=3)
        ...                                   # programs use proxy.bootstrap
        await proxy.stop()

    `port` is for the first node; others get free ones.
    """

    def __init__(self, upstream: str, host: str = "127.0.0.1", port: int = 0, *, seed: int = 0) -> None:
        name, _, number = upstream.rpartition(":")
        if not name or not number.isdecimal():
            raise InvalidSettingError(f"upstream is a host and a port as localhost:9092, not {upstream!r}")
        self._upstream = name.strip("[]"), int(number)
        self._host = host
        self._port = port
        self._nodes: dict[Address, _ProxiedNode] = {}
        self._starting = asyncio.Lock()
        self._topic_names: dict[UUID, str] = {}
        self.faults = FaultInjector(seed=seed, topic_name=self._topic_names.get)

    @property
    def bootstrap(self) -> str:
        """`host:port` for clients, after `start`."""
        return f"{self._host}:{self._nodes[self._upstream].port}"

    async def start(self) -> None:
        """Raises: InvalidSettingError (nobody answers there), ListenError."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                _, writer = await asyncio.open_connection(*self._upstream)
        except OSError as error:
            reason = error.strerror or str(error) or "no answer"
            raise InvalidSettingError(
                f"there is no broker at {self._upstream[0]}:{self._upstream[1]}: {reason}"
            ) from None
        writer.close()
        await self._node(self._upstream, UNKNOWN_NODE, self._port)

    async def stop(self) -> None:
        for node in self._nodes.values():
            await node.server.stop()
            for upstream in list(node.opened):
                upstream.close()
        self._nodes.clear()

    async def _node(self, address: Address, node_id: int, port: int = 0) -> _ProxiedNode:
        """What stands for a node, and has the node's id from now on where that is known."""
        async with self._starting:
            node = self._nodes.get(address)
            if node is None:
                node = _ProxiedNode(address, self._server(address))
                node.port = await node.server.start(self._host, port)
                self._nodes[address] = node
                logger.info("%s:%d stands for %s:%d", self._host, node.port, *address)
        if node_id != UNKNOWN_NODE:
            node.node_id = node_id
        return node

    def _server(self, address: Address) -> KafkaServer:
        return KafkaServer(
            partial(self._handle, address),
            {key: request_type.VERSIONS for key, request_type in REQUESTS.items()},
            max_request_bytes=LARGEST_REQUEST_BYTES,
            # Idle connections are for the cluster to end.
            max_idle_ms=A_YEAR_MS,
            make_context=_ProxiedConnection,
        )

    async def _handle(
        self,
        address: Address,
        connection: _ProxiedConnection,
        header: RequestHeader,
        request: Request[Any],
    ) -> Answered:
        node = self._nodes[address]
        ask = partial(self._ask, node, connection, header)
        return await self.faults.answer(node.node_id, connection, header, request, ask)

    async def _ask(
        self, node: _ProxiedNode, connection: _ProxiedConnection, header: RequestHeader, request: Request[Any]
    ) -> Response | None:
        if connection.upstream is None:
            connection.upstream = await _Upstream.open(node, connection)
        version = header.request_api_version
        response = await connection.upstream.ask(header, request, version)
        if isinstance(response, ApiVersionsResponse):
            if response.error_code == UNSUPPORTED_VERSION:
                # That is told in version 0, and what the client asked in is to be answered.
                highest = min(version, _highest_of_api_versions(response))
                again = await connection.upstream.ask(header, request, highest)
                assert isinstance(again, ApiVersionsResponse)
                response = again
            _restrict(response)
        elif response is not None:
            self._learn(response)
            await self._rewrite(response)
        return response

    def _learn(self, response: Any) -> None:
        """Topics' names, which requests of newer versions leave out."""
        if response.NAME in ("Metadata", "CreateTopics", "DescribeTopicPartitions"):
            for topic in response.topics:
                if topic.name and topic.topic_id != ZERO_UUID:
                    self._topic_names[topic.topic_id] = topic.name

    async def _rewrite(self, response: Response) -> None:
        for named in _addresses(response):
            if named.host and named.port > 0:
                node_id = getattr(named, "node_id", getattr(named, "broker_id", UNKNOWN_NODE))
                node = await self._node((named.host, named.port), node_id)
                named.host, named.port = self._host, node.port


def _addresses(response: Any) -> Iterator[Any]:
    """Whatever has a host and a port in an answer: nodes, coordinators, leaders."""
    match response.NAME:
        case "Metadata" | "DescribeCluster":
            yield from response.brokers
        case "FindCoordinator":
            yield response
            yield from response.coordinators
        case "Produce" | "Fetch" | "ShareFetch" | "ShareAcknowledge":
            yield from response.node_endpoints
        case _:
            pass


def _restrict(response: ApiVersionsResponse) -> None:
    """To what can be read here: what cannot, could not be met by faults, nor have its addresses replaced."""
    kept: list[ApiVersionsResponse.ApiVersion] = []
    for each in response.api_keys:
        if each.api_key not in REQUESTS:
            continue
        lowest, highest = REQUESTS[each.api_key].VERSIONS
        each.min_version, each.max_version = max(lowest, each.min_version), min(highest, each.max_version)
        if each.api_key == ApiKey.SASL_HANDSHAKE:
            # KIP-152: after version 0 tokens come without Kafka's frames around them.
            each.min_version = max(each.min_version, 1)
        if each.min_version <= each.max_version:
            kept.append(each)
    response.api_keys = kept


def _highest_of_api_versions(response: ApiVersionsResponse) -> int:
    return next((each.max_version for each in response.api_keys if each.api_key == ApiKey.API_VERSIONS), 0)


class _Upstream:
    """A connection to a node, with one request under way at a time, as the node would take them anyway."""

    def __init__(self, node: _ProxiedNode, connection: _ProxiedConnection) -> None:
        self._node = node
        self._connection = connection
        self._answer: asyncio.Future[bytes | memoryview] | None = None
        self.protocol = FrameProtocol(self._on_frame, self._on_lost)

    @classmethod
    async def open(cls, node: _ProxiedNode, connection: _ProxiedConnection) -> _Upstream:
        """Raises: DisconnectError."""
        upstream = cls(node, connection)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                await asyncio.get_running_loop().create_connection(lambda: upstream.protocol, *node.address)
        except OSError as error:
            raise DisconnectError(
                f"{':'.join(map(str, node.address))} takes no connection: {error}"
            ) from None
        node.opened.add(upstream)
        connection.on_lost = upstream.close
        return upstream

    async def ask(self, header: RequestHeader, request: Request[Any], version: int) -> Response | None:
        """Raises: DisconnectError."""
        transport = self.protocol.transport
        if transport is None or self.protocol.is_lost:
            raise DisconnectError("the node has ended the connection")
        parts = encode_request_parts(request, version, header.correlation_id, header.client_id)
        wants_answer = request.API_KEY != ApiKey.PRODUCE or getattr(request, "acks", 1) != 0
        self._answer = asyncio.get_running_loop().create_future() if wants_answer else None
        transport.writelines(parts)
        if self._answer is None:
            await self.protocol.wait_until_writable()
            return None
        return decode_response(type(request), version, await self._answer)

    def close(self) -> None:
        if self.protocol.transport is not None:
            self.protocol.transport.close()

    def _on_frame(self, frame: bytes | memoryview) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(frame)

    def _on_lost(self, error: Exception | None) -> None:
        self._node.opened.discard(self)
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(DisconnectError("the node has ended the connection"))
        else:
            self._connection.hang_up()
