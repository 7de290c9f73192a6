"""Who coordinates a group or a transactional id, as far as that is known.

Owns what was found, and the ids of the connections to coordinators. Must not know what they are asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Literal, Protocol, TypeVar

from barnabas.client.cluster.event_listeners import EventListeners
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import BrokerError
from barnabas.net.connection import Connection
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.steps import CoordinatorFound, CoordinatorRequested, Step
from barnabas.types import Node

ResponseT = TypeVar("ResponseT", bound=Response)
T = TypeVar("T")

GROUP_COORDINATOR = 0
TRANSACTION_COORDINATOR = 1
_KINDS: dict[int, Literal["group", "transaction"]] = {
    GROUP_COORDINATOR: "group",
    TRANSACTION_COORDINATOR: "transaction",
}

# A coordinator has a connection of its own, so that a heartbeat never waits behind a long fetch. Its id is
# counted down from here, as in Java's client.
HIGHEST_CONNECTION_ID = 2**31 - 1


class AsksBrokers(Protocol):
    """What finding a coordinator needs of the client."""

    steps: EventListeners[Step]
    reaches_controllers: bool

    async def any_node(self) -> int: ...

    async def connect(self, node_id: int) -> Connection: ...

    async def send(
        self, node_id: int, request: Request[ResponseT], /, *, max_version: int | None = None
    ) -> ResponseT: ...

    async def retry(
        self, attempt: Callable[[], Awaitable[T]], *, what: str, timeout_ms: float | None = None
    ) -> T: ...


class Coordinators:
    """Belongs to the event loop."""

    def __init__(self, client: AsksBrokers) -> None:
        self._client = client
        self._connection_ids: dict[tuple[int, str], int] = {}
        self._nodes: dict[int, Node] = {}

    async def find(self, key_type: int, key: str, timeout_ms: float | None = None) -> int:
        """What to give `send` to reach a group's coordinator (key_type 0) or a transactional id's (1): the id
        of a connection of its own to that node. Remembered until `forget`.

        Raises: KafkaTimeoutError, BootstrapError, or what the broker answers that is not retriable, such as
        GroupAuthorizationFailedError.
        """
        client = self._client
        if client.reaches_controllers:
            raise needs_brokers(f"the coordinator of {key!r}")
        known = self._connection_ids.get((key_type, key))
        if known is not None:
            return known

        async def attempt() -> int:
            response = await self._ask(key_type, key)
            error_code, node = _coordinator_in(response)
            if error_code:
                raise error_for(error_code, f"coordinator of {key!r}")
            connection_id = HIGHEST_CONNECTION_ID - node.node_id
            self._nodes[connection_id] = node
            self._connection_ids[key_type, key] = connection_id
            if client.steps:
                client.steps.emit(CoordinatorFound(_KINDS[key_type], key, node))
            return connection_id

        return await client.retry(
            attempt, what=f"looking for the coordinator of {key!r}", timeout_ms=timeout_ms
        )

    def forget(self, key_type: int, key: str) -> None:
        """The coordinator has moved: the next `find` asks again."""
        self._connection_ids.pop((key_type, key), None)

    def known(self, key_type: int, key: str) -> Node | None:
        """The broker that `find` found last, if it was not forgotten."""
        connection_id = self._connection_ids.get((key_type, key))
        return None if connection_id is None else self._nodes[connection_id]

    def node(self, connection_id: int) -> Node | None:
        """The broker behind what `find` gave."""
        return self._nodes.get(connection_id)

    @property
    def connection_ids(self) -> Collection[int]:
        """All that `find` has given."""
        return self._nodes.keys()

    async def _ask(self, key_type: int, key: str) -> FindCoordinatorResponse:
        client = self._client
        if client.steps:
            client.steps.emit(CoordinatorRequested(_KINDS[key_type], key))
        node_id = await client.any_node()
        connection = await client.connect(node_id)
        version = connection.version_of(FindCoordinatorRequest)
        if version >= 4:
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        else:
            request = FindCoordinatorRequest(key_type=key_type, key=key)
        return await client.send(node_id, request, max_version=version)


def needs_brokers(what: str) -> BrokerError:
    """The error of an Admin of controllers that is asked for what these do not know."""
    return error_for(
        ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
        f"{what}: controllers do not know of it; give the Admin bootstrap_servers, not bootstrap_controllers",
    )


def _coordinator_in(response: FindCoordinatorResponse) -> tuple[int, Node]:
    if response.coordinators:
        found = response.coordinators[0]
        return found.error_code, Node(found.node_id, found.host, found.port)
    return response.error_code, Node(response.node_id, response.host, response.port)
