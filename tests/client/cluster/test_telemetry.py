"""Client telemetry (KIP-714), against a real broker with a plug-in that keeps what it is pushed."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, MetricsData
from tests.telemetry_receiver import Receiver, subscribe

from barnabas import Admin, Consumer, Producer, ShareConsumer, aio
from barnabas._kernel import decompress
from barnabas.client.cluster import telemetry
from barnabas.client.cluster.otlp import Metric, encode_metrics
from barnabas.client.cluster.telemetry import CODECS
from barnabas.errors import MisuseError, NoCommonVersionError
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest
from barnabas.steps import Step, TelemetryPushed, TelemetrySubscribed
from barnabas.testing import EmbeddedBroker

ALL = "all"
UNKNOWN_SUBSCRIPTION_ID = 117


@pytest.fixture(scope="module")
def receiver(telemetry_receiver: Receiver) -> Iterator[Receiver]:
    """A broker that wants all metrics of all clients every 200 ms."""
    subscribe(telemetry_receiver.bootstrap, ALL, metrics="*", interval_ms="200")
    yield telemetry_receiver
    subscribe(telemetry_receiver.bootstrap, ALL, metrics=None, interval_ms=None)


def names_in(data: MetricsData) -> set[str]:
    return {metric.name for metric in metrics_in(data)}


def metrics_in(data: MetricsData) -> list[Any]:
    return [
        metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    ]


def points(data: MetricsData, name: str) -> list[Any]:
    (metric,) = [metric for metric in metrics_in(data) if metric.name == name]
    return list((metric.sum if metric.HasField("sum") else metric.gauge).data_points)


def subscriptions(steps: list[Step]) -> list[TelemetrySubscribed]:
    return [step for step in steps if isinstance(step, TelemetrySubscribed)]


def telemetry_pushes(steps: list[Step]) -> list[TelemetryPushed]:
    return [step for step in steps if isinstance(step, TelemetryPushed)]


def sent_records(pushes: list[tuple[uuid.UUID, bool, MetricsData]]) -> int:
    """Together: each push tells what was added since the one before."""
    name = "org.apache.kafka.producer.record.send.total"
    return sum(points(data, name)[0].as_int for _, _, data in pushes)


def test_our_encoding_is_what_opentelemetry_reads() -> None:
    encoded = encode_metrics(
        [
            Metric("a.total", "counter", 2**40, {"node_id": "1"}),
            Metric("b.avg", "gauge", -1.5),
            Metric("c.now", "gauge", -7),
            Metric("d" * 300, "counter", 0),
        ],
        resource={"group_id": "g" * 200},
        start_ns=1_700_000_000_000_000_001,
        now_ns=1_700_000_000_000_000_002,
        is_delta=True,
    )
    data = MetricsData.FromString(encoded)
    assert data.SerializeToString() == encoded
    (resource,) = data.resource_metrics
    assert [(a.key, a.value.string_value) for a in resource.resource.attributes] == [("group_id", "g" * 200)]
    counter, average, now, long = metrics_in(data)
    assert (counter.name, counter.sum.is_monotonic) == ("a.total", True)
    assert counter.sum.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
    (point,) = counter.sum.data_points
    assert point.as_int == 2**40
    assert [(a.key, a.value.string_value) for a in point.attributes] == [("node_id", "1")]
    assert point.start_time_unix_nano == 1_700_000_000_000_000_001
    assert point.time_unix_nano == 1_700_000_000_000_000_002
    assert (average.gauge.data_points[0].as_double, now.gauge.data_points[0].as_int) == (-1.5, -7)
    assert long.name == "d" * 300


def test_a_producer_pushes_the_required_metrics_and_its_last_ones_when_it_closes(
    receiver: Receiver, make_topic: Callable[..., str], eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "CLOSE_TIMEOUT_MS", 60_000)
    topic = make_topic(receiver.broker)
    client_id = f"producer-{uuid.uuid4().hex}"
    with Producer(receiver.bootstrap, client_id=client_id) as producer:
        instance_id = producer.client_instance_id(timeout=60)
        for _ in range(100):
            producer.send(topic, b"value")
        producer.flush()
        eventually(lambda: len(receiver.pushes(client_id)) >= 2)
        for _ in range(50):
            producer.send(topic, b"value")
    pushes = receiver.pushes(client_id)
    assert {pushed_by for pushed_by, _, _ in pushes} == {instance_id}
    assert [is_last for _, is_last, _ in pushes] == [False] * (len(pushes) - 1) + [True]
    prefix = "org.apache.kafka.producer."
    assert {
        f"{prefix}connection.creation.rate",
        f"{prefix}connection.creation.total",
        f"{prefix}node.request.latency.avg",
        f"{prefix}node.request.latency.max",
        f"{prefix}produce.throttle.time.avg",
        f"{prefix}produce.throttle.time.max",
        f"{prefix}record.queue.time.avg",
        f"{prefix}record.queue.time.max",
    } <= names_in(pushes[-1][2])
    # Brokers ask for what was added since the last push: together it is all that there was.
    sent = [points(data, f"{prefix}record.send.total")[0] for _, _, data in pushes]
    assert sum(point.as_int for point in sent) == 150
    assert [point.start_time_unix_nano for point in sent[1:]] == [p.time_unix_nano for p in sent[:-1]]
    (latency,) = points(pushes[-1][2], f"{prefix}node.request.latency.max")
    assert [(a.key, a.value.string_value) for a in latency.attributes] == [("node_id", "1")]
    assert latency.as_double > 0


def test_a_consumer_pushes_the_required_metrics_and_names_its_group(
    receiver: Receiver, make_topic: Callable[..., str], fill_topic: Any, eventually: Any
) -> None:
    topic = make_topic(receiver.broker, partitions=2)
    fill_topic(receiver.broker, topic, [b"value"] * 10)
    client_id = f"consumer-{uuid.uuid4().hex}"
    with Consumer(
        receiver.bootstrap, topics=[topic], group_id=topic, client_id=client_id, auto_offset_reset="earliest"
    ) as consumer:
        eventually(lambda: consumer.poll(timeout=0.2))
        consumer.commit()
        member_id = consumer.stats().member_id
        known = len(receiver.pushes(client_id))
        # The figures of the next one may be older than the commit.
        eventually(lambda: consumer.poll(timeout=0.1) or len(receiver.pushes(client_id)) >= known + 2)
        data = receiver.pushes(client_id)[-1][2]
    prefix = "org.apache.kafka.consumer."
    assert {
        f"{prefix}connection.creation.rate",
        f"{prefix}connection.creation.total",
        f"{prefix}node.request.latency.avg",
        f"{prefix}node.request.latency.max",
        f"{prefix}poll.idle.ratio.avg",
        f"{prefix}coordinator.commit.latency.avg",
        f"{prefix}coordinator.commit.latency.max",
        f"{prefix}coordinator.assigned.partitions",
        f"{prefix}coordinator.rebalance.latency.avg",
        f"{prefix}coordinator.rebalance.latency.max",
        f"{prefix}coordinator.rebalance.latency.total",
        f"{prefix}fetch.manager.fetch.latency.avg",
        f"{prefix}fetch.manager.fetch.latency.max",
    } <= names_in(data)
    assert points(data, f"{prefix}coordinator.assigned.partitions")[0].as_int == 2
    assert points(data, f"{prefix}coordinator.rebalance.latency.max")[0].as_double > 0
    assert points(data, f"{prefix}coordinator.commit.latency.max")[0].as_double > 0
    resource = {a.key: a.value.string_value for a in data.resource_metrics[0].resource.attributes}
    assert resource == {"group_id": topic, "group_member_id": member_id}


def test_only_what_is_subscribed_to_is_pushed(receiver: Receiver, make_topic: Any, eventually: Any) -> None:
    topic = make_topic(receiver.broker)
    client_id = f"producer-{uuid.uuid4().hex}"
    wanted = "org.apache.kafka.producer.record."
    with Producer(receiver.bootstrap, client_id=client_id) as producer:
        producer.send(topic, b"value")
        eventually(lambda: receiver.pushes(client_id))
        subscribe(receiver.bootstrap, ALL, metrics=wanted)
        try:
            for _ in range(10):
                producer.send(topic, b"value")
            # The broker refuses pushes for the old subscription; the client then asks for the new one.
            pushed = eventually(
                lambda: [
                    names_in(data)
                    for _, _, data in receiver.pushes(client_id)
                    if all(name.startswith(wanted) for name in names_in(data))
                ],
                30,
            )
            # What the refused ones told is told again.
            eventually(lambda: sent_records(receiver.pushes(client_id)) == 11)
        finally:
            subscribe(receiver.bootstrap, ALL, metrics="*")
    assert {f"{wanted}send.total", f"{wanted}queue.time.max"} <= pushed[0]


def test_pushing_can_be_switched_off_and_an_admin_client_pushes_only_when_told_to(
    receiver: Receiver, make_topic: Any, eventually: Any
) -> None:
    topic = make_topic(receiver.broker)
    silent, admin_id = f"silent-{uuid.uuid4().hex}", f"admin-{uuid.uuid4().hex}"
    with (
        Producer(receiver.bootstrap, client_id=silent, enable_metrics_push=False) as producer,
        Admin(receiver.bootstrap, client_id=silent) as quiet,
        Admin(receiver.bootstrap, client_id=admin_id, enable_metrics_push=True) as admin,
    ):
        producer.send(topic, b"value").result(timeout=30)
        quiet.list_topics()
        assert isinstance(admin.client_instance_id(), uuid.UUID)
        for client in (producer, quiet):
            with pytest.raises(MisuseError, match="enable_metrics_push"):
                client.client_instance_id()
        eventually(lambda: receiver.pushes(admin_id))
    assert "org.apache.kafka.admin.client.connection.count" in names_in(receiver.pushes(admin_id)[0][2])
    assert receiver.pushes(silent) == []


def test_a_share_consumer_tells_its_id_and_pushes(receiver: Receiver, eventually: Any) -> None:
    client_id = f"share-{uuid.uuid4().hex}"
    settings = {"group_id": client_id, "client_id": client_id}
    with ShareConsumer(receiver.bootstrap, topics=[client_id], **settings) as consumer:
        consumer.poll(0.1)
        instance_id = consumer.client_instance_id(timeout=60)
        eventually(lambda: receiver.pushes(client_id))
    assert isinstance(instance_id, uuid.UUID)
    assert "org.apache.kafka.consumer.connection.count" in names_in(receiver.pushes(client_id)[0][2])

    async def main() -> None:
        async with aio.ShareConsumer(receiver.bootstrap, **settings, enable_metrics_push=False) as silent:
            with pytest.raises(MisuseError, match="enable_metrics_push"):
                await silent.client_instance_id()

    asyncio.run(main())


def test_clients_push_to_the_embedded_broker_only_while_it_has_a_subscription_for_them(
    embedded_broker: EmbeddedBroker, make_topic: Any, eventually: Any
) -> None:
    bootstrap, topic, name = embedded_broker.bootstrap, make_topic(embedded_broker), uuid.uuid4().hex
    subscribe(bootstrap, name, metrics="*", interval_ms="100", match=f"client_id={name}")
    requests: list[PushTelemetryRequest] = []
    steps: list[Step] = []
    silent_steps: list[Step] = []
    with (
        embedded_broker.faults.hook(lambda _, request: requests.append(request), "PushTelemetry"),
        Producer(bootstrap, client_id=name) as producer,
        Producer(bootstrap, client_id=f"silent-{name}") as silent,
    ):
        producer.follow(steps.append)
        silent.follow(silent_steps.append)
        producer.send(topic, b"value").result(timeout=30)
        silent.send(topic, b"value").result(timeout=30)
        eventually(lambda: requests)
        assert [step.requested for step in eventually(lambda: subscriptions(silent_steps))] == [()]
        subscribe(bootstrap, name, metrics=None, interval_ms=None, match=None)
        eventually(lambda: UNKNOWN_SUBSCRIPTION_ID in [push.error_code for push in telemetry_pushes(steps)])
    assert not any(push.is_last for push in telemetry_pushes(steps))
    assert telemetry_pushes(silent_steps) == []
    told = MetricsData.FromString(decompress(CODECS[requests[0].compression_type], requests[0].metrics))
    assert "org.apache.kafka.producer.record.send.total" in names_in(told)


def test_brokers_without_a_receiver_are_not_asked_for_a_subscription(broker: Any) -> None:
    async def main() -> None:
        async with aio.Consumer(broker.bootstrap) as consumer:
            with pytest.raises(NoCommonVersionError, match="GetTelemetrySubscriptions"):
                await consumer.client_instance_id(timeout=60)
            asked = {name for b in consumer.stats().client.brokers for name in b.requests_by_api}
            assert "GetTelemetrySubscriptions" not in asked

    asyncio.run(main())
