"""Executors, workers of Spark and brokers killed in turn, under an exactly-once stream on a cluster.

    python -m tests.spark.killed_cluster [--rounds 2] [--connect]

A master and three workers, each with an executor, and three Kafka brokers. Numbers are written all the
time. In each round an executor is killed, then a worker with its executor, then a broker, each when the query
has got on since. With `--connect` the query is one of a server of Spark Connect. At the end whoever
drives the query is killed too, and another goes on to the end: then the target has to hold each number once.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.spark.conftest import Kafka, committed
from tests.spark.copy_stream import FOR_EVER, SETTINGS, UNTIL_THERE
from tests.spark.standalone import ENVIRONMENT, HOST, SPARK_CLASS, StandaloneSpark
from tests.spark.steady_load import PARTITIONS, Load
from tests.waiting import wait_for

from barnabas.testing import ApacheKafkaCluster, free_ports
from barnabas.testing.process import ServerProcess

WORKERS = 3
PROGRESS_SECONDS = 300.0
ROOT = Path(__file__).resolve().parents[2]
CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


class Trial:
    """What runs, and what is killed of it."""

    def __init__(self, folder: Path, stack: ExitStack, *, by_connect: bool) -> None:
        self._folder = folder
        self._checkpoint = folder / "checkpoint"
        self.cluster = stack.enter_context(ApacheKafkaCluster())
        self.spark = stack.enter_context(StandaloneSpark(folder, WORKERS))
        self.kafka = Kafka(self.cluster.bootstrap)
        self.source, self.target = (self.kafka.create(PARTITIONS, replicas=3) for _ in range(2))
        self._is_by_connect = by_connect
        self._server: ServerProcess | None = None
        self._query: subprocess.Popen[bytes] | None = None
        stack.callback(self.end)

    def _connect_server(self) -> str:
        (port,) = free_ports(1)
        settings = SETTINGS | {
            "spark.connect.grpc.binding.port": str(port),
            "spark.connect.grpc.binding.address": HOST,
        }
        given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        submit = [str(SPARK_CLASS), "org.apache.spark.deploy.SparkSubmit", "--master", self.spark.address]
        submit += ["--driver-memory", "1g"]
        command = [*submit, *given, "--class", CONNECT_SERVER, "spark-internal"]
        environment = {**ENVIRONMENT, "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "1g"}
        self._server = ServerProcess(command, self._folder / "connect.log", environment=environment)
        wait_for(lambda: is_listening(port), timeout=PROGRESS_SECONDS)
        return f"sc://{HOST}:{port}"

    def start(self, follow: str = FOR_EVER) -> None:
        driver = self._connect_server() if self._is_by_connect else self.spark.address
        arguments = [self.cluster.bootstrap, self.source, self.target, str(self._checkpoint), "exactly-once"]
        with (self._folder / "query.log").open("ab") as log:
            self._query = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.copy_stream", driver, *arguments, follow],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **ENVIRONMENT},
            )

    def finish(self) -> None:
        """Ends the query, and has another go on from its checkpoint to the end of the source."""
        self.end()
        self.start(UNTIL_THERE)
        assert self._query is not None
        assert self._query.wait(PROGRESS_SECONDS) == 0, self.log()

    def end(self) -> None:
        if self._query is not None and self._query.poll() is None:
            self._query.kill()
            self._query.wait()
        if self._server is not None:
            self._server.kill()

    def batches(self) -> int:
        """How many are done."""
        commits = (self._checkpoint / "commits").glob("[0-9]*")
        return max((int(path.name) for path in commits), default=-1) + 1

    def wait_for_batches(self, count: int) -> None:
        wanted = self.batches() + count

        def are_done() -> bool:
            assert self._query is not None
            assert self._query.poll() is None, f"the query has ended:\n{self.log()}"
            return self.batches() >= wanted

        try:
            wait_for(are_done, timeout=PROGRESS_SECONDS)
        except BaseException:
            print(self.log())
            raise

    def log(self) -> str:
        return "\n".join(path.read_text(errors="replace")[-3000:] for path in self._folder.glob("[cq]*.log"))

    def kill_executor(self, number: int) -> None:
        wait_for(lambda: self.spark.executors(number), timeout=PROGRESS_SECONDS)
        assert self.spark.kill_executor(number)

    def kill_worker(self, number: int) -> None:
        self.spark.kill_worker(number)
        self.spark.start_worker(number)
        self.spark.wait_until_whole()

    def kill_broker(self, number: int) -> None:
        node = self.cluster.nodes[number]
        node.kill()
        # Long enough for its partitions to have other leaders.
        self.wait_for_batches(2)
        node.start()
        self.cluster.wait_until_whole()


def is_listening(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((HOST, port)) == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--connect", action="store_true")
    arguments = parser.parse_args()
    began = time.monotonic()
    killed: Counter[str] = Counter()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        trial = Trial(folder, stack, by_connect=arguments.connect)
        print(f"{time.monotonic() - began:.0f} s: {WORKERS} workers and 3 brokers are there", flush=True)
        load = Load(trial.cluster.bootstrap, trial.source)
        try:
            trial.start()
            trial.wait_for_batches(2)
            victims: dict[str, Callable[[int], None]] = {
                "executor": trial.kill_executor,
                "worker": trial.kill_worker,
                "broker": trial.kill_broker,
            }
            for turn in range(arguments.rounds):
                for name, kill in victims.items():
                    number = turn % WORKERS
                    asked = time.monotonic()
                    kill(number)
                    trial.wait_for_batches(2)
                    killed[name] += 1
                    so_far = f"{time.monotonic() - began:.0f} s, {trial.batches()} batches"
                    took = f"{time.monotonic() - asked:.1f} s"
                    print(f"{so_far}: {name} {number} killed, and the query got on within {took}", flush=True)
        finally:
            expected = load.stop()
        trial.finish()
        values = committed(trial.kafka, trial.target)
        seconds = time.monotonic() - began
        print(f"{dict(killed)} killed, {trial.batches()} batches, {seconds:.0f} s")
        lost, twice = len({*expected} - {*values}), len(values) - len({*values})
        print(f"{len(expected)} rows: {lost} lost, {twice} twice")
        assert values == sorted(expected)


if __name__ == "__main__":
    main()
