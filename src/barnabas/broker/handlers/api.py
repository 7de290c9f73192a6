"""What every handler is given, and how it is registered. Knows nothing of any single API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from barnabas.broker.authorization.acl_store import AclStore
from barnabas.broker.authorization.authorizer import Authorizer
from barnabas.broker.classic_groups.coordinator import ClassicGroupCoordinator
from barnabas.broker.client_connection import ClientConnection
from barnabas.broker.client_telemetry import ClientTelemetry
from barnabas.broker.cluster import Cluster
from barnabas.broker.consumer_groups.coordinator import ConsumerGroupCoordinator
from barnabas.broker.controller import Controller
from barnabas.broker.delegation_tokens.token_store import DelegationTokenStore
from barnabas.broker.fetch_sessions import FetchSessions
from barnabas.broker.groups.directory import GroupDirectory
from barnabas.broker.groups.offset_coordinator import OffsetCoordinator
from barnabas.broker.groups.store import GroupStore
from barnabas.broker.principal import Principal
from barnabas.broker.quotas.client_throttle import ClientThrottle
from barnabas.broker.quotas.quota_store import QuotaStore
from barnabas.broker.share_groups.coordinator import ShareGroupCoordinator
from barnabas.broker.share_groups.lending import ShareLending
from barnabas.broker.share_groups.share_state_store import ShareStateStore
from barnabas.broker.streams_groups.coordinator import StreamsGroupCoordinator
from barnabas.broker.topics.topic_changes import TopicChanges
from barnabas.broker.transactions.transaction_manager import TransactionManager
from barnabas.broker.transactions.transaction_store import TransactionStore
from barnabas.protocol.schema import Request, Response


@dataclass(slots=True, kw_only=True)
class BrokerParts:
    """What handlers work on."""

    cluster: Cluster
    topic_changes: TopicChanges
    controller: Controller
    authorizer: Authorizer
    acls: AclStore
    tokens: DelegationTokenStore
    quotas: QuotaStore
    throttle: ClientThrottle
    groups: GroupDirectory
    offsets: OffsetCoordinator
    classic_groups: ClassicGroupCoordinator
    consumer_groups: ConsumerGroupCoordinator
    share_groups: ShareGroupCoordinator
    share_states: ShareStateStore
    share_lending: ShareLending
    streams_groups: StreamsGroupCoordinator
    group_store: GroupStore
    transactions: TransactionManager
    transaction_store: TransactionStore
    offered: Mapping[int, tuple[int, int]]
    """The lowest and highest version of each API."""
    tells_features: bool
    fetch_sessions: defaultdict[int, FetchSessions] = field(
        default_factory=lambda: defaultdict(FetchSessions)
    )
    """Of each node."""
    telemetry: dict[int, ClientTelemetry] = field(init=False)
    """Of each node."""

    def __post_init__(self) -> None:
        self.telemetry = {
            node: ClientTelemetry(self.cluster.metadata.client_metrics) for node in self.cluster.nodes
        }


@dataclass(frozen=True, slots=True)
class Call:
    """One request's circumstances."""

    parts: BrokerParts
    version: int
    client_id: str
    connection: ClientConnection

    @property
    def client_host(self) -> str:
        return self.connection.client_host

    @property
    def principal(self) -> Principal:
        """Whom the request is done for."""
        return self.connection.principal

    @property
    def node(self) -> int:
        """Which node was asked."""
        return self.connection.node

    @property
    def listener(self) -> str:
        """Kafka's name of where the request came in."""
        return self.connection.listener


RequestT = TypeVar("RequestT", bound=Request[Any])


@dataclass(frozen=True, slots=True)
class Handler(Generic[RequestT]):
    """An API with the versions that are offered. Where the broker passes for an older release, it offers what
    that did, from `oldest` on."""

    request_type: type[RequestT]
    lowest: int
    highest: int
    handle: Callable[[Call, RequestT], Awaitable[Response | None]]
    oldest: int = 0
