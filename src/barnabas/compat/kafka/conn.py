"""`BrokerConnection`: one connection to one broker, driven by the thread that uses it.

Owns its state, the requests under way, and how long it waits before it connects again. The bytes are the
core's (`network.link`).
"""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
from typing import Any, ClassVar

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.future import Future
from barnabas.compat.kafka_engine.config.api_versions import version_spoken
from barnabas.compat.kafka_engine.config.merging import known
from barnabas.compat.kafka_engine.config.servers import DEFAULT_PORT, host_of, hosts_in
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.generations.settings import default_config
from barnabas.compat.kafka_engine.network.inbox import Inbox
from barnabas.compat.kafka_engine.network.link import Link
from barnabas.compat.kafka_engine.values.failures import failure_of
from barnabas.compat.kafka_engine.wire.translation import TranslatedRequest
from barnabas.errors import BarnabasError, KafkaTimeoutError
from barnabas.net.addresses import look_up

log = logging.getLogger("kafka.conn")

DEFAULT_KAFKA_PORT = DEFAULT_PORT

_FOREVER = float("inf")
_FAMILIES: dict[int, str] = {
    socket.AF_INET: "IPv4",
    socket.AF_INET6: "IPv6",
    socket.AF_UNSPEC: "unspecified",
}
# How long `recv` waits for what is under way: a program that asks in a loop leaves the processor to the core.
_RECEIVE_SECONDS = 0.001


class ConnectionStates:
    """How far a connection is."""

    DISCONNECTING = "<disconnecting>"
    DISCONNECTED = "<disconnected>"
    CONNECTING = "<connecting>"
    HANDSHAKE = "<handshake>"
    CONNECTED = "<connected>"
    AUTHENTICATING = "<authenticating>"
    API_VERSIONS_SEND = "<checking_api_versions_send>"
    API_VERSIONS_RECV = "<checking_api_versions_recv>"


