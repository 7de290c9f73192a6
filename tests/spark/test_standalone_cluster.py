"""On a cluster of Spark's own: a master, two workers with an executor each, and three Kafka brokers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.spark.conftest import Kafka, Message, committed
from tests.spark.standalone import StandaloneSpark

from barnabas.testing import ApacheKafkaCluster

ROOT = Path(__file__).resolve().parents[2]
PARTITIONS = 4


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a master with two workers, of one core each."""
    with StandaloneSpark(tmp_path, workers=2) as spark:
        yield spark.address


@pytest.mark.chaos
@pytest.mark.timeout(900)
def test_executors_on_both_workers_read_and_write(
    master: str, cluster: ApacheKafkaCluster, tmp_path: Path
) -> None:
    kafka = Kafka(cluster.bootstrap)
    source, target = (kafka.create(PARTITIONS, replicas=3) for _ in range(2))
    values = [b"%d" % number for number in range(1200)]
    kafka.write(source, [Message(value, value, int(value) % PARTITIONS) for value in values])
    job = subprocess.run(
        [
            *[sys.executable, "-m", "tests.spark.cluster_job", master, cluster.bootstrap, source, target],
            str(tmp_path / "checkpoint"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert job.returncode == 0, job.stderr[-3000:]
    report = json.loads(job.stdout.splitlines()[-1])
    workers = {Path(folder).relative_to(tmp_path).parts[0] for folder, _, _ in report["batch"]}
    assert workers == {"worker-0", "worker-1"}
    read = sorted((partition, rows) for _, partition, rows in report["batch"])
    assert read == [(partition, 300) for partition in range(PARTITIONS)]
    assert report["micro_batches"] == 2
    assert committed(kafka, target) == sorted(values)
