"""Metrics and spans as OpenTelemetry's own SDK collects them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from barnabas import Admin, Consumer, NewTopic, Producer, aio
from barnabas.errors import RecordTooLargeError
from barnabas.observe.names import name_of
from barnabas.observe.opentelemetry import ClientMetrics, Tracing


def new_topic(broker: Any, name: str) -> str:
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1, 1)])
    return name


class Traces:
    """A provider of its own, and the spans that have ended."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracing = Tracing(tracer_provider=self.provider)

    def named(self, name: str) -> list[Any]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]


@pytest.fixture
def traces() -> Traces:
    return Traces()


def take_one(consumer: Consumer) -> list[Any]:
    while not (records := consumer.poll(timeout=1.0)):
        pass
    return records


def test_a_trace_follows_a_record_from_send_to_its_processing(
    broker: Any, topic: Any, traces: Traces
) -> None:
    name, tracing = new_topic(broker, topic()), traces.tracing
    outer = traces.provider.get_tracer("application")
    with (
        Producer(broker.bootstrap, client_id="p") as producer,
        Consumer(
            broker.bootstrap, topics=[name], group_id="g", client_id="c", auto_offset_reset="earliest"
        ) as consumer,
    ):
        with outer.start_as_current_span("order"):
            told: list[Any] = []
            tracing.send(
                producer,
                name,
                b"value",
                key=b"key",
                headers=[("mine", b"1")],
                on_delivery=lambda error, metadata: told.append((error, metadata)),
            )
        producer.flush()
        records = tracing.received(consumer, take_one(consumer))
        with tracing.process(consumer, records[0]):
            pass
        with outer.start_as_current_span("batch"), tracing.process(consumer, records[0]):
            pass
    (order,) = traces.named("order")
    (sent,) = traces.named(f"send {name}")
    (polled,) = traces.named(f"poll {name}")
    alone, within = traces.named(f"process {name}")
    assert [(error, metadata.offset) for error, metadata in told] == [(None, 0)]
    assert records[0].headers[0] == ("mine", b"1")
    assert [header for header, _ in records[0].headers] == ["mine", "traceparent"]

    assert (sent.kind, sent.parent.span_id) == (SpanKind.PRODUCER, order.context.span_id)
    assert dict(sent.attributes) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.client.id": "p",
        "messaging.destination.name": name,
        "messaging.destination.partition.id": "0",
        "messaging.kafka.offset": 0,
        "messaging.kafka.message.key": "key",
        "messaging.message.body.size": 5,
    }
    assert sent.end_time > sent.start_time
    assert (polled.kind, polled.attributes["messaging.batch.message_count"]) == (SpanKind.CLIENT, 1)
    assert [link.context.span_id for link in polled.links] == [sent.context.span_id]
    assert (alone.kind, alone.parent.span_id) == (SpanKind.CONSUMER, sent.context.span_id)
    assert alone.context.trace_id == order.context.trace_id
    assert alone.attributes["messaging.consumer.group.name"] == "g"
    (batch,) = traces.named("batch")
    assert within.parent.span_id == batch.context.span_id
    assert [link.context.span_id for link in within.links] == [sent.context.span_id]


def test_a_record_that_fails_ends_its_span_with_the_error(broker: Any, topic: Any, traces: Traces) -> None:
    name = new_topic(broker, topic())
    with Producer(broker.bootstrap, max_request_size=1_000) as producer, pytest.raises(RecordTooLargeError):
        traces.tracing.send(producer, name, b"x" * 2_000)
    (sent,) = traces.named(f"send {name}")
    assert sent.status.status_code == StatusCode.ERROR
    assert sent.attributes["error.type"] == "RecordTooLargeError"
    assert [event.name for event in sent.events] == ["exception"]


def test_an_error_while_a_record_is_processed_is_recorded_and_raised(
    broker: Any, topic: Any, traces: Traces
) -> None:
    name = new_topic(broker, topic())
    with (
        Producer(broker.bootstrap) as producer,
        Consumer(broker.bootstrap, topics=[name], auto_offset_reset="earliest") as consumer,
    ):
        producer.send(name, None)
        (record,) = take_one(consumer)
        with pytest.raises(ZeroDivisionError), traces.tracing.process(consumer, record):
            raise ZeroDivisionError
    (processed,) = traces.named(f"process {name}")
    # Nobody traced the sender: the span begins a trace of its own.
    assert processed.parent is None
    assert processed.status.status_code == StatusCode.ERROR
    assert processed.attributes["messaging.kafka.message.tombstone"] is True


def test_the_producer_for_asyncio_is_traced_as_well(broker: Any, topic: Any, traces: Traces) -> None:
    name = new_topic(broker, topic())

    async def main() -> None:
        async with aio.Producer(broker.bootstrap) as producer:
            delivery = await traces.tracing.send_async(producer, name, b"value")
            assert (await delivery).offset == 0

    asyncio.run(main())
    (sent,) = traces.named(f"send {name}")
    assert sent.attributes["messaging.kafka.offset"] == 0


def test_metrics_have_standard_names_beside_our_own(broker: Any, topic: Any) -> None:
    name = new_topic(broker, topic())
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    with Producer(broker.bootstrap, client_id="p") as producer:
        metrics = ClientMetrics(producer, meter_provider=provider)
        with Consumer(
            broker.bootstrap, topics=[name], group_id="g", client_id="c", auto_offset_reset="earliest"
        ) as consumer:
            metrics.add(consumer)
            for _ in range(10):
                producer.send(name, b"value")
            producer.flush()
            taken = 0
            while taken < 10:
                taken += len(consumer.poll(timeout=1.0))
            data = reader.get_metrics_data()
            assert data is not None
            collected = {
                metric.name: metric
                for resource in data.resource_metrics
                for scope in resource.scope_metrics
                for metric in scope.metrics
            }
    provider.shutdown()
    (sent,) = collected["messaging.client.sent.messages"].data.data_points
    assert sent.value == 10
    assert dict(sent.attributes) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "send",
        "messaging.client.id": "p",
        "barnabas.client": name_of(producer),
        "messaging.destination.name": name,
        "messaging.destination.partition.id": "0",
    }
    (consumed,) = collected["messaging.client.consumed.messages"].data.data_points
    assert consumed.value == 10
    assert consumed.attributes["messaging.consumer.group.name"] == "g"
    assert collected["barnabas.producer.delivered"].unit == "By"
    assert {
        point.attributes["client_id"] for point in collected["barnabas.broker.requests"].data.data_points
    } == {
        "p",
        "c",
    }


def test_clients_of_one_client_id_have_figures_of_their_own(broker: Any, topic: Any) -> None:
    name = new_topic(broker, topic())
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    with Producer(broker.bootstrap) as producer, Producer(broker.bootstrap) as other:
        metrics = ClientMetrics(producer, other, meter_provider=provider)
        for sender, count in ((producer, 3), (other, 4)):
            for _ in range(count):
                sender.send(name, b"value")
            sender.flush()
        metrics.add(producer)  # A partition's instruments are made once there is one.
        data = reader.get_metrics_data()
    assert data is not None
    provider.shutdown()
    (scope,) = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
    points = {metric.name: metric.data.data_points for metric in scope.metrics}
    wanted = {(name_of(producer), 3), (name_of(other), 4)}
    assert {(p.attributes["client"], p.value) for p in points["barnabas.producer.records"]} == wanted
    sent = points["messaging.client.sent.messages"]
    assert {(p.attributes["barnabas.client"], p.value) for p in sent} == wanted
    assert {p.value for p in points["barnabas.broker.up"]} == {1}
