"""The callbacks of a client written for librdkafka: gathered as things happen, called when the program polls.

`ClientEvents` owns the queue, and turns what a client of ours tells its listeners into calls of `error_cb`,
`throttle_cb`, `stats_cb` and of the logger. They run in the thread that calls `serve`, in the order of the
events; what one raises comes out of `serve`, and the rest is left for the next. Must not know what else a
client does.

    events = ClientEvents(ClientCallbacks(error_cb=...), name=client_name("consumer", "rdkafka"))
    events.attach(client, statistics)         # a client of barnabas.sync, or its core
    events.serve(timeout)                     # from poll, consume and flush
    events.put(functools.partial(on_commit, error, partitions))      # from any thread
    events.detach()
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import itertools
import logging
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec

from barnabas._kernel import EventQueue
from barnabas.client.cluster.observed import Observed
from barnabas.clock import CLOCK
from barnabas.compat.librdkafka.config.client_callbacks import ClientCallbacks
from barnabas.compat.librdkafka.config.client_settings import NOWHERE
from barnabas.compat.librdkafka.config.property_rules import (
    LOG_CRITICAL,
    LOG_DEBUG,
    LOG_ERROR,
    LOG_INFO,
    LOG_WARNING,
)
from barnabas.compat.librdkafka.log.client_log import MAIN, ClientLog
from barnabas.compat.librdkafka.log.cluster_lines import node_name
from barnabas.compat.librdkafka.log.debug_lines import DebugLines
from barnabas.compat.librdkafka.log.failures import FailureLimit, connect_failure
from barnabas.compat.librdkafka.values.error_codes import text_of
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.compat.librdkafka.values.models import ThrottleEvent
from barnabas.errors import BarnabasError, CredentialsError, KafkaConnectionError, TlsError
from barnabas.events import (
    AllBrokersDown,
    AuthenticationFailed,
    BrokerConnected,
    BrokerDisconnected,
    ConnectFailed,
    Event,
    EventListener,
    Fault,
    OffsetOutOfRange,
    PollIntervalExceeded,
    Throttled,
)
from barnabas.loop_thread import loop_thread

logger = logging.getLogger("barnabas.compat")

# Those of which librdkafka tells throttle_cb.
_THROTTLED_REQUESTS = ("Produce", "Fetch", "ShareFetch")

_Parameters = ParamSpec("_Parameters")

_LOGICAL_OFFSETS = {"earliest": "BEGINNING", "latest": "END"}

_instances = itertools.count(1)


def client_name(kind: str, client_id: str) -> str:
    """The name of a client in logs and statistics: `rdkafka#producer-1`. Clients are numbered in the order
    they are made, whatever their kind."""
    return f"{client_id}#{kind}-{next(_instances)}"


class ClientEvents:
    """What waits to be told to the user of one client."""

    def __init__(self, callbacks: ClientCallbacks, *, name: str, prefix: str = "") -> None:
        """`prefix`: what stands before broker addresses, `sasl_ssl://` for instance."""
        self.queue = EventQueue()
        self.name = name
        self._callbacks = callbacks
        self._prefix = prefix
        self._connected_at: dict[tuple[int, str, int], float] = {}
        self._failures = FailureLimit()
        self._statistics: Callable[[], str] | None = None
        self._client: Observed | None = None
        self._listener: EventListener = self._listen
        self._timer: Any = None
        self._is_attached = False
        # Why there is no token, and whether that is why there is no connection.
        self._no_token = ""
        self._is_without_token = False
        self.log = ClientLog(callbacks.log, callbacks.logger, name=name, put=self.queue.put)
        self._debug_lines: DebugLines | None = None
        self.log.begin(callbacks.warnings)

    def put(self, call: Callable[[], object]) -> None:
        """`call()` is made by a later `serve`. On any thread."""
        self.queue.put(call)

    def tell_of_end(self, error: KafkaError, call: Callable[[], object]) -> None:
        """The client can do nothing more. `call()` is made by a later `serve`."""
        text = f"Fatal error: {KafkaError(error.code()).str()}: {error.str()}"
        self.log.write(LOG_CRITICAL, "FATAL", MAIN, text)
        self.put(call)

    def serve(self, timeout: float = 0.0) -> int:
        """Makes the calls that wait; waits up to `timeout` seconds for the first one, without end if it is
        negative. Gives their number. Ctrl-C interrupts."""
        return self.queue.serve(timeout)

    def __len__(self) -> int:
        return len(self.queue)

    def attach(self, client: Observed, statistics: Callable[[], str] | None = None) -> None:
        """From now on the events of `client` are told. `statistics` gives the text for `stats_cb`.

        Neither `client` nor the event loop keeps this: what the program's callbacks refer to, their own
        client for instance, is collected when the program drops it.
        """
        self._client = client
        self._statistics = statistics
        self._is_attached = True
        self._listener = _weak(self._listen)
        client.add_event_listener(self._listener)
        if self.log.has_debug:
            self._debug_lines = DebugLines(client.kafka_client, self.log)
        if self._callbacks.stats_cb is not None and self._callbacks.statistics_interval_ms > 0:
            loop_thread().call(_weak(self._schedule_statistics))

    def detach(self) -> None:
        """Nothing is added any more; what waits stays."""
        self._is_attached = False
        if self._client is not None:
            self._client.remove_event_listener(self._listener)
            self._client = None
        if self._debug_lines is not None:
            self._debug_lines.end()
            self._debug_lines = None
        self._statistics = None
        if self._timer is not None:
            loop_thread().call(self._timer.cancel)

    # On the event loop's thread

    def _schedule_statistics(self) -> None:
        if self._is_attached:
            seconds = self._callbacks.statistics_interval_ms / 1000
            self._timer = loop_thread().loop.call_later(seconds, _weak(self._statistics_due))

    def _statistics_due(self) -> None:
        statistics, callback = self._statistics, self._callbacks.stats_cb
        if statistics is None or callback is None:
            return
        try:
            self.put(partial(callback, statistics()))
        except Exception:
            logger.exception("%s: no statistics could be made", self.name)
        self._schedule_statistics()

    def _listen(self, event: Event) -> None:
        now = CLOCK.monotonic()
        match event:
            case BrokerConnected():
                self._is_without_token = False
                self._connected_at[event.node_id, event.host, event.port] = now
            case BrokerDisconnected(error=BarnabasError()):
                since = self._connected_at.pop((event.node_id, event.host, event.port), now)
                age_ms = int((now - since) * 1000)
                self._disconnected(event, f"(after {age_ms}ms in state UP)")
            case ConnectFailed() if f"{event.host}:{event.port}" == NOWHERE:
                # A client without brokers connects to none and complains of none.
                pass
            case ConnectFailed() if str(event.error) == self._no_token:
                # librdkafka connects to nobody before it has a token.
                self._is_without_token = True
            case ConnectFailed():
                self._is_without_token = False
                code, text = connect_failure(event.host, event.port, event.error)
                self._error(code, event, text)
            case AuthenticationFailed(error=TlsError()):
                self._error(KafkaError._SSL, event, f"SSL handshake failed: {event.error}")
            case AuthenticationFailed(error=CredentialsError(), host=""):
                self._no_token = str(event.error)
                text = f"Failed to acquire SASL OAUTHBEARER token: {event.error}"
                error = KafkaError(KafkaError._AUTHENTICATION, text)
                self._call_back(error)
                self.log.write(LOG_ERROR, "OAUTHBEARER", "background", error.str())
            case AuthenticationFailed(error=CredentialsError()):
                # Told already, by who keeps the token.
                pass
            case AuthenticationFailed():
                reason = getattr(event.error, "reason", None) or event.error
                text = f"SASL authentication error: {reason}"
                self._error(KafkaError._AUTHENTICATION, event, f"{text} (after 0ms in state AUTH_REQ)")
            case AllBrokersDown() if self._is_without_token:
                pass
            case AllBrokersDown():
                count = self._broker_count()
                text = f"{count}/{count} brokers are down"
                self._call_back(KafkaError(KafkaError._ALL_BROKERS_DOWN, text))
            case Throttled():
                if self._callbacks.throttle_cb is not None and event.api in _THROTTLED_REQUESTS:
                    name, seconds = f"{event.host}:{event.port}", event.throttle_time_ms / 1000
                    throttled = ThrottleEvent(name, event.node_id, seconds)
                    self.put(partial(self._callbacks.throttle_cb, throttled))
            case Fault():
                text = f"{event.what}: {event.error}"
                error = KafkaError(KafkaError._STATE, text)
                self._call_back(error)
                self.log.write(LOG_ERROR, "FAULT", MAIN, error.str())
            case PollIntervalExceeded():
                text = (
                    f"Application maximum poll interval ({event.max_poll_interval_ms}ms) exceeded by "
                    f"{event.exceeded_by_ms}ms (adjust max.poll.interval.ms for long-running message "
                    "processing): leaving group"
                )
                self.log.write(LOG_WARNING, "MAXPOLL", MAIN, text)
            case OffsetOutOfRange():
                self._log_reset(event)
            case _:
                pass

    def _broker_count(self) -> int:
        return 0 if self._client is None else len(self._client.kafka_client.stats().brokers)

    def _error(
        self,
        code: int,
        event: BrokerDisconnected | ConnectFailed | AuthenticationFailed,
        text: str,
        level: int = LOG_ERROR,
    ) -> None:
        broker = f"{self._prefix}{event.host}:{event.port}/{node_name(event.node_id)}"
        error = KafkaError(code, f"{broker}: {text}")
        self._call_back(error)
        line = self._failures.line(broker, error.str())
        if line is not None:
            self.log.write(level, "FAIL", broker, line)

    def _disconnected(self, event: BrokerDisconnected, when: str) -> None:
        is_peers = isinstance(event.error, KafkaConnectionError) and "closed the connection" in str(
            event.error
        )
        reason = ": connection closed by peer: receive 0 after POLLIN" if is_peers else ""
        level = LOG_INFO if self._callbacks.log.tells_closed_connections else LOG_DEBUG
        self._error(KafkaError._TRANSPORT, event, f"Disconnected{reason} {when}", level)

    def _log_reset(self, event: OffsetOutOfRange) -> None:
        if event.reset_to in _LOGICAL_OFFSETS:
            text = (
                f"{event.partition.topic} [{event.partition.partition}]: offset reset (at offset "
                f"{event.position} (leader epoch -1), broker {event.leader}) to offset "
                f"{_LOGICAL_OFFSETS[event.reset_to]} (leader epoch -1): fetch failed due to requested offset "
                f"not available on the broker: {text_of(KafkaError.OFFSET_OUT_OF_RANGE)}"
            )
            self.log.write(LOG_WARNING, "OFFSET", MAIN, text)

    def _call_back(self, error: KafkaError) -> None:
        if self._callbacks.error_cb is not None:
            self.put(partial(self._callbacks.error_cb, error))


def serve_to_the_end(serve: Callable[[], object]) -> None:
    """For a client that ends: serves on behind calls that raise, as there is no next time. What the last of
    them raised comes out. Nothing may be added meanwhile."""
    raised: BaseException | None = None
    while True:
        try:
            serve()
            break
        except BaseException as error:
            raised = error
    if raised is not None:
        raise raised


def _weak(method: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    """Calls a method for as long as its object is there."""
    reference = weakref.WeakMethod(method)

    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> None:
        found = reference()
        if found is not None:
            found(*args, **kwargs)

    return call
