"""OpenTelemetry for clients: their figures as metrics, and spans that follow records. Needs the extra `otel`.

    from barnabas.observe.opentelemetry import ClientMetrics, Tracing

    metrics = ClientMetrics(producer, consumer)
    tracing = Tracing()
    delivery = tracing.send(producer, "flights", b"...")
    records = tracing.received(consumer, consumer.poll())
    for record in records:
        with tracing.process(consumer, record):
            ...

Names are those of OpenTelemetry's semantic conventions for messaging and Kafka. The trace's context travels
in the records' headers. Owns spans and instruments; exporting is for the SDK that the application sets up.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any, TypedDict, TypeVar, cast

from barnabas._kernel import Delivery, Record, RecordMetadata
from barnabas.client.cluster.observed import Observed
from barnabas.client.produce.producer import Producer as AsyncProducer
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, MissingExtraError
from barnabas.observe.figures import Family, ObservableClient, collect
from barnabas.observe.names import name_of
from barnabas.settings.table import ConsumerConfig
from barnabas.sync.producer import Producer
from barnabas.types import Buffer, Headers, KeyIn, ValueIn

try:
    from opentelemetry import metrics, propagate, trace
    from opentelemetry.context import Context
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
    from opentelemetry.propagators.textmap import Getter
    from opentelemetry.trace import Link, Span, SpanKind, StatusCode, TracerProvider
except ImportError as error:
    raise MissingExtraError("barnabas.observe.opentelemetry", "otel") from error

SCOPE = "barnabas"
PREFIX = "barnabas."
SYSTEM = "kafka"
# One export asks for each instrument by itself: all of them then see the same figures.
FRESH_SECONDS = 0.5

_STANDARD = {
    "producer.records": ("messaging.client.sent.messages", "send", "Messages sent"),
    "consumer.records": ("messaging.client.consumed.messages", "poll", "Messages consumed"),
}

RecordsT = TypeVar("RecordsT", bound=Sequence[Record[Any, Any]])
OnDelivery = Callable[[BarnabasError | None, RecordMetadata | None], object]


class ClientMetrics:
    """Observable instruments over the `stats()` of any number of clients, which it does not keep alive.
    Beside Barnabas's own figures there are `messaging.client.sent.messages` and
    `messaging.client.consumed.messages`."""

    def __init__(self, *clients: ObservableClient, meter_provider: MeterProvider | None = None) -> None:
        """`meter_provider`: None is the global one."""
        self._clients: weakref.WeakSet[ObservableClient] = weakref.WeakSet()
        for client in clients:
            name_of(client)
            self._clients.add(client)
        self._meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
        self._known: set[str] = set()
        self._families: dict[str, Family] = {}
        self._collected_at = 0.0
        self._add_instruments()

    def add(self, client: ObservableClient) -> None:
        """Producers, Consumers and Admins, for asyncio or not. The attribute `client` tells them apart:
        `producer-1`, `producer-2`, in the order in which they are added first."""
        name_of(client)
        self._clients.add(client)
        self._add_instruments()

    def remove(self, client: ObservableClient) -> None:
        """Nothing happens if it was not added."""
        self._clients.discard(client)

    def _add_instruments(self) -> None:
        for family in collect(list(self._clients)):
            if family.name in self._known:
                continue
            self._known.add(family.name)
            make = (
                self._meter.create_observable_counter
                if family.kind == "counter"
                else self._meter.create_observable_gauge
            )
            make(PREFIX + family.name, [partial(self._observe, family.name)], family.unit, family.description)
            standard = _STANDARD.get(family.name)
            if standard is not None:
                name, operation, description = standard
                self._meter.create_observable_counter(
                    name, [partial(self._observe_standard, family.name, operation)], "{message}", description
                )

    def _observe(self, name: str, options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(value, labels) for labels, value in self._samples(name)]

    def _observe_standard(self, name: str, operation: str, options: CallbackOptions) -> Iterable[Observation]:
        for labels, value in self._samples(name):
            attributes = {
                "messaging.system": SYSTEM,
                "messaging.operation.name": operation,
                "messaging.client.id": labels["client_id"],
                "barnabas.client": labels["client"],
                "messaging.destination.name": labels["topic"],
                "messaging.destination.partition.id": labels["partition"],
            }
            if labels.get("group_id"):
                attributes["messaging.consumer.group.name"] = labels["group_id"]
            yield Observation(value, attributes)

    def _samples(self, name: str) -> list[tuple[dict[str, str], float]]:
        now = CLOCK.monotonic()
        if now - self._collected_at > FRESH_SECONDS:
            self._collected_at = now
            self._families = {family.name: family for family in collect(list(self._clients))}
        family = self._families.get(name)
        return [] if family is None else family.samples


class _TracedArguments(TypedDict):
    headers: list[tuple[str, bytes | None]]
    on_delivery: OnDelivery


class Tracing:
    """Spans for records on their way. One object serves any number of clients and threads."""

    def __init__(self, *, tracer_provider: TracerProvider | None = None) -> None:
        """`tracer_provider`: None is the global one."""
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)

    def send(
        self,
        producer: Producer[KeyIn, ValueIn],
        topic: str,
        value: ValueIn | None = None,
        *,
        key: KeyIn | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """`producer.send` in a span that ends with the delivery; the record's headers carry its context.

        Raises: as `Producer.send`.
        """
        with self._sending(producer, topic, value, key, headers, on_delivery) as traced:
            return producer.send(topic, value, key=key, partition=partition, timestamp=timestamp, **traced)

    async def send_async(
        self,
        producer: AsyncProducer[KeyIn, ValueIn],
        topic: str,
        value: ValueIn | None = None,
        *,
        key: KeyIn | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> Delivery:
        """`send` for the Producer of `barnabas.aio`."""
        with self._sending(producer, topic, value, key, headers, on_delivery) as traced:
            return await producer.send(
                topic, value, key=key, partition=partition, timestamp=timestamp, **traced
            )

    def received(self, consumer: Observed, records: RecordsT) -> RecordsT:
        """A span for what a poll returned, linked to the spans that sent it; gives the records back. No span
        where there are none."""
        if not records:
            return records
        topics = {record.topic for record in records}
        topic = topics.pop() if len(topics) == 1 else None
        attributes = _attributes(consumer, "poll", "receive", topic)
        attributes["messaging.batch.message_count"] = len(records)
        links = [link for record in records for link in _links(record)]
        name = "poll" if topic is None else f"poll {topic}"
        self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes, links=links).end()
        return records

    @contextlib.contextmanager
    def process(self, consumer: Observed, record: Record[Any, Any]) -> Generator[Span]:
        """A span around the work on one record: a child of the one that sent it, or, inside of another span,
        linked to it. Errors are recorded and raised."""
        attributes = _attributes(consumer, "process", "process", record.topic)
        attributes |= _record_attributes(record.partition, record.offset)
        attributes |= _content_attributes(record.raw.value, record.raw.key)
        has_parent = trace.get_current_span().get_span_context().is_valid
        with self._tracer.start_as_current_span(
            f"process {record.topic}",
            context=None if has_parent else propagate.extract(record.headers, getter=_GETTER),
            kind=SpanKind.CONSUMER,
            attributes=attributes,
            links=_links(record),
        ) as span:
            yield span

    @contextlib.contextmanager
    def _sending(
        self,
        producer: Observed,
        topic: str,
        value: object,
        key: object,
        headers: Headers | None,
        on_delivery: OnDelivery | None,
    ) -> Generator[_TracedArguments]:
        """What `producer.send` is to be given. The span ends with the delivery, or if sending fails."""
        attributes = _attributes(producer, "send", "send", topic) | _content_attributes(value, key)
        span = self._tracer.start_span(f"send {topic}", kind=SpanKind.PRODUCER, attributes=attributes)
        context: dict[str, str] = {}
        propagate.inject(context, trace.set_span_in_context(span))
        kept = [(name, text) for name, text in headers or () if name not in context]
        added = [(name, text.encode()) for name, text in context.items()]
        try:
            yield {"headers": [*kept, *added], "on_delivery": _ending(span, on_delivery)}
        except BaseException as error:
            _end(span, error)
            raise


class _HeaderGetter(Getter[Sequence[tuple[str, bytes | None]]]):
    def get(self, carrier: Sequence[tuple[str, bytes | None]], key: str) -> list[str] | None:
        found = [text.decode(errors="replace") for name, text in carrier if name == key and text is not None]
        return found or None

    def keys(self, carrier: Sequence[tuple[str, bytes | None]]) -> list[str]:
        return [name for name, _ in carrier]


_GETTER = _HeaderGetter()


def _links(record: Record[Any, Any]) -> list[Link]:
    sender = trace.get_current_span(
        propagate.extract(record.headers, Context(), getter=_GETTER)
    ).get_span_context()
    return [Link(sender)] if sender.is_valid else []


def _attributes(client: Observed, name: str, kind: str, topic: str | None) -> dict[str, Any]:
    config = client.kafka_client.config
    attributes: dict[str, Any] = {
        "messaging.system": SYSTEM,
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.client.id": config.client_id,
    }
    if topic is not None:
        attributes["messaging.destination.name"] = topic
    if (
        isinstance(client.kafka_client.config, ConsumerConfig)
        and client.kafka_client.config.group_id is not None
    ):
        attributes["messaging.consumer.group.name"] = client.kafka_client.config.group_id
    return attributes


def _record_attributes(partition: int, offset: int) -> dict[str, Any]:
    return {"messaging.destination.partition.id": str(partition), "messaging.kafka.offset": offset}


def _content_attributes(value: object, key: object) -> dict[str, Any]:
    """Of bytes, or of what a producer's serializers make bytes of later."""
    attributes: dict[str, Any] = {}
    if value is None:
        attributes["messaging.kafka.message.tombstone"] = True
    elif isinstance(value, Buffer):
        attributes["messaging.message.body.size"] = len(cast("Buffer", value))
    if isinstance(key, Buffer):
        attributes["messaging.kafka.message.key"] = bytes(cast("Buffer", key)).decode(errors="replace")
    elif key is not None:
        attributes["messaging.kafka.message.key"] = str(key)
    return attributes


def _ending(span: Span, on_delivery: OnDelivery | None) -> OnDelivery:
    def end(error: BarnabasError | None, metadata: RecordMetadata | None) -> None:
        if metadata is not None:
            span.set_attributes(_record_attributes(metadata.partition, metadata.offset))
        _end(span, error)
        if on_delivery is not None:
            on_delivery(error, metadata)

    return end


def _end(span: Span, error: BaseException | None) -> None:
    if error is not None:
        span.record_exception(error)
        span.set_attribute("error.type", type(error).__qualname__)
        span.set_status(StatusCode.ERROR, str(error))
    span.end()
