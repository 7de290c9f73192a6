"""Apache Kafka itself, as one combined broker and controller in KRaft mode, for tests.

Owns the broker's settings and data. Must not know the client, whose tests depend on this.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.testing.distribution import DEFAULT_VERSION, KafkaDistribution, home
from barnabas.testing.metadata_probe import is_broker_ready
from barnabas.testing.process import (
    ServerProcess,
    ServerStartError,
    check_port_is_free,
    free_ports,
    wait_until_ready,
)

START_TIMEOUT_SECONDS = 90.0
STOP_TIMEOUT_SECONDS = 20.0

_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=4
num.partitions=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.heartbeat.interval.ms=100
group.consumer.heartbeat.interval.ms=500
num.network.threads=2
num.io.threads=3
background.threads=2
num.recovery.threads.per.data.dir=1
log.cleaner.dedupe.buffer.size=4194304
log.segment.bytes=67108864
log.index.size.max.bytes=1048576
log.segment.delete.delay.ms=1000
metadata.log.segment.bytes=8388608
controller.quorum.election.timeout.ms=500
controller.quorum.fetch.timeout.ms=1000
broker.heartbeat.interval.ms=250
broker.session.timeout.ms=2500
"""


class ApacheKafka:
    """A real Kafka broker on 127.0.0.1, started by `start` or on entering the context, gone on leaving it.

    `version`: a published release from 3.9 on. `config`: settings of the broker over the small and quick
    defaults. `port`: None takes a free one below 32768. `data_dir`: None is a temporary folder that goes with
    the broker. `heap_mb`: of the JVM. `java_options`: further flags, such as `-XX:TieredStopAtLevel=4` for
    throughput.

    Raises: MissingProgramError (no Java 17, no Maven), ServerStartError (quotes the broker's log).
    """

    def __init__(
        self,
        version: str = DEFAULT_VERSION,
        *,
        config: Mapping[str, str] | None = None,
        port: int | None = None,
        data_dir: Path | str | None = None,
        heap_mb: int = 512,
        java_options: Sequence[str] = (),
    ) -> None:
        self.version = version
        self._config = dict(config or {})
        self._ports: tuple[int, int] | None = None
        self._chosen_port = port
        self._data_dir = None if data_dir is None else Path(data_dir).absolute()
        self._directory: Path | None = self._data_dir
        self._heap_mb = heap_mb
        self._java_options = list(java_options)
        self._process: ServerProcess | None = None
        self._distribution: KafkaDistribution | None = None

    @property
    def distribution(self) -> KafkaDistribution:
        if self._distribution is None:
            self._distribution = KafkaDistribution(self.version)
        return self._distribution

    @property
    def port(self) -> int:
        if self._ports is None:
            raise ServerStartError("the broker was never started, it has no port yet")
        return self._ports[0]

    @property
    def bootstrap(self) -> str:
        """`host:port`, the same after every restart."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def log(self) -> str:
        """What the broker has logged since its last start."""
        return "" if self._process is None else self._process.log()

    def start(self) -> Self:
        """Starts the broker, on the data it had if it ran before, and waits until it is ready."""
        if self._process is not None and self._process.is_alive():
            return self
        self._make_class_archive()
        if self._ports is not None:
            self._launch()
            return self
        if self._chosen_port is not None:
            check_port_is_free(self._chosen_port)
        attempts = 1 if self._chosen_port is not None else 3
        for attempt in range(1, attempts + 1):
            self._prepare()
            try:
                self._launch()
                return self
            except ServerStartError as error:
                # Another process may have taken a port between our look and Kafka's bind.
                if attempt == attempts or "Address already in use" not in str(error):
                    self._remove_data()
                    raise
                self._remove_data()
        return self

    def stop(self) -> None:
        """Ends the broker in good order; its data stays for another `start`."""
        if self._process is not None:
            self._process.terminate(STOP_TIMEOUT_SECONDS)

    def kill(self) -> None:
        """Ends the broker as a crash would; its data stays for another `start`."""
        if self._process is not None:
            self._process.kill()

    def restart(self) -> None:
        """`stop`, then `start`."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freezes the broker with its connections open, until `resume`."""
        self._running.pause()

    def resume(self) -> None:
        self._running.resume()

    def close(self) -> None:
        """Ends the broker and removes its data, unless a `data_dir` was given."""
        self.kill()
        self._remove_data()

    def tool(
        self, class_name: str, *arguments: str, input: str | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Runs one of Kafka's command-line classes of this version; see `KafkaDistribution.tool`."""
        return self.distribution.tool(class_name, *arguments, input=input, timeout=timeout)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _running(self) -> ServerProcess:
        if self._process is None:
            raise ServerStartError("the broker was never started")
        return self._process

    def _prepare(self) -> None:
        """Chooses ports and writes the settings and the empty log."""
        if self._chosen_port is None:
            broker_port, controller_port = free_ports(2)
        else:
            broker_port, controller_port = self._chosen_port, free_ports(1)[0]
        self._ports = broker_port, controller_port
        self._directory = self._data_dir or _temporary_directory(self.version)
        self._directory.mkdir(parents=True, exist_ok=True)
        listeners = f"PLAINTEXT://127.0.0.1:{broker_port},CONTROLLER://127.0.0.1:{controller_port}"
        settings = {
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "listeners": listeners,
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker_port}",
            "log.dirs": str(self._directory / "log"),
            **self._config,
        }
        lines = [f"{name}={value}\n" for name, value in settings.items()]
        (self._directory / "server.properties").write_text(_SETTINGS + "".join(lines))
        if not (self._directory / "log" / "meta.properties").exists():
            self._format(self._directory / "server.properties")

    def _format(self, settings: Path) -> None:
        # A cluster id that begins with "-" would be read as an option.
        cluster_id = "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
        result = self.tool("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(settings))
        if result.returncode != 0:
            raise ServerStartError(
                f"Kafka could not format {settings.parent}: {result.stdout}{result.stderr}"
            )

    def _launch(self) -> None:
        assert self._directory is not None
        arguments = self.distribution.java_arguments(
            heap_mb=self._heap_mb, log_level="INFO", log_target="SYSTEM_OUT"
        )
        # After the defaults: of two flags that contradict each other, Java takes the last.
        arguments[-2:-2] = self._java_options
        self._process = ServerProcess(
            [*arguments, "kafka.Kafka", str(self._directory / "server.properties")],
            self._directory / "server.log",
            remove_at_exit=None if self._data_dir else self._directory,
        )
        name = f"Apache Kafka {self.version} on {self.bootstrap}"
        wait_until_ready(self._process, name, lambda: is_broker_ready(self.port), START_TIMEOUT_SECONDS)

    def _make_class_archive(self) -> None:
        """Runs a broker once for nothing but the archive of its classes. Once for each version of Java."""
        archive = self.distribution.class_archive
        if archive.exists():
            return
        with self.distribution.lock():
            if archive.exists():
                return
            unfinished = archive.with_suffix(".unfinished")
            trial = ApacheKafka(self.version, java_options=[f"-XX:ArchiveClassesAtExit={unfinished}"])
            try:
                trial._prepare()
                trial._launch()
                trial.stop()
            finally:
                trial.close()
            if unfinished.exists():
                unfinished.replace(archive)
            else:
                # A Java without an archive of its own makes none; the empty file stops further tries.
                archive.touch()

    def _remove_data(self) -> None:
        if self._data_dir is None and self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
        self._ports = None


def _temporary_directory(version: str) -> Path:
    parent = home() / "data"
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{version}-", dir=parent))
