"""ZooKeeper, which the releases of Apache Kafka before KRaft keep their metadata in.

Owns its process and folder. It runs out of the jars of the Kafka release that needs it, as in Kafka's own
archives, and knows nothing of the broker.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path

from barnabas.testing.distribution import KafkaDistribution
from barnabas.testing.process import KeptPorts, ServerProcess, ServerStartError, wait_until_ready

START_TIMEOUT_SECONDS = 60.0
FORGET_TIMEOUT_SECONDS = 30.0

_SETTINGS = """\
tickTime=500
dataDir={directory}/data
clientPort={port}
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=ruok,mntr
"""


class ZooKeeper:
    """One ZooKeeper on 127.0.0.1, which lasts from `start` to `close`, or as long as this process.

    `directory`: where its data and log go; it is made when missing, and stays. `remove_at_exit`: a folder to
    delete if this process ends without `close`.
    """

    def __init__(
        self, distribution: KafkaDistribution, directory: Path, *, remove_at_exit: Path | None
    ) -> None:
        self._distribution = distribution
        self._directory = directory
        self._remove_at_exit = remove_at_exit
        self._port: int | None = None
        self._kept_ports = KeptPorts()
        self._process: ServerProcess | None = None

    @property
    def port(self) -> int:
        if self._port is None:
            raise ServerStartError("ZooKeeper was never started, it has no port yet")
        return self._port

    def start(self) -> None:
        """Starts it and waits until it answers. Raises: ServerStartError (quotes its log)."""
        self._port = self._kept_ports.take()[0]
        (self._directory / "data").mkdir(parents=True, exist_ok=True)
        settings = self._directory / "zoo.cfg"
        settings.write_text(_SETTINGS.format(directory=self._directory, port=self._port))
        self.launch()

    def restart(self, *, away_seconds: float = 0) -> None:
        """Kills it, and has it come back on its port, with what it knew, sessions included.

        Raises: ServerStartError.
        """
        self.kill()
        time.sleep(away_seconds)
        self.launch()

    def kill(self) -> None:
        """Leaves it to be launched again."""
        assert self._process is not None
        self._process.kill()

    def launch(self) -> None:
        """Starts it on its port and folder. Raises: ServerStartError."""
        settings = self._directory / "zoo.cfg"
        arguments = self._distribution.java_arguments(heap_mb=128, log_level="INFO", log_target="SYSTEM_OUT")
        # Older ones want to show log4j's inner life, with classes that its maintained successor has not.
        arguments.insert(1, "-Dzookeeper.jmx.log4j.disable=true")
        self._process = ServerProcess(
            [*arguments, "org.apache.zookeeper.server.ZooKeeperServerMain", str(settings)],
            self._directory / "zookeeper.log",
            remove_at_exit=self._remove_at_exit,
        )
        wait_until_ready(
            self._process, f"ZooKeeper on 127.0.0.1:{self._port}", self._is_ready, START_TIMEOUT_SECONDS
        )

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._kept_ports.release()

    def wait_until_brokers_are_forgotten(self) -> None:
        """Waits until no broker is registered: one that is started again before that, after a kill, would
        find its own name taken and end.

        Raises: ServerStartError.
        """
        assert self._process is not None
        wait_until_ready(
            self._process,
            f"ZooKeeper on 127.0.0.1:{self.port}",
            lambda: "zk_ephemerals_count\t0\n" in self._ask("mntr"),
            FORGET_TIMEOUT_SECONDS,
        )

    def _is_ready(self) -> bool:
        return self._ask("ruok") == "imok"

    def _ask(self, word: str) -> str:
        """The answer to one of ZooKeeper's four-letter words; none when it does not answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                connection.sendall(word.encode())
                with connection.makefile("r") as stream:
                    return stream.read()
        except OSError:
            return ""
