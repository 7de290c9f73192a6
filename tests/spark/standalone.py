"""A cluster of Spark's own on this machine: a master, and workers with an executor each."""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark
from tests.waiting import wait_for

from barnabas.testing import free_ports
from barnabas.testing.process import ServerProcess

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
HOST = "127.0.0.1"
START_SECONDS = 300.0
# Spark would otherwise write its logs' settings, and find the programs, by what this shell has set.
ENVIRONMENT = {
    "SPARK_LOCAL_IP": HOST,
    "SPARK_NO_DAEMONIZE": "1",
    "SPARK_DAEMON_MEMORY": "256m",
    "PYTHONPATH": os.pathsep.join(sys.path),
}


class StandaloneSpark:
    """`workers`: how many, of one core each. Each keeps what its executors do in `worker-N` of `folder`."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        port, self._web_port = free_ports(2)
        self.address = f"spark://{HOST}:{port}"
        self._workers: dict[int, ServerProcess] = {}
        self._started = 0
        master = ["--port", str(port), "--webui-port", str(self._web_port)]
        self._master = self._start("Master", "master", *master)
        for number in range(workers):
            self.start_worker(number)

    def start_worker(self, number: int) -> None:
        """Also in the place of one that was killed."""
        places = ["--port", "0", "--webui-port", "0", "--work-dir", str(self.folder / f"worker-{number}")]
        resources = ["--cores", "1", "--memory", "1g"]
        self._workers[number] = self._start("Worker", f"worker-{number}", *places, *resources, self.address)

    def _start(self, name: str, label: str, *arguments: str) -> ServerProcess:
        self._started += 1
        command = [str(SPARK_CLASS), f"org.apache.spark.deploy.{name.lower()}.{name}", "--host", HOST]
        log = self.folder / f"{label}-{self._started}.log"
        return ServerProcess([*command, *arguments], log, environment=ENVIRONMENT)

    def wait_until_whole(self) -> None:
        wait_for(lambda: self._alive_workers() == len(self._workers), timeout=START_SECONDS)

    def kill_worker(self, number: int) -> None:
        """As when its machine dies: with its executor."""
        executors = self.executors(number)
        self._workers[number].kill()
        for pid in executors:
            self._kill(pid)

    def kill_executor(self, number: int) -> bool:
        """Whether there was one. The worker starts another."""
        executors = self.executors(number)
        for pid in executors:
            self._kill(pid)
        return bool(executors)

    def executors(self, number: int) -> list[int]:
        """The processes of a worker's executors."""
        place = str(self.folder / f"worker-{number}")
        found: list[int] = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command = (process / "cmdline").read_bytes()
                if b"CoarseGrainedExecutorBackend" in command and os.readlink(process / "cwd").startswith(
                    place
                ):
                    found.append(int(process.name))
        return found

    def close(self) -> None:
        for process in (*self._workers.values(), self._master):
            process.kill()

    def __enter__(self) -> Self:
        self.wait_until_whole()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _alive_workers(self) -> int:
        # A master that is about to begin answers with nothing.
        with (
            suppress(OSError, ValueError),
            urllib.request.urlopen(f"http://{HOST}:{self._web_port}/json/", timeout=10) as answer,
        ):
            return json.load(answer)["aliveworkers"]
        return 0

    @staticmethod
    def _kill(pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