class BrokerConnection:
    """To `host` and `port`; `afi`: the family of the address, or AF_UNSPEC.

    `connect` begins; then `send` gives futures, and `recv` takes answers. Futures are completed in the thread
    that calls `recv`, or that of the KafkaClient which the connection belongs to.
    """

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = default_config("BrokerConnection")

    def __init__(self, host: str, port: int, afi: int, **configs: Any) -> None:
        inbox = configs.pop("_inbox", None)
        self.config = known(self.DEFAULT_CONFIG, configs)
        self.host = host
        self.port = port
        self.afi = afi
        self.node_id = self.config.get("node_id", 0)
        self.state = ConnectionStates.DISCONNECTED
        self.last_attempt = 0.0
        self.last_failure = 0.0
        self.in_flight_requests: dict[int, tuple[Any, float, float]] = {}
        self._inbox = inbox or Inbox()
        self._lock = threading.RLock()
        self._link: Link | None = None
        self._correlation_id = 0
        self._failures = 0
        self._reconnect_backoff = self.config["reconnect_backoff_ms"] / 1000
        self._throttle_time: float | None = None
        self._api_versions: Any = None
        self._api_version: Any = None

    # Connecting

    def connect(self) -> Any:
        """Begins to connect, or goes on with it, without waiting; the state."""
        if self.state is ConnectionStates.DISCONNECTED and not self.blacked_out():
            with self._lock:
                self.last_attempt = time.time()
                self._change(ConnectionStates.CONNECTING)
                try:
                    self._link = self._new_link()
                except Exception as error:
                    failure = failure_of(error)
                    self.close(failure)
                    if failure is error:
                        raise
                    raise failure from error
        elif self.connecting():
            self._tell(_RECEIVE_SECONDS)
        return self.state

    def _new_link(self) -> Link:
        def on_open(error: Exception | None) -> None:
            with self._lock:
                is_current = self._link is link
            if is_current:
                self._on_open(link, error)

        link = Link(self.host, self.port, self.config, self._inbox, on_open)
        return link

    def _on_open(self, link: Link, error: Exception | None) -> None:
        if error is not None:
            self.close(failure_of(error))
            return
        self._api_versions = link.versions
        self._api_version = version_spoken(link.versions)
        if "api_version" in self.config and self.config["api_version"] is None:
            self.config["api_version"] = self._api_version
        self._failures = 0
        self._reconnect_backoff = self.config["reconnect_backoff_ms"] / 1000
        log.info("%s: Connection complete.", self)
        self._change(ConnectionStates.CONNECTED)

    def connect_blocking(self, timeout: float = _FOREVER) -> bool:
        """Whether it is connected within `timeout` seconds."""
        end = time.time() + timeout
        while True:
            self.connect()
            if self.connected() or time.time() >= end or self.disconnected():
                return self.connected()
            self._tell(min(end - time.time(), 1.0))

    def _change(self, state: str) -> None:
        self.state = state
        callback = self.config["state_change_callback"]
        if generation().connections_tell_their_socket:
            callback(self.node_id, None, self)
        else:
            callback(self)

    def _tell(self, timeout_seconds: float) -> list[Any]:
        return self._inbox.tell(timeout_seconds)

    # How it is

    def connected(self) -> bool:
        if self.state is ConnectionStates.CONNECTED and self._link is not None and self._link.is_lost:
            self.close(Errors.KafkaConnectionError(f"{self}: socket disconnected"))
        return self.state is ConnectionStates.CONNECTED

    def connecting(self) -> bool:
        return self.state is ConnectionStates.CONNECTING

    def initializing(self) -> bool:
        """Whether it agrees with the broker on versions and credentials; that is done while it connects."""
        return False

    def disconnected(self) -> bool:
        return self.state is ConnectionStates.DISCONNECTED

    def connect_failed(self) -> bool:
        """Whether an attempt to connect, or the connection, has failed."""
        return self.disconnected() and self.last_attempt > 0

    def blacked_out(self) -> bool:
        """Whether it has to wait before it may connect again."""
        return self.disconnected() and self.connection_delay() > 0

    def connection_delay(self) -> float:
        """How many milliseconds to wait before there is something to do: endless while it is connected."""
        if self.state is ConnectionStates.CONNECTED:
            return _FOREVER
        if self.connecting():
            return 0
        return max(self.last_attempt + self._reconnect_backoff - time.time(), 0) * 1000

    def throttled(self) -> bool:
        return self.connected() and self.throttle_delay() > 0

    def throttle_delay(self) -> float:
        """How many milliseconds the broker wants no requests."""
        if self._throttle_time is None:
            return 0
        remaining_ms = (self._throttle_time - time.time()) * 1000
        if remaining_ms > 0:
            return remaining_ms
        self._throttle_time = None
        return 0

    def can_send_more(self) -> bool:
        """Whether neither the broker nor max_in_flight_requests_per_connection forbids a request."""
        if self.throttle_delay() > 0:
            return False
        return len(self.in_flight_requests) < self.config["max_in_flight_requests_per_connection"]

    # Requests

    if generation().connections_take_expectation:

        def send(  # pyright: ignore[reportRedeclaration] each generation has its own
            self, request: Any, expect_response: bool = True
        ) -> Any:
            """A future of the answer, or of None where none is expected."""
            return self._send(request, None, expect_response and request.expect_response())
    else:

        def send(self, request: Any, blocking: bool = True, request_timeout_ms: float | None = None) -> Any:
            """A future of the answer. `blocking` has no meaning: the core sends."""
            return self._send(request, request_timeout_ms, None)

    def _send(self, request: Any, request_timeout_ms: float | None, expect_response: bool | None) -> Any:
        future: Any = Future()
        if self.connecting():
            return future.failure(Errors.NodeNotReadyError(str(self)))
        if not self.connected():
            return future.failure(Errors.KafkaConnectionError(str(self)))
        if not self.can_send_more():
            error = (
                Errors.ThrottlingQuotaExceededError if self.throttled() else Errors.TooManyInFlightRequests
            )
            return future.failure(error(str(self)))
        exchange = TranslatedRequest(request)
        if expect_response is not None:
            exchange.expects_answer = expect_response
        timeout_ms = request_timeout_ms or self.config["request_timeout_ms"]
        link = self._link
        assert link is not None
        with self._lock:
            self._correlation_id = (self._correlation_id + 1) % 2**31
            correlation_id = self._correlation_id
            if exchange.expects_answer:
                sent = time.time()
                self.in_flight_requests[correlation_id] = (future, sent, sent + timeout_ms / 1000)
        log.debug("%s: Request %d: %s", self, correlation_id, request)

        def on_answer(answer: Any) -> Any:
            return self._on_answer(link, exchange, correlation_id, timeout_ms, answer)

        link.ask(exchange, timeout_ms, on_answer)
        if not exchange.expects_answer:
            future.success(None)
        return future

    def _on_answer(
        self, link: Link, exchange: TranslatedRequest, correlation_id: int, timeout_ms: float, answer: Any
    ) -> Any:
        under_way = self.in_flight_requests.pop(correlation_id, None) if self._link is link else None
        if under_way is None:
            return None
        future = under_way[0]
        if isinstance(answer, Exception):
            if isinstance(answer, KafkaTimeoutError):
                text = f"Request timed out after {timeout_ms} ms"
                log.warning("%s timed out after %s ms. Closing connection.", self, timeout_ms)
                error = Errors.RequestTimedOutError(text)
            elif link.is_lost:
                error = Errors.KafkaConnectionError(f"{self}: {answer}")
            else:
                future.failure(failure_of(answer))
                return None
            future.failure(error)
            self.close(error)
            return None
        try:
            response = exchange.answer_of(answer)
        except (BarnabasError, ValueError) as error:
            log.error("%s: Unable to decode the answer to %s: %s", self, exchange.asked, error)
            future.failure(Errors.KafkaProtocolError("Unable to decode response"))
            return None
        throttle_time_ms = getattr(response, "throttle_time_ms", 0)
        if throttle_time_ms:
            log.warning("%s: %s throttled by broker (%d ms)", self, type(response).__name__, throttle_time_ms)
            self._throttle_time = time.time() + throttle_time_ms / 1000
        return response, future

    def recv(self) -> Any:
        """The answers that have come: in 1.2 the next one, or None, with its future completed; later a list
        of each answer with its future, which the caller completes."""
        self.connected()
        answers = self._tell(_RECEIVE_SECONDS if self.in_flight_requests else 0)
        if not generation().recv_completes_futures:
            return answers
        for response, future in answers:
            future.success(response)
        return answers[0][0] if answers else None

    def send_pending_requests(self) -> bool:
        """Whether all that was to be sent is on its way: the core sees to it."""
        return self.connected()

    def requests_timed_out(self) -> bool:
        return bool(self.timed_out_ifrs())

    def timed_out_ifrs(self) -> list[tuple[Any, float, float]]:
        """The requests that waited too long: (future, when it was sent, until when it had time)."""
        now = time.time()
        return [each for each in list(self.in_flight_requests.values()) if each[2] < now]

    def next_ifr_request_timeout_ms(self) -> float:
        """How many milliseconds until a request has waited too long."""
        ends = [end for _, _, end in list(self.in_flight_requests.values())]
        return max((min(ends) - time.time()) * 1000, 0) if ends else _FOREVER

    def close(self, error: Exception | None = None) -> None:
        """Fails what is under way with `error`; without one, because the connection is closed."""
        with self._lock:
            if self.state is ConnectionStates.DISCONNECTED:
                return
            log.log(logging.ERROR if error else logging.INFO, "%s: Closing connection. %s", self, error or "")
            link, self._link = self._link, None
            under_way = list(self.in_flight_requests.values())
            self.in_flight_requests.clear()
            self.last_failure = time.time()
            if error is not None:
                self._wait_longer()
        if link is not None:
            link.end()
        if not generation().connections_tell_their_socket:
            self._change(ConnectionStates.DISCONNECTING)
        self._change(ConnectionStates.DISCONNECTED)
        failure = error
        if failure is None:
            closed = "Cancelled" if generation().closed_connections_cancel else "KafkaConnectionError"
            failure = getattr(Errors, closed)(str(self))
        for future, _, _ in under_way:
            future.failure(failure)

    def _wait_longer(self) -> None:
        least_ms = self.config["reconnect_backoff_ms"]
        most_ms = self.config.get("reconnect_backoff_max_ms", least_ms)
        if most_ms > least_ms:
            self._failures += 1
            wait_ms = min(least_ms * 2 ** (self._failures - 1), most_ms)
            self._reconnect_backoff = wait_ms * random.uniform(0.8, 1.2) / 1000

    def __del__(self) -> None:
        link = getattr(self, "_link", None)
        if link is not None:
            link.end()

    # Versions

    def get_api_versions(self) -> Any:
        """What the broker speaks: the lowest and highest version by API key."""
        if self._api_versions is None:
            self.check_version()
        return self._api_versions

    def check_version(self, timeout: float = 2, strict: bool = False, **kwargs: Any) -> Any:
        """The version of the broker, as a tuple, or in 1.2 as a text. Raises: NodeNotReadyError."""
        if not self.connect_blocking(timeout):
            raise Errors.NodeNotReadyError()
        text = generation().version_of_every_broker
        return self._api_version if text is None else text

    def __str__(self) -> str:
        config = self.config
        return generation().connection_text.format(
            client_id=config["client_id"],
            node_id=self.node_id,
            host=self.host,
            port=self.port,
            state=self.state,
            family=_FAMILIES[self._address()[0]],
            address=self._address()[1],
        )

    def _address(self) -> tuple[int, Any]:
        return (self.afi, None) if self._link is None else self._link.address

    __repr__ = __str__


