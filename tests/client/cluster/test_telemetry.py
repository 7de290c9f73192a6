"""Client telemetry (KIP-714), against a real broker with a plug-in that keeps what it is pushed."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, MetricsData

from barnabas import Admin, Consumer, Producer, aio
from barnabas.client.cluster import telemetry
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.otlp import Metric, encode_metrics
from barnabas.errors import MisuseError, NoCommonVersionError
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.settings.table import CommonConfig, load
from barnabas.testing import ApacheKafka
from barnabas.testing.distribution import KafkaDistribution

CLIENT_METRICS = 16
SET = 0


class Receiver:
    """The broker, and what it was pushed."""

    def __init__(self, broker: ApacheKafka, folder: Path) -> None:
        self.broker = broker
        self.bootstrap = broker.bootstrap
        self._folder = folder

    def pushes(self, client_id: str) -> list[tuple[uuid.UUID, bool, MetricsData]]:
        """The pushes of a client in their order: its instance id, whether it was the last, the content."""
        found: list[tuple[uuid.UUID, bool, MetricsData]] = []
        for path in sorted(self._folder.glob(f"[0-9]*_{client_id}_*")):
            _, _, instance_id, position = path.name.rsplit("_", 3)
            found.append(
                (uuid.UUID(instance_id), position == "last", MetricsData.FromString(path.read_bytes()))
            )
        return found


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """A broker that wants all metrics of all clients every 200 ms."""
    classes, folder = tmp_path_factory.mktemp("classes"), tmp_path_factory.mktemp("pushed")
    javac = shutil.which("javac")
    assert javac is not None, "javac is needed: apt-get install openjdk-17-jdk-headless"
    source = Path(__file__).with_name("TelemetryReceiver.java")
    class_path = KafkaDistribution().class_path
    subprocess.run([javac, "-cp", class_path, "-d", str(classes), str(source)], check=True)
    jar = classes / "receiver.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: TelemetryReceiver\n")
        for path in classes.glob("*.class"):
            file.write(path, path.name)
    config = {"metric.reporters": "TelemetryReceiver", "telemetry.receiver.folder": str(folder)}
    with ApacheKafka(config=config, java_options=[f"-javaagent:{jar}"]) as broker:
        subscribe(broker.bootstrap, metrics="*", interval_ms="200")
        yield Receiver(broker, folder)


def subscribe(bootstrap: str, **settings: str) -> None:
    """Sets what the operator wants to be pushed."""
    alterable = IncrementalAlterConfigsRequest.AlterableConfig
    configs = [alterable(name.replace("_", "."), SET, value) for name, value in settings.items()]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(CLIENT_METRICS, "all", configs)

    async def main() -> None:
        client = KafkaClient(
            load(CommonConfig, {"bootstrap_servers": bootstrap, "enable_metrics_push": False})
        )
        try:
            answer = await client.send_to_controller(IncrementalAlterConfigsRequest(resources=[resource]))
            assert [response.error_code for response in answer.responses] == [0]
        finally:
            await client.close()

    asyncio.run(main())


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
        subscribe(receiver.bootstrap, metrics=wanted)
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
            subscribe(receiver.bootstrap, metrics="*")
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


def test_brokers_without_a_receiver_are_not_asked_for_a_subscription(broker: Any) -> None:
    async def main() -> None:
        async with aio.Consumer(broker.bootstrap) as consumer:
            with pytest.raises(NoCommonVersionError, match="GetTelemetrySubscriptions"):
                await consumer.client_instance_id(timeout=60)
            asked = {name for b in consumer.stats().client.brokers for name in b.requests_by_api}
            assert "GetTelemetrySubscriptions" not in asked

    asyncio.run(main())
