"""On a cluster of Spark's own: a master, two workers with an executor each, and three Kafka brokers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pyspark
import pytest
from tests.spark.conftest import Kafka, Message, committed

from barnabas.testing import ApacheKafkaCluster, free_ports
from barnabas.testing.process import ServerProcess

ROOT = Path(__file__).resolve().parents[2]
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
HOST = "127.0.0.1"
PARTITIONS = 4


@pytest.fixture
def master(tmp_path: Path, eventually: Callable[..., Any]) -> Iterator[str]:
    """The address of a master with two workers, of one core each."""
    port, web_port = free_ports(2)
    address = f"spark://{HOST}:{port}"
    commands = [["Master", "--port", str(port), "--webui-port", str(web_port)]]
    for number in range(2):
        folder = tmp_path / f"worker-{number}"
        places = ["--port", "0", "--webui-port", "0", "--work-dir", str(folder)]
        commands.append(["Worker", *places, "--cores", "1", "--memory", "1g", address])
    # Spark would otherwise write its logs' settings, and find the programs, by what this shell has set.
    environment = {"SPARK_LOCAL_IP": HOST, "SPARK_NO_DAEMONIZE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    with ExitStack() as stack:
        for number, (name, *arguments) in enumerate(commands):
            command = [str(SPARK_CLASS), f"org.apache.spark.deploy.{name.lower()}.{name}", "--host", HOST]
            log = tmp_path / f"{name}-{number}.log"
            process = ServerProcess([*command, *arguments], log, environment=environment)
            stack.callback(process.kill)
        eventually(lambda: alive_workers(web_port) == 2, timeout=300)
        yield address


def alive_workers(web_port: int) -> int:
    # A master that is about to begin answers with nothing.
    with (
        suppress(OSError, ValueError),
        urllib.request.urlopen(f"http://{HOST}:{web_port}/json/", timeout=10) as answer,
    ):
        return json.load(answer)["aliveworkers"]
    return 0


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
