"""Client telemetry (KIP-714): pushes a client's figures to the brokers, where an operator has asked for them.

Owns the subscription that brokers hand out, the moments of pushing, and what brokers refuse. What is measured
is in `telemetry_metrics`, its encoding in `otlp`. A broker without a receiver for telemetry does not offer
it, and then nothing is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol, TypeVar, get_args

from barnabas import _kernel
from barnabas.background import detached
from barnabas.chance import chance
from barnabas.client.cluster.event_listeners import EventListeners
from barnabas.client.cluster.otlp import Metric, encode_metrics
from barnabas.client.cluster.telemetry_metrics import RATE_SUFFIX
from barnabas.clock import CLOCK, now_ms
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import (
    BarnabasError,
    ClosedError,
    KafkaTimeoutError,
    MisuseError,
    NoCommonVersionError,
)
from barnabas.net.addresses import in_thread
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest
from barnabas.settings.table import Codec, CommonConfig
from barnabas.steps import Step, TelemetryPushed, TelemetrySubscribed
from barnabas.values import frozen
from barnabas.wording import time_limit

logger = logging.getLogger("barnabas.client")

ResponseT = TypeVar("ResponseT", bound=Response)

NO_CLIENT_INSTANCE_ID = uuid.UUID(int=0)
CODECS = {number: codec for number, codec in enumerate(get_args(Codec)) if codec != "none"}
UNCOMPRESSED = 0
ALL_METRICS = "*"
# Where a broker does not say how long to wait.
PAUSE_SECONDS = 300.0
CLOSE_TIMEOUT_MS = 1_000
# Shares of the interval after which the first push leaves, so that not all clients push at once.
FIRST_PUSH_JITTER = (0.5, 1.5)
# Answers after which the same would be refused again for ever.
FATAL_CODES = frozenset({ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD, ErrorCode.UNSUPPORTED_VERSION})
# Answers after which the subscription is asked for again at once.
STALE_CODES = frozenset({ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE})

Measure = Callable[[], list[Metric]]
# A name and its attributes.
CounterKey = tuple[str, tuple[tuple[str, str], ...]]
Counters = dict[CounterKey, float]


def counter_key(metric: Metric) -> CounterKey:
    return metric.name, tuple(metric.attributes.items())


@frozen
class TelemetrySubscription:
    """What brokers want of this client. `requested` are beginnings of names; an empty one means all."""

    subscription_id: int
    push_interval_seconds: float
    compression_type: int
    max_bytes: int
    is_delta: bool
    requested: tuple[str, ...]

    def wants(self, name: str) -> bool:
        return any(name.startswith(beginning) for beginning in self.requested)


class TelemetryClient(Protocol):
    """What telemetry needs of the client that it is of."""

    @property
    def config(self) -> CommonConfig: ...

    @property
    def steps(self) -> EventListeners[Step]: ...

    async def any_node(self) -> int: ...

    async def send(self, node_id: int, request: Request[ResponseT]) -> ResponseT: ...

    async def refresh_metadata(self, *, timeout_ms: float) -> object: ...


class Telemetry:
    """Of one client. Does nothing before `start`."""

    def __init__(self, client: TelemetryClient) -> None:
        self._client = client
        self._measure: Measure | None = None
        self._resource: Callable[[], dict[str, str]] = dict
        self._instance_id: asyncio.Future[uuid.UUID] = asyncio.get_running_loop().create_future()
        self._subscription: TelemetrySubscription | None = None
        self._task: asyncio.Task[None] | None = None
        self._refused_compression: set[int] = set()
        self._started_ns = now_ms() * 1_000_000
        self._pushed_ns = self._started_ns
        self._pushed: Counters = {}

    def measure_with(self, measure: Measure, resource: Callable[[], dict[str, str]]) -> None:
        """`measure` gives the figures of the moment, `resource` what they are of: group_id and the like."""
        self._measure = measure
        self._resource = resource

    def start(self) -> None:
        """To be called once a broker is known; further calls change nothing."""
        if self._task is None and self._measure is not None and self._client.config.enable_metrics_push:
            self._task = detached(self._run())

    async def client_instance_id(self, timeout_ms: float) -> uuid.UUID:
        """The id that the brokers know this client by in its telemetry.

        Raises: MisuseError (enable_metrics_push is off), NoCommonVersionError (the brokers take no
        telemetry), KafkaTimeoutError, BootstrapError.
        """
        if not self._client.config.enable_metrics_push:
            raise MisuseError("there is no client instance id: set enable_metrics_push=True")
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        if self._task is None:
            await self._client.refresh_metadata(timeout_ms=timeout_ms)
            self.start()
        remaining = max(0, deadline - CLOCK.monotonic())
        await asyncio.wait([self._instance_id], timeout=remaining)
        if not self._instance_id.done():
            default_ms = self._client.config.default_api_timeout_ms
            limit = time_limit(timeout_ms, "default_api_timeout_ms", default_ms)
            raise KafkaTimeoutError(f"no broker gave this client an instance id within {limit}")
        return self._instance_id.result()

    async def close(self) -> None:
        """Pushes for the last time, where that was asked for; takes a second at most."""
        if self._task is None:
            return
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([self._task])
        subscription = self._subscription
        if subscription is not None and subscription.requested:
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT_MS / 1000):
                    await self._push(subscription, terminating=True)
            except (BarnabasError, TimeoutError) as error:
                logger.debug("client %s: no last push of telemetry: %s", self._client.config.client_id, error)
        self._give_up_instance_id(ClosedError("the client is closed"))

    async def _run(self) -> None:
        last_interval_seconds = PAUSE_SECONDS
        while True:
            self._subscription, pause = None, last_interval_seconds
            try:
                self._subscription = subscription = await self._subscribe()
                pause = last_interval_seconds = subscription.push_interval_seconds
                if subscription.requested:
                    await self._push_regularly(subscription)
                    continue
            except BarnabasError as error:
                logger.debug("client %s: telemetry: %s", self._client.config.client_id, error)
                code = getattr(error, "code", None)
                if isinstance(error, NoCommonVersionError) or code in FATAL_CODES:
                    self._give_up_instance_id(error)
                    return
            except Exception as error:
                logger.exception("client %s: telemetry stops", self._client.config.client_id)
                self._give_up_instance_id(BarnabasError(f"telemetry has stopped: {error!r}"))
                return
            await asyncio.sleep(pause)

    async def _push_regularly(self, subscription: TelemetrySubscription) -> None:
        """Returns when the subscription does not hold any more. Raises: as `_push`."""
        pause = subscription.push_interval_seconds * chance.uniform(*FIRST_PUSH_JITTER)
        is_valid = True
        while is_valid:
            await asyncio.sleep(pause)
            is_valid = await self._push(subscription, terminating=False)
            pause = subscription.push_interval_seconds

    def _give_up_instance_id(self, error: BarnabasError) -> None:
        if not self._instance_id.done():
            self._instance_id.set_exception(error)
            # Nobody has to ask for it.
            self._instance_id.exception()

    @property
    def _known_instance_id(self) -> uuid.UUID:
        return self._instance_id.result() if self._instance_id.done() else NO_CLIENT_INSTANCE_ID

    async def _subscribe(self) -> TelemetrySubscription:
        request = GetTelemetrySubscriptionsRequest(client_instance_id=self._known_instance_id)
        answer = await self._client.send(await self._client.any_node(), request)
        if answer.error_code:
            raise error_for(answer.error_code, "subscription to telemetry")
        if not self._instance_id.done():
            self._instance_id.set_result(answer.client_instance_id)
        accepted = [
            number
            for number in answer.accepted_compression_types
            if number in CODECS and number not in self._refused_compression
        ]
        subscription = TelemetrySubscription(
            subscription_id=answer.subscription_id,
            push_interval_seconds=answer.push_interval_ms / 1000
            if answer.push_interval_ms > 0
            else PAUSE_SECONDS,
            compression_type=accepted[0] if accepted else UNCOMPRESSED,
            max_bytes=answer.telemetry_max_bytes,
            is_delta=answer.delta_temporality,
            requested=tuple("" if name == ALL_METRICS else name for name in answer.requested_metrics),
        )
        if self._client.steps:
            self._client.steps.emit(
                TelemetrySubscribed(
                    subscription.subscription_id, subscription.push_interval_seconds, subscription.requested
                )
            )
        return subscription

    async def _push(self, subscription: TelemetrySubscription, *, terminating: bool) -> bool:
        """Whether the subscription still holds. Raises: BrokerError, KafkaConnectionError, ..."""
        now_ns = now_ms() * 1_000_000
        counters, payload = await self._payload(subscription, now_ns)
        if len(payload) > subscription.max_bytes:
            logger.info(
                "client %s: telemetry of %d bytes is not pushed, the brokers take %d",
                self._client.config.client_id,
                len(payload),
                subscription.max_bytes,
            )
            return True
        request = PushTelemetryRequest(
            client_instance_id=self._known_instance_id,
            subscription_id=subscription.subscription_id,
            terminating=terminating,
            compression_type=subscription.compression_type,
            metrics=payload,
        )
        node = await self._client.any_node()
        before = self._pushed_ns, self._pushed
        self._pushed_ns, self._pushed = now_ns, counters
        answer = await self._client.send(node, request)
        if self._client.steps:
            self._client.steps.emit(TelemetryPushed(len(payload), terminating, answer.error_code))
        if answer.error_code:
            # What was refused is still to be told.
            self._pushed_ns, self._pushed = before
        if answer.error_code in STALE_CODES:
            if answer.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE:
                self._refused_compression.add(subscription.compression_type)
            return False
        if answer.error_code:
            raise error_for(answer.error_code, "push of telemetry")
        return True

    async def _payload(self, subscription: TelemetrySubscription, now_ns: int) -> tuple[Counters, bytes]:
        """The counters as they are now, and what is to be pushed."""
        assert self._measure is not None
        wanted = [metric for metric in self._measure() if subscription.wants(metric.name)]
        counters = self._pushed | {counter_key(m): m.value for m in wanted if m.kind != "gauge"}
        encoded = encode_metrics(
            self._since_last_push(wanted, now_ns, is_delta=subscription.is_delta),
            resource=self._resource(),
            start_ns=self._pushed_ns if subscription.is_delta else self._started_ns,
            now_ns=now_ns,
            is_delta=subscription.is_delta,
        )
        if subscription.compression_type == UNCOMPRESSED:
            return counters, encoded
        codec = CODECS[subscription.compression_type]
        return counters, await in_thread(lambda: _kernel.compress(codec, encoded))

    def _since_last_push(self, metrics: Iterable[Metric], now_ns: int, *, is_delta: bool) -> list[Metric]:
        """Counters as growth where the brokers want that, and rates a second."""
        seconds = max(1e-9, (now_ns - self._pushed_ns) / 1e9)
        reported: list[Metric] = []
        for metric in metrics:
            if metric.kind == "gauge":
                reported.append(metric)
                continue
            growth = metric.value - self._pushed.get(counter_key(metric), 0)
            if metric.name.endswith(RATE_SUFFIX):
                reported.append(replace(metric, kind="gauge", value=growth / seconds))
            else:
                reported.append(replace(metric, value=growth) if is_delta else metric)
        return reported
