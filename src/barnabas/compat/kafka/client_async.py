"""`KafkaClient`: requests to the brokers of a cluster; the thread that polls hears the answers.

Owns the connections, when metadata is asked for, and scheduled tasks. `DelayedTaskQueue` is what 1.2
schedules with.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.cluster import ClusterMetadata
from barnabas.compat.kafka.conn import BrokerConnection, ConnectionStates, collect_hosts, get_ip_port_afi
from barnabas.compat.kafka.future import Future
from barnabas.compat.kafka.util import ensure_valid_topic_name
from barnabas.compat.kafka_engine.config.api_versions import known_version
from barnabas.compat.kafka_engine.config.merging import known
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.generations.settings import default_config
from barnabas.compat.kafka_engine.network.inbox import Inbox
from barnabas.compat.kafka_engine.wire.struct_classes import struct_class

__all__ = ["ClusterMetadata", "DelayedTaskQueue", "KafkaClient"]

log = logging.getLogger("kafka.client")

_FOREVER = float("inf")
_FAR_AWAY_MS = 999999999
_BOOTSTRAP = "bootstrap"
# The newest metadata that ClusterMetadata reads.
_NEWEST_METADATA = 8


class KafkaClient:
    """Futures are completed, and callbacks called, by `poll`, in its thread. `configs` that the client does
    not know are ignored."""

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = default_config("KafkaClient")

    def __init__(self, **configs: Any) -> None:
        self._closed = False
        self._conns: dict[Any, BrokerConnection] = {}
        self.config = known(self.DEFAULT_CONFIG, configs)
        self.cluster = ClusterMetadata(**self.config)
        self._inbox = Inbox()
        self._lock = threading.RLock()
        self._topics: set[str] = set()
        self._metadata_refresh_in_progress = False
        self._api_versions: dict[int, tuple[int, int]] | None = None
        self._delayed_tasks = DelayedTaskQueue()
        self._last_bootstrap = 0.0
        self._bootstrap_fails = 0
        if not generation().cluster_has_bootstrap_brokers:
            self._bootstrap(collect_hosts(self.config["bootstrap_servers"]))
        elif self.config["api_version"] is None:
            self.config["api_version"] = self.check_version()
        else:
            version = known_version(self.config["api_version"], log)
            if version is None:
                raise Errors.UnrecognizedBrokerVersion(self.config["api_version"])
            self.config["api_version"] = version

    def _bootstrap(self, hosts: Any) -> None:
        """1.2: asks one of bootstrap_servers for metadata, and waits for it; if none answers, says so in the
        log."""
        wait_ms = self.config["reconnect_backoff_ms"] * 2**self._bootstrap_fails
        time.sleep(max(0, self._last_bootstrap + wait_ms / 1000 - time.time()))
        self._last_bootstrap = time.time()
        for host, port, family in hosts:
            log.debug("Attempting to bootstrap via node at %s:%s", host, port)
            connection = self._new_connection(_BOOTSTRAP, host, port, family)
            if connection.connect_blocking(self.config["request_timeout_ms"] / 1000):
                future = connection.send(struct_class("metadata", "MetadataRequest")[0]([]))
                while not future.is_done:
                    self._complete(self._inbox.tell(1.0))
                if future.succeeded():
                    self._api_versions = connection.get_api_versions()
                    self.cluster.update_metadata(future.value)
                    self._bootstrap_fails = 0
                    if self.cluster.brokers():
                        connection.close()
                    else:
                        self._conns[_BOOTSTRAP] = connection
                    return
            connection.close()
        log.error("Unable to bootstrap from %s", hosts)
        self._bootstrap_fails = min(self._bootstrap_fails + 1, 12)

    # Connections

    def _new_connection(self, node_id: Any, host: str, port: int, family: int) -> BrokerConnection:
        def on_state(*arguments: Any) -> None:
            self._on_state(node_id, arguments[-1])

        settings = {**self.config, "state_change_callback": on_state, "node_id": node_id}
        return BrokerConnection(host, port, family, _inbox=self._inbox, **settings)

    def _on_state(self, node_id: Any, connection: BrokerConnection) -> None:
        if connection.state is ConnectionStates.CONNECTED:
            log.debug("Node %s connected", node_id)
            if self._api_versions is None:
                self._api_versions = connection.get_api_versions()
            if node_id != _BOOTSTRAP and not self.cluster.is_bootstrap(node_id):
                for each in [
                    each for each in self._conns if each == _BOOTSTRAP or self.cluster.is_bootstrap(each)
                ]:
                    self._conns.pop(each).close()
        elif connection.disconnected() and self._conns.get(node_id) is connection:
            if self.cluster.is_bootstrap(node_id):
                self._bootstrap_fails += 1
            elif not self._closed:
                log.warning("Node %s connection failed -- refreshing metadata", node_id)
                self.cluster.request_update()

    def _connection(self, node_id: Any) -> BrokerConnection | None:
        """That of a node, made anew where the node has moved; None where the node is unknown."""
        with self._lock:
            broker = self.cluster.broker_metadata(node_id)
            connection = self._conns.get(node_id)
            has_moved = (
                connection is not None
                and broker is not None
                and connection.disconnected()
                and (connection.host, connection.port) != (get_ip_port_afi(broker.host)[0], broker.port)
            )
            if has_moved:
                connection = None
            if connection is None and broker is not None:
                host, _, family = get_ip_port_afi(broker.host)
                log.debug("Initiating connection to node %s at %s:%s", node_id, broker.host, broker.port)
                connection = self._conns[node_id] = self._new_connection(node_id, host, broker.port, family)
            return connection

    def maybe_connect(self, node_id: Any, wakeup: bool = True) -> bool:
        """Whether a connection to the node is begun now."""
        connection = self._connection(node_id)
        if connection is None or not connection.disconnected() or connection.blacked_out():
            return False
        connection.connect()
        if wakeup:
            self.wakeup()
        return True

    def ready(self, node_id: Any, metadata_priority: bool = True) -> bool:
        """Whether a node may be sent requests; begins to connect where it is not connected."""
        if generation().nodes_must_be_known:
            assert self.cluster.broker_metadata(node_id) or node_id in self._conns, (
                f"Broker id {node_id} not in current metadata"
            )
        self.maybe_connect(node_id)
        return self.is_ready(node_id, metadata_priority)

    def is_ready(self, node_id: Any, metadata_priority: bool = True) -> bool:
        """Whether a node may be sent requests: with `metadata_priority`, only once metadata is up to date."""
        if not self._can_send_request(node_id):
            return False
        return not (metadata_priority and (self._metadata_refresh_in_progress or self.cluster.ttl() == 0))

    def _can_send_request(self, node_id: Any) -> bool:
        connection = self._conns.get(node_id)
        return connection is not None and connection.connected() and connection.can_send_more()

    def connected(self, node_id: Any) -> bool:
        connection = self._conns.get(node_id)
        return connection is not None and connection.connected()

    def is_disconnected(self, node_id: Any) -> bool:
        """Whether there was a connection that is closed, or has failed."""
        connection = self._conns.get(node_id)
        return connection is not None and connection.disconnected()

    def connection_failed(self, node_id: Any) -> bool:
        connection = self._conns.get(node_id)
        return connection is not None and connection.connect_failed()

    def connection_delay(self, node_id: Any) -> float:
        """How many milliseconds to wait before sending to a node: very long where it is connected."""
        connection = self._conns.get(node_id)
        if connection is None:
            return 0
        delay_ms = connection.connection_delay()
        return _FAR_AWAY_MS if delay_ms == _FOREVER and generation().nodes_must_be_known else delay_ms

    def throttle_delay(self, node_id: Any) -> float:
        """How many milliseconds a broker wants no requests."""
        connection = self._conns.get(node_id)
        return 0 if connection is None else connection.throttle_delay()

    def bootstrap_connected(self) -> bool:
        """Whether there is a connection to one of bootstrap_servers."""
        return any(
            self.cluster.is_bootstrap(node_id) and connection.connected()
            for node_id, connection in list(self._conns.items())
        )

    def close(self, node_id: Any = None) -> None:
        """Closes the connection to a node, or all of them and the client."""
        with self._lock:
            if node_id is not None and node_id not in self._conns:
                log.warning("Node %s not found in current connection list; skipping", node_id)
                return
            if node_id is not None:
                closed = [self._conns[node_id]]
                if not generation().nodes_must_be_known:
                    del self._conns[node_id]
            else:
                self._closed = True
                closed = list(self._conns.values())
                self._conns.clear()
        for connection in closed:
            connection.close()
        self.wakeup()

    # Requests

    def send(
        self, node_id: Any, request: Any, wakeup: bool = True, request_timeout_ms: float | None = None
    ) -> Any:
        """A future of a node's answer, which `poll` completes. Raises: AssertionError in 1.2 for a node that
        is unknown."""
        if generation().nodes_must_be_known:
            self.ready(node_id)
            can_send = self.connected(node_id)
        else:
            can_send = self._can_send_request(node_id)
        if not can_send:
            self.maybe_connect(node_id, wakeup=wakeup)
            return Future().failure(Errors.NodeNotReadyError(node_id))
        connection = self._conns[node_id]
        future = (
            connection.send(request)
            if request_timeout_ms is None
            else connection.send(request, request_timeout_ms=request_timeout_ms)
        )
        if wakeup:
            self.wakeup()
        return future

    def send_and_receive(self, node_id: Any, request: Any) -> Any:
        """A node's answer. Raises: what its future fails with."""
        future = self.send(node_id, request)
        self.poll(future=future)
        assert future.is_done
        if future.failed():
            raise future.exception
        return future.value

    def in_flight_request_count(self, node_id: Any = None) -> int:
        """How many requests wait for their answers."""
        if node_id is None:
            return sum(len(each.in_flight_requests) for each in list(self._conns.values()))
        connection = self._conns.get(node_id)
        return 0 if connection is None else len(connection.in_flight_requests)

    def poll(self, timeout_ms: Any = None, future: Any = None, sleep: bool = True) -> list[Any]:
        """The answers that came within `timeout_ms` (request_timeout_ms), at the first of them; with a
        `future`, not before that is done. Completes futures, and runs scheduled tasks that are due."""
        if not isinstance(timeout_ms, (int, float, type(None))):
            raise TypeError(f"Invalid type for timeout: {type(timeout_ms)}")
        end = _FOREVER if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        responses: list[Any] = []
        while not self._closed:
            metadata_ms = self._maybe_refresh_metadata()
            self._run_tasks()
            wait_ms = 0.0
            if future is None or not future.is_done:
                given_ms = (
                    self.config["request_timeout_ms"]
                    if timeout_ms is None
                    else (end - time.monotonic()) * 1000
                )
                wait_ms = min(given_ms, metadata_ms, self._delayed_tasks.next_at() * 1000)
            responses += self._complete(self._inbox.tell(max(0, wait_ms) / 1000))
            if future is None or future.is_done or time.monotonic() >= end:
                break
        return responses

    def _complete(self, answers: list[Any]) -> list[Any]:
        for response, future in answers:
            future.success(response)
        return [response for response, _ in answers]

    def wakeup(self) -> None:
        """Ends a `poll` that waits in another thread."""
        self._inbox.wake()

    def await_ready(self, node_id: Any, timeout_ms: float = 30000) -> bool:
        """Whether a node may be sent requests within `timeout_ms`. Raises: KafkaConnectionError."""
        end = time.monotonic() + timeout_ms / 1000
        self.poll(timeout_ms=0)
        while not self.is_ready(node_id) and time.monotonic() < end:
            if self.connection_failed(node_id):
                raise Errors.KafkaConnectionError(f"Connection to {node_id} failed.")
            self.maybe_connect(node_id, wakeup=False)
            self.poll(timeout_ms=max(0, end - time.monotonic()) * 1000)
        return self.is_ready(node_id)

    # Nodes

    def least_loaded_node(self) -> Any:
        """The number of the node with the fewest requests under way, or None where none may be connected."""
        candidates = self.cluster.node_ids() or list(self._conns)
        random.shuffle(candidates)
        found, fewest = None, _FOREVER
        for node_id in candidates:
            connection = self._conns.get(node_id)
            if connection is None:
                under_way = 0
            elif connection.blacked_out() or connection.throttled():
                continue
            else:
                under_way = len(connection.in_flight_requests)
                if connection.connected() and not under_way and connection.can_send_more():
                    return node_id
            if under_way < fewest:
                found, fewest = node_id, under_way
        if found is None and generation().nodes_must_be_known:
            log.error("No nodes found in metadata -- retrying bootstrap")
            self._bootstrap(collect_hosts(self.config["bootstrap_servers"]))
        return found

    def least_loaded_node_refresh_ms(self) -> float:
        """How many milliseconds until a node may be sent requests."""
        return min(
            self.throttle_delay(each) if self.connected(each) else self.connection_delay(each)
            for each in self.cluster.node_ids()
        )

    # Metadata

    def set_topics(self, topics: Any) -> Any:
        """Has metadata kept for exactly these topics; a future of it."""
        if generation().clusters_track_topics:
            return self.cluster.set_topics(topics)
        is_more = set(topics) - self._topics
        self._topics = set(topics)
        return self.cluster.request_update() if is_more else Future().success(set(topics))

    def add_topic(self, topic: str) -> Any:
        """Has metadata kept for this topic too; a future of it. Raises: TypeError, ValueError for what is no
        name of a topic, after 1.2."""
        if generation().clusters_track_topics:
            return self.cluster.add_topic(topic)
        if not generation().nodes_must_be_known:
            ensure_valid_topic_name(topic)
        if topic in self._topics:
            return Future().success(set(self._topics))
        self._topics.add(topic)
        return self.cluster.request_update()

    def _maybe_refresh_metadata(self) -> float:
        """Asks for metadata where that is due; how many milliseconds until it is due again."""
        ttl_ms = self.cluster.ttl()
        if self._metadata_refresh_in_progress:
            return max(ttl_ms, self.config["request_timeout_ms"])
        if ttl_ms > 0:
            return ttl_ms
        node_id = self.least_loaded_node()
        if node_id is None:
            nodes = self.cluster.node_ids()
            return (
                max(self.least_loaded_node_refresh_ms(), 1) if nodes else self.config["reconnect_backoff_ms"]
            )
        if not self._can_send_request(node_id):
            self.maybe_connect(node_id, wakeup=False)
            return self.config["request_timeout_ms"]
        request = self._metadata_request(node_id)
        log.debug("Sending metadata request %s to node %s", request, node_id)
        future = self._conns[node_id].send(request)
        future.add_callback(self.cluster.update_metadata)
        future.add_errback(self.cluster.failed_update)
        self._metadata_refresh_in_progress = True
        future.add_both(self._on_refreshed)
        return self.config["request_timeout_ms"]

    def _on_refreshed(self, _: Any) -> None:
        self._metadata_refresh_in_progress = False

    def _metadata_request(self, node_id: Any) -> Any:
        if generation().clusters_track_topics:
            return self.cluster.metadata_request()
        topics: Any = list(self._topics)
        if generation().nodes_must_be_known:
            return struct_class("metadata", "MetadataRequest_v0")(
                [] if self.cluster.need_all_topic_metadata else topics
            )
        if not topics and self.cluster.is_bootstrap(node_id):
            topics = list(self.config["bootstrap_topics_filter"])
        version = self._metadata_version()
        request = struct_class("metadata", f"MetadataRequest_v{version}")
        if self.cluster.need_all_topic_metadata:
            topics = request.ALL_TOPICS
        values = (topics, self.config["allow_auto_create_topics"], False, False)
        return request(*values[: len(request.SCHEMA)])

    def _metadata_version(self) -> int:
        low, high = (self._api_versions or {}).get(3, (0, _NEWEST_METADATA))
        return max(low, min(high, _NEWEST_METADATA))

    # Versions

    def get_api_versions(self) -> Any:
        """What brokers speak: the lowest and highest version by API key; None before one was reached."""
        return self._api_versions

    def check_version(
        self, node_id: Any = None, timeout: float | None = None, strict: bool = False, **kwargs: Any
    ) -> Any:
        """The version of a node, or of any, as a tuple, or in 1.2 as a text. `timeout`: in seconds.

        Raises: NodeNotReadyError where a node is named; NoBrokersAvailable.
        """
        seconds = timeout or self.config.get("api_version_auto_timeout_ms", 2000) / 1000
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            wanted = self.least_loaded_node() if node_id is None else node_id
            if wanted is None:
                if generation().nodes_must_be_known:
                    break
                delay_ms = self.least_loaded_node_refresh_ms()
                time.sleep(max(0, min(end - time.monotonic(), delay_ms / 1000)))
                continue
            connection = self._connection(wanted)
            if connection is None:
                raise Errors.NodeNotReadyError(f"Connection failed to {wanted}")
            if connection.blacked_out():
                time.sleep(max(0, min(end - time.monotonic(), connection.connection_delay() / 1000)))
            connection.connect()
            while connection.connecting() and time.monotonic() < end:
                self._complete(self._inbox.tell(max(0, min(end - time.monotonic(), 0.2))))
            if connection.connected():
                return connection.check_version()
        if node_id is not None:
            raise Errors.NodeNotReadyError(*(() if generation().nodes_must_be_known else (node_id,)))
        raise Errors.NoBrokersAvailable()

    def api_version(self, operation: Any, max_version: int | None = None) -> int:
        """The newest of a list of requests that a broker speaks. Raises: IncompatibleBrokerVersion."""
        highest = len(operation) - 1 if max_version is None else min(len(operation) - 1, max_version)
        name, spoken = operation[0].__name__, self._api_versions or {}
        if operation[0].API_KEY not in spoken:
            raise Errors.IncompatibleBrokerVersion(
                f"Kafka broker does not support the '{name}' Kafka protocol."
            )
        low, high = spoken[operation[0].API_KEY]
        version = min(highest, high)
        if version < low:
            raise Errors.IncompatibleBrokerVersion(
                f"No version of the '{name}' Kafka protocol is supported by both the client and broker."
            )
        return version

    # Tasks

    def schedule(self, task: Callable[[], Any], at: float) -> Any:
        """Has `poll` run a task once it is `at` (seconds since 1970), in place of an earlier time for it; a
        future of what it returns."""
        return self._delayed_tasks.add(task, at)

    def unschedule(self, task: Callable[[], Any]) -> None:
        """Has a task not run; its future fails. Raises: KeyError."""
        self._delayed_tasks.remove(task)

    def _run_tasks(self) -> None:
        for task, future in self._delayed_tasks.pop_ready():
            try:
                result = task()
            except Exception as error:
                log.error("Task %s failed: %s", task, error)
                future.failure(error)
            else:
                future.success(result)


