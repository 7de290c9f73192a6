"""Apache Kafka itself, as one broker, for tests.

Owns how a broker's folder is prepared and its Java started. What a test may do with it is in
`broker_process`, its settings in `kafka_settings`. Must not know the client, whose tests depend on this.
"""

from __future__ import annotations

import base64
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from barnabas.testing.broker_process import BrokerProcess
from barnabas.testing.certificates import Certificates
from barnabas.testing.distribution import DEFAULT_VERSION, KafkaDistribution, home
from barnabas.testing.kafka_settings import (
    CONTROLLER,
    PLAINTEXT,
    Listener,
    broker_settings,
    dynamic_quorum_settings,
    properties_text,
    quorum_settings,
    zookeeper_settings,
)
from barnabas.testing.process import ServerProcess, ServerStartError, takes_connections, wait_until_ready
from barnabas.testing.secure_listeners import SecureListeners
from barnabas.testing.zookeeper import ZooKeeper

SESSION_TIMEOUT_MS = 4000


class ApacheKafka(BrokerProcess):
    """A real Kafka broker on 127.0.0.1, started by `start` or on entering the context, gone on leaving it.

    `version`: a published release. From 3.3 on it is its own controller (KRaft); an older one, down to
    0.11.0.3, brings its ZooKeeper along. `config`: settings of the broker over the small, quick defaults.
    `port`: None takes a free one below 32768. `data_dir`: None is a temporary folder that goes with the
    broker. `heap_mb`: of the JVM. `java_options`: further flags, such as `-XX:TieredStopAtLevel=4` for
    throughput. `security`: listeners for TLS and SASL beside the plain one, users and access control; needs
    the `cryptography` package. `has_dynamic_quorum`: further nodes may join (see `joining_node`), and become
    voters of the quorum (KIP-853; from 3.9 on).

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
        security: SecureListeners | None = None,
        has_dynamic_quorum: bool = False,
    ) -> None:
        super().__init__(port=port, data_dir=data_dir)
        self.version = version
        self.security = security
        self.has_dynamic_quorum = has_dynamic_quorum
        self._config = dict(config or {})
        self._heap_mb = heap_mb
        self._java_options = list(java_options)
        self._distribution: KafkaDistribution | None = None
        self._zookeeper: ZooKeeper | None = None
        self._certificates: Certificates | None = None
        self._listeners: list[Listener] = []

    @property
    def distribution(self) -> KafkaDistribution:
        """The jars that it runs out of; Maven fetches what is missing at the first access."""
        if self._distribution is None:
            self._distribution = KafkaDistribution(self.version)
        return self._distribution

    @property
    def certificates(self) -> Certificates:
        """The files of a broker with `security`, from its first start on."""
        if self._certificates is None:
            raise ServerStartError("only a broker with security, once started, has certificates")
        return self._certificates

    def bootstrap_for(self, listener: str) -> str:
        """`host:port` of a listener by Kafka's name for it, such as SASL_SSL; see `SecureListeners`.

        Raises: ServerStartError if the broker has none of this name, or was never started.
        """
        for candidate in self._listeners:
            if candidate.name == listener:
                return f"127.0.0.1:{candidate.port}"
        names = ", ".join(candidate.name for candidate in self._listeners) or "none before its first start"
        raise ServerStartError(f"the broker has no listener {listener!r}; it has {names}")

    @property
    def bootstrap_controllers(self) -> str:
        """`host:port` of its controller."""
        return self.bootstrap_for(CONTROLLER)

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, of a broker that was started."""
        return self._meta_properties["cluster.id"]

    @property
    def directory_id(self) -> uuid.UUID:
        """What a quorum tells this node's metadata from that of others by (KIP-853)."""
        encoded = self._meta_properties["directory.id"]
        return uuid.UUID(bytes=base64.urlsafe_b64decode(encoded + "=="))

    def tool(
        self, class_name: str, *arguments: str, input: str | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Runs one of Kafka's command-line classes of this version; see `KafkaDistribution.tool`."""
        return self.distribution.tool(class_name, *arguments, input=input, timeout=timeout)

    @property
    def zookeeper(self) -> str:
        """`host:port` of the ZooKeeper of an old release, once started.

        Raises: ServerStartError, also for a release that has none.
        """
        if self._zookeeper is None:
            raise ServerStartError(f"Apache Kafka {self.version} has no ZooKeeper, or was not started yet")
        return f"127.0.0.1:{self._zookeeper.port}"

    def restart_zookeeper(self, *, away_seconds: float = 0) -> None:
        """Kills the ZooKeeper of an old release, and starts it again on its port and folder.

        Raises: ServerStartError, also for a release that has none.
        """
        self._own_zookeeper.restart(away_seconds=away_seconds)

    def kill_zookeeper(self) -> None:
        """Has the ZooKeeper of an old release be away until `launch_zookeeper`.

        Raises: ServerStartError for a release that has none.
        """
        self._own_zookeeper.kill()

    def launch_zookeeper(self) -> None:
        """Brings back what `kill_zookeeper` ended, sessions included. Raises: ServerStartError."""
        self._own_zookeeper.launch()

    @property
    def _own_zookeeper(self) -> ZooKeeper:
        if self._zookeeper is None:
            raise ServerStartError(f"Apache Kafka {self.version} has no ZooKeeper that could start again")
        return self._zookeeper

    def launch(self) -> None:
        """Starts the process and does not wait until it answers; `start` does both."""
        make_class_archive(self.version)
        if self._zookeeper is not None:
            self._zookeeper.wait_until_brokers_are_forgotten()
        super().launch()

    def wait_until_ready(self) -> None:
        """Waits until all listeners take connections. Raises: ServerStartError."""
        super().wait_until_ready()
        # Kafka opens one after the other, the plain one first.
        ports = [listener.port for listener in self._listeners]
        wait_until_ready(
            self._running,
            self._name,
            lambda: all(takes_connections(port) for port in ports),
            self._start_timeout_seconds,
        )

    def close(self) -> None:
        """Kills the broker, and ZooKeeper after it where the release has one; temporary folders go too."""
        # ZooKeeper after the broker, which would fill its log with complaints.
        self.kill()
        if self._zookeeper is not None:
            self._zookeeper.close()
            self._zookeeper = None
        self._listeners = []
        super().close()

    @property
    def _name(self) -> str:
        return f"Apache Kafka {self.version} on {self.bootstrap}"

    @property
    def _start_timeout_seconds(self) -> float:
        return 180.0

    def _temporary_directory(self) -> Path:
        parent = home() / "data"
        parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{self.version}-", dir=parent))

    def _prepare(self, directory: Path) -> None:
        """Chooses ports and writes the settings and the empty log."""
        self._listeners = [Listener(PLAINTEXT, PLAINTEXT, self.port)]
        settings: dict[str, str] = {}
        if self.security is not None:
            self._certificates = Certificates.in_folder(directory / "certificates")
            self._listeners += self.security.listeners(self._kept_ports)
            settings |= self.security.settings(self._certificates)
        if self.distribution.has_zookeeper:
            self._zookeeper = ZooKeeper(
                self.distribution, directory / "zookeeper", remove_at_exit=self._removed_at_exit
            )
            self._zookeeper.start()
            settings |= zookeeper_settings(self._zookeeper.port)
        else:
            settings |= self._quorum_settings()
        defaults = broker_settings(self._listeners, str(directory / "log"), self._replicas)
        text = properties_text({**defaults, **settings, **self._config})
        (directory / "server.properties").write_text(text)
        is_formatted = (directory / "log" / "meta.properties").exists()
        if not is_formatted and not self.distribution.has_zookeeper:
            self._format(directory / "server.properties")

    @property
    def _replicas(self) -> int:
        """Of the internal topics."""
        return 1

    @property
    def _cluster_id(self) -> str:
        return new_cluster_id()

    @property
    def _meta_properties(self) -> dict[str, str]:
        if self._directory is None:
            raise ServerStartError("the broker was never started, it has no metadata yet")
        lines = (self._directory / "log" / "meta.properties").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    @property
    def _format_arguments(self) -> list[str]:
        return ["--standalone"] if self.has_dynamic_quorum else []

    def _quorum_settings(self) -> dict[str, str]:
        controller = self._add_controller_listener(self._kept_ports.take()[0])
        if self.has_dynamic_quorum:
            return dynamic_quorum_settings(1, "broker,controller", controller.port, SESSION_TIMEOUT_MS)
        return quorum_settings(1, {1: controller.port}, SESSION_TIMEOUT_MS)

    def _add_controller_listener(self, port: int) -> Listener:
        protocol = PLAINTEXT if self.security is None else self.security.controller_protocol
        controller = Listener(CONTROLLER, protocol, port)
        self._listeners.append(controller)
        return controller

    def _format(self, settings: Path) -> None:
        arguments = ["format", "-t", self._cluster_id, "-c", str(settings), *self._format_arguments]
        if self.security is not None:
            arguments += self.security.format_arguments()
        result = self.tool("kafka.tools.StorageTool", *arguments)
        if result.returncode != 0:
            raise ServerStartError(
                f"Kafka could not format {settings.parent}: {result.stdout}{result.stderr}"
            )

    def _run(self, directory: Path) -> ServerProcess:
        arguments = self.distribution.java_arguments(
            heap_mb=self._heap_mb, log_level="INFO", log_target="SYSTEM_OUT"
        )
        # After the defaults: of two flags that contradict each other, Java takes the last.
        arguments[-2:-2] = self._java_options
        return ServerProcess(
            [*arguments, "kafka.Kafka", str(directory / "server.properties")],
            directory / "server.log",
            remove_at_exit=self._removed_at_exit,
        )


def new_cluster_id() -> str:
    # One that begins with "-" would be read as an option.
    return "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]


def make_class_archive(version: str) -> None:
    """Runs a broker once for nothing but the archive of its classes. Once for each version of Java."""
    distribution = KafkaDistribution(version)
    archive = distribution.class_archive
    if archive.exists():
        return
    with distribution.lock():
        if archive.exists():
            return
        unfinished = archive.with_suffix(".unfinished")
        trial = _TrialRun(version, java_options=[f"-XX:ArchiveClassesAtExit={unfinished}"])
        trial.start()
        try:
            trial.stop()
        finally:
            trial.close()
        if unfinished.exists():
            unfinished.replace(archive)
        else:
            # A Java without an archive of its own makes none; the empty file stops further tries.
            archive.touch()


class _TrialRun(ApacheKafka):
    """A broker that runs without an archive."""

    def launch(self) -> None:
        BrokerProcess.launch(self)
