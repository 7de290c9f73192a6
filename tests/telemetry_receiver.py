"""Real Kafka with a plug-in that keeps what clients push (KIP-714), and subscriptions to that."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.settings.table import CommonConfig, load
from barnabas.testing import ApacheKafka
from barnabas.testing.distribution import KafkaDistribution

CLIENT_METRICS = 16
SET, DELETE = 0, 1


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


@contextmanager
def receiving_kafka(classes: Path, pushed: Path) -> Iterator[Receiver]:
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
    config = {"metric.reporters": "TelemetryReceiver", "telemetry.receiver.folder": str(pushed)}
    with ApacheKafka(config=config, java_options=[f"-javaagent:{jar}"]) as broker:
        yield Receiver(broker, pushed)


def subscribe(bootstrap: str, name: str, **settings: str | None) -> None:
    """Sets what the operator wants to be pushed; None takes a setting away, and with the last the
    subscription."""
    alterable = IncrementalAlterConfigsRequest.AlterableConfig
    configs = [
        alterable(key.replace("_", "."), DELETE if value is None else SET, value)
        for key, value in settings.items()
    ]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(CLIENT_METRICS, name, configs)

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