def get_ip_port_afi(host_and_port_str: str) -> tuple[str, int, int]:
    """Host, port and family of an address: host, host:port, ipv6, [ipv6]:port."""
    return host_of(host_and_port_str)


def collect_hosts(hosts: Any, randomize: bool = True) -> list[tuple[str, int, int]]:
    """Host, port and family of each address of a list, or of a text with commas; in any order."""
    found = [(host, port if port >= 0 else DEFAULT_PORT, family) for host, port, family in hosts_in(hosts)]
    if randomize:
        random.shuffle(found)
    return list(found)


def is_inet_4_or_6(gai: Any) -> bool:
    """Whether what getaddrinfo gave is IPv4 or IPv6."""
    return gai[0] in (socket.AF_INET, socket.AF_INET6)


def dns_lookup(host: str, port: int, afi: int = socket.AF_UNSPEC) -> list[Any]:
    """What getaddrinfo gives for a host; nothing where it fails."""
    try:
        return list(filter(is_inet_4_or_6, look_up(host, port, afi)))
    except socket.gaierror as error:
        log.warning(
            "DNS lookup failed for %s:%d, exception was %s. Is your advertised.listeners (called "
            "advertised.host.name before Kafka 9) correct and resolvable?",
            host,
            port,
            error,
        )
        return []