class DelayedTaskQueue:
    """Tasks and when they are due, in seconds since 1970."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Any]] = []
        self._entries: dict[Any, tuple[int, Any]] = {}
        self._count = itertools.count()

    def add(self, task: Any, at: float) -> Any:
        """A future of what the task returns; where it is queued already, that earlier future fails."""
        if task in self._entries:
            self.remove(task)
        number, future = next(self._count), Future()
        self._entries[task] = (number, future)
        heapq.heappush(self._heap, (at, number, task))
        return future

    def remove(self, task: Any) -> None:
        """Raises: KeyError."""
        _, future = self._entries.pop(task)
        future.failure(Errors.Cancelled)

    def next_at(self) -> float:
        """How many seconds until a task is due."""
        self._drop_removed()
        return max(self._heap[0][0] - time.time(), 0) if self._heap else 9999999999

    def pop_ready(self) -> list[tuple[Any, Any]]:
        """Takes out (task, future) of all that are due."""
        ready: list[tuple[Any, Any]] = []
        self._drop_removed()
        while self._heap and self._heap[0][0] < time.time():
            _, _, task = heapq.heappop(self._heap)
            ready.append((task, self._entries.pop(task)[1]))
            self._drop_removed()
        return ready

    def _drop_removed(self) -> None:
        while self._heap and self._entries.get(self._heap[0][2], (None,))[0] != self._heap[0][1]:
            heapq.heappop(self._heap)
