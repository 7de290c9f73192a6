"""The brokers and topics of a cluster, as its brokers tell of them."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable
from typing import Any

from barnabas.compat.pykafka._network.cluster_core import ClusterCore
from barnabas.compat.pykafka._network.zookeeper import brokers_in
from barnabas.compat.pykafka.broker import Broker
from barnabas.compat.pykafka.exceptions import (
    ERROR_CODES,
    GroupCoordinatorNotAvailable,
    LeaderNotAvailable,
    LeaderNotFoundError,
    NoBrokersAvailableError,
    SocketDisconnectedError,
    UnicodeException,
    UnknownTopicOrPartition,
)
from barnabas.compat.pykafka.protocol import (
    API_VERSIONS_080,
    API_VERSIONS_090,
    GroupCoordinatorRequest,
    GroupCoordinatorResponse,
)
from barnabas.compat.pykafka.topic import Topic
from barnabas.compat.pykafka.utils import parse_version
from barnabas.compat.pykafka.utils.compat import get_bytes, get_string

__all__ = ["Cluster", "TopicDict"]

log = logging.getLogger("pykafka.cluster")

_BUFFER_BYTES = 1024 * 1024
_CREATION_PAUSE_SECONDS = 0.1
# Brokers of KRaft say of a topic that they are about to make that there is none.
_CREATION_SECONDS = 10.0


class TopicDict(dict[bytes, Any]):
    """Topics by their names, in bytes or as texts. A Topic is made when somebody asks for it, and kept only
    as long as that lives; one that the cluster does not have is made there, if brokers do such a thing."""

    def __init__(self, cluster: Any, exclude_internal_topics: bool, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cluster = weakref.ref(cluster)
        self._exclude_internal_topics = exclude_internal_topics

    def values(self) -> Any:
        return [self[key] for key in self]

    def __getitem__(self, key: Any) -> Any:
        """Raises: KeyError for one of Kafka's own topics, unless they are not excluded; UnicodeException for
        what no topic can be called; a ProtocolClientError for one that cannot be made."""
        try:
            name = get_string(key).encode("ascii")
        except UnicodeEncodeError:
            raise UnicodeException(f"Topic name '{key}' contains non-ascii characters") from None
        if self._should_exclude_topic(name):
            raise KeyError(
                "You have configured KafkaClient/Cluster to hide double-underscored, internal topics"
            )
        known = super().__getitem__(name)
        topic = None if known is None else known()
        return self._made(name) if topic is None else topic

    def _made(self, name: bytes) -> Topic:
        cluster: Any = self._cluster()
        for tries_left in reversed(range(cluster._max_connection_retries)):
            metadata = cluster._get_metadata([name])
            try:
                topic = Topic(cluster, metadata.topics[name])
            except LeaderNotFoundError:
                log.warning("LeaderNotFoundError encountered during Topic creation")
                if not tries_left:
                    raise
            else:
                self[name] = weakref.ref(topic)
                return topic
        raise LeaderNotFoundError()

    def __missing__(self, key: bytes) -> Any:
        log.warning("Topic %s not found. Attempting to auto-create.", key)
        self._create_topic(key)
        return super().__getitem__(key)

    def _create_topic(self, topic_name: bytes) -> None:
        """Asking for a topic is what makes brokers create it."""
        cluster: Any = self._cluster()
        give_up_at = time.monotonic() + _CREATION_SECONDS
        while True:
            code = cluster._get_metadata([topic_name]).topics[topic_name].err
            if code == 0:
                log.info("Topic %s successfully auto-created.", topic_name)
                cluster.update()
                return
            is_under_way = code == LeaderNotAvailable.ERROR_CODE or (
                code == UnknownTopicOrPartition.ERROR_CODE
                and time.monotonic() < give_up_at
                and cluster._core.creates_topics()
            )
            if not is_under_way:
                raise ERROR_CODES[code](f"Failed to auto-create topic '{topic_name}'")
            time.sleep(_CREATION_PAUSE_SECONDS)

    def _update_topics(self, metadata: Any) -> None:
        """`metadata`: a TopicMetadata by each topic's name."""
        removed = set(self.keys()) - set(metadata.keys())
        if removed:
            log.info("Removing %d topics", len(removed))
        for name in removed:
            log.debug("Removing topic '%s'", name)
            super().pop(name)
        if metadata:
            log.info("Discovered %d topics", len(metadata))
        for name, told in metadata.items():
            if self._should_exclude_topic(name):
                continue
            if name not in self:
                self[name] = None
                log.debug("Discovered topic '%s'", name)
                continue
            known = super().__getitem__(name)
            topic = None if known is None else known()
            if topic is not None:
                topic.update(told)

    def _should_exclude_topic(self, topic_name: bytes) -> bool:
        return self._exclude_internal_topics and topic_name.startswith(b"__")


