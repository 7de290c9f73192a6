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
import os
import time
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ParamSpec

from barnabas._kernel import EventQueue
from barnabas.client.cluster.observed import Observed
from barnabas.compat.librdkafka.config.client_callbacks import ClientCallbacks
from barnabas.compat.librdkafka.config.client_settings import NOWHERE
from barnabas.compat.librdkafka.config.property_rules import LOG_NOTICE, LOG_WARNING, LogLine
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.compat.librdkafka.values.models import ThrottleEvent
from barnabas.errors import BarnabasError, CredentialsError, TlsError
from barnabas.events import (
    AllBrokersDown,
    AuthenticationFailed,
    BrokerConnected,
    BrokerDisconnected,
    ConnectFailed,
    Event,
    EventListener,
    Fault,
    Throttled,
)
from barnabas.loop_thread import loop_thread

logger = logging.getLogger("barnabas.compat")

_LEVELS = {LOG_WARNING: logging.WARNING, LOG_NOTICE: logging.INFO}

# Those of which librdkafka tells throttle_cb.
_THROTTLED_REQUESTS = ("Produce", "Fetch", "ShareFetch")

_Parameters = ParamSpec("_Parameters")

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
        self._statistics: Callable[[], str] | None = None
        self._client: Observed | None = None
        self._listener: EventListener = self._listen
        self._timer: Any = None
        self._is_attached = False
        self._tell_warnings(callbacks.warnings)

    def put(self, call: Callable[[], object]) -> None:
        """`call()` is made by a later `serve`. On any thread."""
        self.queue.put(call)

    def tell_of_end(self, error: KafkaError, call: Callable[[], object]) -> None:
        """The client can do nothing more. `call()` is made by a later `serve`."""
        text = f"Fatal error: {KafkaError(error.code()).str()}: {error.str()}"
        self._log(logging.CRITICAL, "FATAL", "main", text)
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
        if self._callbacks.stats_cb is not None and self._callbacks.statistics_interval_ms > 0:
            loop_thread().call(_weak(self._schedule_statistics))

    def detach(self) -> None:
        """Nothing is added any more; what waits stays."""
        self._is_attached = False
        if self._client is not None:
            self._client.remove_event_listener(self._listener)
            self._client = None
        self._statistics = None
        if self._timer is not None:
            loop_thread().call(self._timer.cancel)

    def _tell_warnings(self, lines: Iterable[LogLine]) -> None:
        """Has the logger told, as all it is told, by `serve`; without one they are logged at once."""
        for line in lines:
            text = f"[thrd:app]: {line.text}"
            arguments = (_LEVELS[line.level], "%s [%s] %s", line.facility, self.name, text)
            if self._callbacks.logger is None:
                logger.log(*arguments)
            else:
                self.put(partial(self._callbacks.logger.log, *arguments))

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
        now = time.monotonic()
        match event:
            case BrokerConnected():
                self._connected_at[event.node_id, event.host, event.port] = now
            case BrokerDisconnected(error=BarnabasError()):
                since = self._connected_at.pop((event.node_id, event.host, event.port), now)
                age_ms = int((now - since) * 1000)
                self._error(KafkaError._TRANSPORT, event, f"Disconnected (after {age_ms}ms in state UP)")
            case ConnectFailed() if f"{event.host}:{event.port}" == NOWHERE:
                # A client without brokers connects to none and complains of none.
                pass
            case ConnectFailed():
                code, text = _connect_failure(event)
                self._error(code, event, text)
            case AuthenticationFailed(error=TlsError()):
                self._error(KafkaError._SSL, event, f"SSL handshake failed: {event.error}")
            case AuthenticationFailed(error=CredentialsError()):
                text = f"Failed to acquire SASL OAUTHBEARER token: {event.error}"
                self._tell(KafkaError(KafkaError._AUTHENTICATION, text), "OAUTHBEARER", "background")
            case AuthenticationFailed():
                self._error(KafkaError._AUTHENTICATION, event, f"SASL authentication error: {event.error}")
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
                self._tell(KafkaError(KafkaError._STATE, text), "FAULT", "main")
            case _:
                pass

    def _broker_count(self) -> int:
        return 0 if self._client is None else len(self._client.kafka_client.stats().brokers)

    def _error(
        self, code: int, event: BrokerDisconnected | ConnectFailed | AuthenticationFailed, text: str
    ) -> None:
        broker = f"{self._prefix}{event.host}:{event.port}/{_node_name(event.node_id)}"
        self._tell(KafkaError(code, f"{broker}: {text}"), "FAIL", broker)

    def _call_back(self, error: KafkaError) -> None:
        if self._callbacks.error_cb is not None:
            self.put(partial(self._callbacks.error_cb, error))

    def _tell(self, error: KafkaError, facility: str, thread: str) -> None:
        self._call_back(error)
        self._log(logging.ERROR, facility, thread, error.str())

    def _log(self, level: int, facility: str, thread: str, text: str) -> None:
        if self._callbacks.logger is not None:
            line = f"[thrd:{thread}]: {text}"
            self.put(partial(self._callbacks.logger.log, level, "%s [%s] %s", facility, self.name, line))


def _weak(method: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    """Calls a method for as long as its object is there."""
    reference = weakref.WeakMethod(method)

    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> None:
        found = reference()
        if found is not None:
            found(*args, **kwargs)

    return call


def _node_name(node_id: int) -> str:
    return "bootstrap" if node_id < 0 else str(node_id)


def _connect_failure(event: ConnectFailed) -> tuple[int, str]:
    cause = event.error.__cause__
    if isinstance(cause, OSError) and cause.strerror:
        if "resolve" in str(event.error):
            text = f"Failed to resolve '{event.host}:{event.port}': {cause.strerror}"
            return KafkaError._RESOLVE, f"{text} (after 0ms in state CONNECT)"
        family = "ipv6" if ":" in event.host else "ipv4"
        reason = os.strerror(cause.errno) if cause.errno else cause.strerror
        text = f"Connect to {family}#{event.host}:{event.port} failed: {reason}"
        return KafkaError._TRANSPORT, f"{text} (after 0ms in state CONNECT)"
    return KafkaError._TRANSPORT, str(event.error)
