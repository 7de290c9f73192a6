"""One broker, and what it can be asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Coroutine
from typing import Any, Self

from barnabas.compat.pykafka.connection import BrokerConnection
from barnabas.compat.pykafka.exceptions import LeaderNotAvailable, SocketDisconnectedError
from barnabas.compat.pykafka.handlers import RequestHandler
from barnabas.compat.pykafka.protocol import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    ListOffsetRequest,
    ListOffsetResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    ProduceResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

__all__ = ["Broker"]

log = logging.getLogger("pykafka.broker")

_METADATA_TRIES = 3


class Broker:
    """A broker. Whoever makes one connects to it: where that fails, calls raise SocketDisconnectedError until
    `connect` succeeds.

    Offsets of groups have a connection of their own, and so has each member of a group, so that none waits
    for the other's answer.
    """

    def __init__(
        self,
        id_: int,
        host: Any,
        port: int,
        handler: Any,
        socket_timeout_ms: float,
        offsets_channel_socket_timeout_ms: float,
        buffer_size: int = 1024 * 1024,
        source_host: str = "",
        source_port: int = 0,
        ssl_config: Any = None,
        broker_version: str = "0.9.0",
        api_versions: Any = None,
        sasl_authenticator: Any = None,
    ) -> None:
        self._id = int(id_)
        self._host = host
        self._port = port
        self._handler = handler
        self._socket_timeout_ms = socket_timeout_ms
        self._offsets_channel_socket_timeout_ms = offsets_channel_socket_timeout_ms
        self._buffer_size = buffer_size
        self._source_host = source_host
        self._source_port = source_port
        self._ssl_config = ssl_config
        self._sasl_authenticator = sasl_authenticator
        self._broker_version = broker_version
        self._api_versions = api_versions
        self._connection: BrokerConnection | None = None
        self._req_handler: RequestHandler | None = None
        self._offsets_channel_connection: BrokerConnection | None = None
        self._offsets_channel_req_handler: RequestHandler | None = None
        self._req_handlers: dict[Any, RequestHandler] = {}
        self._member_connections: dict[Any, BrokerConnection] = {}
        try:
            self.connect()
        except SocketDisconnectedError:
            log.warning(
                "Failed to connect to broker at %s:%s. Check the `listeners` property in server.config.",
                self._host,
                self._port,
            )

    def __repr__(self) -> str:
        cls = type(self)
        return (
            f"<{cls.__module__}.{cls.__name__} at {hex(id(self))} "
            f"(host={self._host}, port={self._port}, id={self._id})>"
        )

    @classmethod
    def from_metadata(
        cls,
        metadata: Any,
        handler: Any,
        socket_timeout_ms: float,
        offsets_channel_socket_timeout_ms: float,
        buffer_size: int = 64 * 1024,
        source_host: str = "",
        source_port: int = 0,
        ssl_config: Any = None,
        broker_version: str = "0.9.0",
        api_versions: Any = None,
        sasl_authenticator: Any = None,
    ) -> Self:
        """The broker that a BrokerMetadata tells of."""
        given = {name: value for name, value in locals().items() if name not in ("cls", "metadata")}
        return cls(metadata.id, metadata.host, metadata.port, **given)

    @property
    def connected(self) -> bool:
        return self._connection is not None and self._connection.connected

    @property
    def offsets_channel_connected(self) -> bool:
        """Whether the connection for groups' offsets is open."""
        return self._offsets_channel_connection is not None and self._offsets_channel_connection.connected

    @property
    def id(self) -> int:
        return self._id

    @property
    def host(self) -> Any:
        """As metadata has it, in bytes."""
        return self._host

    @property
    def port(self) -> int:
        return self._port

    @property
    def handler(self) -> RequestHandler | None:
        """What sends requests, but for those about groups' offsets; None before the first connection."""
        return self._req_handler

    @property
    def offsets_channel_handler(self) -> RequestHandler | None:
        """What sends requests about groups' offsets."""
        return self._offsets_channel_req_handler

    def connect(self, attempts: int = 3) -> None:
        """Raises: SocketDisconnectedError."""
        self._connection, self._req_handler = self._opened(self._socket_timeout_ms, attempts)

    def connect_offsets_channel(self, attempts: int = 3) -> None:
        """Opens the connection for groups' offsets. Raises: SocketDisconnectedError."""
        opened = self._opened(self._offsets_channel_socket_timeout_ms, attempts)
        self._offsets_channel_connection, self._offsets_channel_req_handler = opened

    def disconnect(self) -> None:
        """Closes all connections. `connect` opens them again."""
        for each in (self._connection, self._offsets_channel_connection, *self._member_connections.values()):
            if each is not None:
                each.disconnect()

    def _opened(self, timeout_ms: float, attempts: int) -> tuple[BrokerConnection, RequestHandler]:
        connection = self._unconnected()
        connection.connect(timeout_ms, attempts=attempts)
        requests = RequestHandler(self._handler, connection)
        requests.start()
        return connection, requests

    def _unconnected(self) -> BrokerConnection:
        return BrokerConnection(
            self.host,
            self.port,
            self._handler,
            buffer_size=self._buffer_size,
            source_host=self._source_host,
            source_port=self._source_port,
            ssl_config=self._ssl_config,
            sasl_authenticator=self._sasl_authenticator,
        )

    def _get_unique_req_handler(self, connection_id: Any) -> RequestHandler:
        """What sends the requests of one member of a group. Raises: SocketDisconnectedError."""
        known = self._req_handlers.get(connection_id)
        if known is not None and known.shared.connection.connected:
            return known
        connection, requests = self._opened(self._socket_timeout_ms, 1)
        self._member_connections[connection_id] = connection
        self._req_handlers[connection_id] = requests
        return requests

    def drop_member_connection(self, connection_id: Any) -> None:
        """Closes the connection of one member of a group. Who waits for an answer on it gets an error; the
        member's next request opens another."""
        self._req_handlers.pop(connection_id, None)
        connection = self._member_connections.pop(connection_id, None)
        if connection is not None:
            connection.disconnect()

    def _main(self) -> RequestHandler:
        if self._req_handler is None:
            raise SocketDisconnectedError
        return self._req_handler

    def _ask(self, request: Any, response_class: Any, **response_arguments: Any) -> Any:
        return self._main().request(request).get(response_class, **response_arguments)

    # Each raises: SocketDisconnectedError.

    def fetch_messages(self, partition_requests: Any, timeout: int = 30000, min_bytes: int = 1) -> Any:
        """A FetchResponse for PartitionFetchRequests. `timeout`: for how many milliseconds the broker waits
        for `min_bytes`."""
        response_class = FetchResponse.get_version_impl(self._api_versions)
        request = FetchRequest.get_version_impl(self._api_versions)(
            partition_requests=partition_requests,
            timeout=timeout,
            min_bytes=min_bytes,
            api_version=response_class.API_VERSION,
        )
        return self._ask(request, response_class, broker_version=self._broker_version)

    def produce_messages(self, produce_request: Any) -> Any:
        """A ProduceResponse; None for a ProduceRequest that wants no acknowledgement."""
        if produce_request.required_acks == 0:
            self._main().request(produce_request, has_response=False)
            return None
        return self._ask(produce_request, ProduceResponse)

    def request_offset_limits(self, partition_requests: Any) -> Any:
        """A ListOffsetResponse for PartitionOffsetRequests."""
        request = ListOffsetRequest.get_version_impl(self._api_versions)(partition_requests)
        return self._ask(request, ListOffsetResponse.get_version_impl(self._api_versions))

    def request_metadata(self, topics: Any = None) -> Any:
        """A MetadataResponse about some topics, or all; None when the connection broke three times."""
        request_class = MetadataRequest.get_version_impl(self._api_versions)
        response_class = MetadataResponse.get_version_impl(self._api_versions)
        self._main()
        for attempt in range(_METADATA_TRIES):
            if attempt > 0:
                log.debug("Retrying")
            time.sleep(attempt)
            try:
                response = self._ask(request_class(topics=topics), response_class)
            except SocketDisconnectedError:
                log.warning(
                    "Encountered SocketDisconnectedError while requesting metadata from broker %s:%s. "
                    "Continuing.",
                    self.host,
                    self.port,
                )
                continue
            _warn_of_leaders(response)
            return response
        return None

    def commit_consumer_group_offsets(
        self, consumer_group: Any, consumer_group_generation_id: int, consumer_id: Any, preqs: Any
    ) -> Any:
        """An OffsetCommitResponse for PartitionOffsetCommitRequests."""
        request = OffsetCommitRequest(
            consumer_group, consumer_group_generation_id, consumer_id, partition_requests=preqs
        )
        return self._ask_for_offsets(request, OffsetCommitResponse)

    def fetch_consumer_group_offsets(self, consumer_group: Any, preqs: Any) -> Any:
        """An OffsetFetchResponse for PartitionOffsetFetchRequests."""
        request_class = OffsetFetchRequest.get_version_impl(self._api_versions)
        request = request_class(consumer_group, partition_requests=preqs)
        return self._ask_for_offsets(request, OffsetFetchResponse.get_version_impl(self._api_versions))

    def _ask_for_offsets(self, request: Any, response_class: Any) -> Any:
        if not self.offsets_channel_connected:
            self.connect_offsets_channel()
        assert self._offsets_channel_req_handler is not None
        return self._offsets_channel_req_handler.request(request).get(response_class)

    def join_group(
        self,
        connection_id: Any,
        consumer_group: Any,
        member_id: Any,
        topic_name: Any,
        membership_protocol: Any,
    ) -> Any:
        """A JoinGroupResponse, which comes when all members have joined."""
        request = JoinGroupRequest(consumer_group, member_id, topic_name, membership_protocol)
        return self._ask_as(connection_id, request, JoinGroupResponse)

    def leave_group(self, connection_id: Any, consumer_group: Any, member_id: Any) -> Any:
        return self._ask_as(connection_id, LeaveGroupRequest(consumer_group, member_id), LeaveGroupResponse)

    def begin_leaving(self, consumer_group: Any, member_id: Any) -> Coroutine[Any, Any, Any]:
        """`leave_group` for the core's loop to run, by a connection of its own: the member's may wait for the
        answer to a join. Raises: OSError; the coroutine SocketDisconnectedError."""
        request = LeaveGroupRequest(consumer_group, member_id)
        return self._unconnected().begin_alone(request, self._socket_timeout_ms)

    def sync_group(
        self,
        connection_id: Any,
        consumer_group: Any,
        generation_id: int,
        member_id: Any,
        group_assignment: Any,
    ) -> Any:
        """A SyncGroupResponse, which comes when the leader has told its assignment."""
        request = SyncGroupRequest(consumer_group, generation_id, member_id, group_assignment)
        return self._ask_as(connection_id, request, SyncGroupResponse)

    def heartbeat(self, connection_id: Any, consumer_group: Any, generation_id: int, member_id: Any) -> Any:
        request = HeartbeatRequest(consumer_group, generation_id, member_id)
        return self._ask_as(connection_id, request, HeartbeatResponse)

    def begin_heartbeat(
        self, connection_id: Any, consumer_group: Any, generation_id: int, member_id: Any
    ) -> Any:
        """The ResponseFuture of a heartbeat, which nobody has waited for; None where a connection would have
        to be opened for it."""
        known = self._req_handlers.get(connection_id)
        if known is None or not known.shared.connection.connected:
            return None
        return known.request(HeartbeatRequest(consumer_group, generation_id, member_id))

    def _ask_as(self, connection_id: Any, request: Any, response_class: Any) -> Any:
        answer = self._get_unique_req_handler(connection_id).request(request)
        try:
            return answer.get(response_class)
        except Exception:
            raise
        except BaseException:
            # Ctrl-C, or the end of a greenlet. What a member asks next would be answered behind this, which
            # may be a join that waits for others.
            self.drop_member_connection(connection_id)
            raise

    def list_groups(self) -> Any:
        """A ListGroupsResponse with the groups that this broker coordinates."""
        return self._ask(ListGroupsRequest(), ListGroupsResponse)

    def describe_groups(self, group_ids: Any) -> Any:
        return self._ask(DescribeGroupsRequest(group_ids), DescribeGroupsResponse)

    def create_topics(self, topic_reqs: Any, timeout: int = 0) -> Any:
        """Makes topics of CreateTopicRequests; the broker has to be the controller. Raises: a
        ProtocolClientError where one cannot be made."""
        return self._ask(CreateTopicsRequest(topic_reqs, timeout=timeout), CreateTopicsResponse)

    def delete_topics(self, topics: Any, timeout: int = 0) -> Any:
        """Removes topics; the broker has to be the controller. Raises: a ProtocolClientError where one cannot
        be removed."""
        return self._ask(DeleteTopicsRequest(topics, timeout=timeout), DeleteTopicsResponse)

    def fetch_api_versions(self) -> Any:
        """An ApiVersionsResponse with what the broker speaks."""
        return self._ask(ApiVersionsRequest(), ApiVersionsResponse)


def _warn_of_leaders(response: Any) -> None:
    for name, topic in response.topics.items():
        if topic.err == LeaderNotAvailable.ERROR_CODE:
            log.warning("Leader not available for topic '%s'.", name)
        for number, partition in topic.partitions.items():
            if partition.err == LeaderNotAvailable.ERROR_CODE:
                log.warning("Leader not available for topic '%s' partition %d.", name, number)