class Cluster:
    """A cluster. Whoever makes one has its brokers asked. `handler`: what threads or greenlets wait by."""

    def __init__(
        self,
        hosts: str,
        handler: Any,
        socket_timeout_ms: int = 30 * 1000,
        offsets_channel_socket_timeout_ms: int = 10 * 1000,
        exclude_internal_topics: bool = True,
        source_address: str = "",
        zookeeper_hosts: str | None = None,
        ssl_config: Any = None,
        broker_version: str = "0.9.0",
        sasl_authenticator: Any = None,
    ) -> None:
        self._seed_hosts = zookeeper_hosts if zookeeper_hosts is not None else hosts
        self._socket_timeout_ms = socket_timeout_ms
        self._offsets_channel_socket_timeout_ms = offsets_channel_socket_timeout_ms
        self._handler = handler
        self._brokers: dict[int, Broker] = {}
        self._topics = TopicDict(self, exclude_internal_topics)
        self._source_address = source_address
        self._source_host, _, port = source_address.partition(":")
        self._source_port = int(port.partition(":")[0]) if port else 0
        self._ssl_config = ssl_config
        self._sasl_authenticator = sasl_authenticator
        self._zookeeper_connect = zookeeper_hosts
        self._max_connection_retries = 3
        self._max_connection_retries_offset_mgr = 8
        self._broker_version = broker_version
        self._api_versions: Any = None
        self.controller_broker: Broker | None = None
        me = weakref.ref(self)
        self._core = ClusterCore(
            lambda: _servers(me()), socket_timeout_ms, source_address, ssl_config, sasl_authenticator
        )
        self.fetch_api_versions()
        self.update()

    def __repr__(self) -> str:
        cls = type(self)
        return f"<{cls.__module__}.{cls.__name__} at {hex(id(self))} (hosts={self._seed_hosts})>"

    @property
    def brokers(self) -> dict[int, Broker]:
        """By their ids."""
        return self._brokers

    @property
    def topics(self) -> TopicDict:
        """By their names; the values one sees are None where nobody asked for the topic yet."""
        return self._topics

    @property
    def handler(self) -> Any:
        return self._handler

    def _servers(self) -> list[str]:
        """host:port of the brokers to begin with: those that were given, or that ZooKeeper told of."""
        if self._zookeeper_connect is None:
            return [f"{host}:{port}" for host, port in self._get_broker_connection_info()]
        return [f"{get_string(each.host)}:{each.port}" for each in self._brokers.values()]

    def _request_metadata(self, broker_connects: Any, topics: Any) -> Any:
        return self._request_random_broker(broker_connects, lambda broker: broker.request_metadata(topics))

    def _request_random_broker(self, broker_connects: Any, req_fn: Callable[[Broker], Any]) -> Any:
        """What `req_fn` gives for the first broker that answers; None when there is none."""
        for _ in range(self._max_connection_retries):
            for host, port in broker_connects:
                broker = None
                try:
                    broker = self._broker(-1, host, int(port))
                    response = req_fn(broker)
                    if response is not None:
                        return response
                except SocketDisconnectedError:
                    log.error("Socket disconnected during request for broker %s:%s. Continuing.", host, port)
                except Exception as error:
                    log.error("Unable to connect to broker %s:%s. Continuing.", host, port)
                    log.exception(error)
                finally:
                    if broker is not None:
                        broker.disconnect()
        return None

    def _broker(self, id_: int, host: Any, port: int) -> Broker:
        return Broker(
            id_,
            host,
            port,
            self._handler,
            self._socket_timeout_ms,
            self._offsets_channel_socket_timeout_ms,
            buffer_size=_BUFFER_BYTES,
            source_host=self._source_host,
            source_port=self._source_port,
            ssl_config=self._ssl_config,
            broker_version=self._broker_version,
            api_versions=self._api_versions,
            sasl_authenticator=self._sasl_authenticator,
        )

    def _get_metadata(self, topics: Any = None) -> Any:
        """A MetadataResponse. Raises: NoBrokersAvailableError."""
        wanted = None if topics is None else [get_bytes(each) for each in topics]
        metadata = self._request_metadata(self._get_broker_connection_info(), wanted)
        for broker in [*self._brokers.values()]:
            if metadata is None and broker.connected:
                metadata = broker.request_metadata(wanted)
        if metadata is None:
            raise NoBrokersAvailableError("Unable to connect to a broker to fetch metadata. See logs.")
        return metadata

    def _get_broker_connection_info(self) -> Any:
        """Host and port of each broker to begin with."""
        if self._zookeeper_connect is not None:
            return self._get_brokers_from_zookeeper(self._zookeeper_connect)
        parts = [each.split(":") for each in self._seed_hosts.split(",")]
        return [(each[0], each[1].split("/")[0]) for each in parts]

    def _get_brokers_from_zookeeper(self, zk_connect: str) -> Any:
        return brokers_in(zk_connect, self._socket_timeout_ms, self._max_connection_retries)

    def _update_brokers(self, broker_metadata: Any, controller_id: int | None) -> None:
        """`broker_metadata`: a BrokerMetadata by each broker's id."""
        removed = set(self._brokers) - set(broker_metadata)
        if removed:
            log.info("Removing %d brokers", len(removed))
        for id_ in removed:
            log.debug("Removing broker %s", self._brokers[id_])
            self._brokers.pop(id_)
        if broker_metadata:
            log.info("Discovered %d brokers", len(broker_metadata))
        for id_, told in broker_metadata.items():
            self._update_broker(id_, told)
        if controller_id is not None:
            if controller_id not in self._brokers:
                raise KeyError(f"Controller ID {controller_id} not present in cluster")
            self.controller_broker = self._brokers[controller_id]

    def _update_broker(self, id_: int, told: Any) -> None:
        known = self._brokers.get(id_)
        if known is not None and (told.host, told.port) != (known.host, known.port):
            # The original cannot go on then.
            log.info("Broker id %s is at %s:%s now", id_, told.host, told.port)
            known.disconnect()
            known = None
        if known is None:
            log.debug("Discovered broker id %s: %s:%s", id_, told.host, told.port)
            self._brokers[id_] = self._broker(id_, told.host, told.port)
        elif known.connected:
            log.info("Broker %s:%s metadata unchanged. Continuing.", known.host, known.port)
        else:
            log.info("Reconnecting to broker id %s: %s:%s", id_, told.host, told.port)
            try:
                known.connect()
            except SocketDisconnectedError:
                log.info(
                    "Failed to re-establish connection with broker id %s: %s:%s", id_, told.host, told.port
                )

    def get_managed_group_descriptions(self) -> dict[bytes, Any]:
        """A DescribeGroupResponse of each group whose members Kafka manages, by its name."""
        descriptions: dict[bytes, Any] = {}
        for broker in self.brokers.values():
            groups = [each.group_id for each in broker.list_groups().groups.values()]
            descriptions.update(broker.describe_groups(groups).groups)
        return descriptions

    def get_offset_manager(self, consumer_group: Any) -> Any:
        """The name that `get_group_coordinator` had before 2.3."""
        log.warning(
            "WARNING: Cluster.get_offset_manager is deprecated since pykafka 2.3.0. Instead, use "
            "Cluster.get_group_coordinator."
        )
        return self.get_group_coordinator(consumer_group)

    def get_group_coordinator(self, consumer_group: Any) -> Any:
        """The broker that coordinates a group; asked for several times, with pauses that grow.

        Raises: GroupCoordinatorNotAvailable, SocketDisconnectedError.
        """
        log.info("Attempting to discover offset manager for consumer group '%s'", consumer_group)
        for attempt in range(self._max_connection_retries_offset_mgr):
            if attempt > 0:
                log.debug("Retrying offset manager discovery")
            time.sleep(attempt * 2)
            is_last = attempt == self._max_connection_retries_offset_mgr - 1
            for broker in [*self.brokers.values()]:
                response = self._ask_for_coordinator(broker, consumer_group, is_last)
                if response is None:
                    continue
                coordinator = self.brokers.get(response.coordinator_id)
                if coordinator is None:
                    raise Exception(f"Coordinator broker with id {response.coordinator_id} not found")
                log.info("Found coordinator broker with id %s", response.coordinator_id)
                return coordinator
        return None

    def _ask_for_coordinator(self, broker: Broker, consumer_group: Any, is_last: bool) -> Any:
        requests = broker.handler
        try:
            if requests is None:
                log.error("Broker %s not connected during offset manager discovery", broker.id)
                raise SocketDisconnectedError
            return requests.request(GroupCoordinatorRequest(consumer_group)).get(GroupCoordinatorResponse)
        except GroupCoordinatorNotAvailable:
            log.error("Error discovering offset manager - GroupCoordinatorNotAvailable.")
            if is_last:
                raise
        except SocketDisconnectedError:
            log.warning("Socket disconnected during offset manager discovery")
            if is_last:
                raise
            self.update()
        return None

    def fetch_api_versions(self) -> None:
        """Asks which versions brokers speak, or says it of those that are too old to be asked.

        Raises: SocketDisconnectedError when none answers.
        """
        version = parse_version(self._broker_version)
        if version < parse_version("0.10.0"):
            log.info(
                "Broker version is too old to use automatic API version discovery. Falling back to "
                "hardcoded versions list."
            )
            is_of_groups = version >= parse_version("0.9.0")
            self._api_versions = API_VERSIONS_090 if is_of_groups else API_VERSIONS_080
            return
        log.info("Requesting API version information")
        broker_connects = self._get_broker_connection_info()
        response = self._request_random_broker(broker_connects, lambda broker: broker.fetch_api_versions())
        if not response:
            raise SocketDisconnectedError()
        self._api_versions = response.api_versions
        log.info("Got api version info: %s", self._api_versions)

    def update(self) -> None:
        """Asks for brokers and topics anew. Raises: NoBrokersAvailableError; LeaderNotFoundError for a topic
        in use without a leader."""
        topics: Any = self._topics
        for tries_left in reversed(range(self._max_connection_retries)):
            log.debug("Updating cluster, %s tries left", tries_left)
            metadata = self._get_metadata()
            if not metadata.brokers and not metadata.topics:
                log.warning("No broker metadata found. The cluster may be a fresh one without topics.")
            self._update_brokers(metadata.brokers, metadata.controller_id)
            try:
                topics._update_topics(metadata.topics)
            except LeaderNotFoundError:
                log.warning(
                    "LeaderNotFoundError encountered. This may be because one or more partitions have no "
                    "available replicas."
                )
                if not tries_left:
                    raise
            else:
                return


def _servers(cluster: Any) -> list[str]:
    return [] if cluster is None else cluster._servers()
