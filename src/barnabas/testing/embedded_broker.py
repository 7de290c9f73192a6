"""Barnabas's embedded broker as a process of its own, for tests and demonstrations.

Owns the command that starts it. It must not import the broker, which runs in the other process.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

from barnabas.errors import MisuseError
from barnabas.testing.broker_process import BrokerProcess
from barnabas.testing.certificates import Certificates
from barnabas.testing.embedded_node import EmbeddedNode
from barnabas.testing.fault_control import FaultControl
from barnabas.testing.kafka_settings import KEEPS_OLD_RECORDS, PLAINTEXT, Listener
from barnabas.testing.metadata_probe import known_broker_ports
from barnabas.testing.process import ServerProcess, ServerStartError
from barnabas.testing.secure_listeners import SecureListeners


class EmbeddedBroker(BrokerProcess):
    """An embedded broker on 127.0.0.1, started by `start` or on entering the context, gone on leaving it.

    `data_dir`: where its log is kept; None is a temporary folder that goes with the broker. `config`: Kafka's
    broker settings; by default no records are deleted for their age in the first day. `port`: None takes a
    free one below 32768. `nodes`: how many brokers the cluster has, `racks`: one for each of them.
    Topics then have as many replicas by default, and min.insync.replicas one less.

    `security`: listeners for TLS and SASL beside the plain one, users and access control; needs the
    `cryptography` package. Of several nodes each has all listeners, on ports in a row.

    `as_version`: passes for this release of Kafka, such as "2.8" or "0.10", by offering its APIs in its
    versions.

    `storage="memory"`: records are on no disk, and gone when the broker stops: a restart begins again.

    `faults`: errors, delays and whatever else is to happen to its clients (see `fault_control`).

    Raises: ServerStartError (quotes the broker's output).
    """

    def __init__(
        self,
        data_dir: Path | str | None = None,
        *,
        config: Mapping[str, str] | None = None,
        port: int | None = None,
        security: SecureListeners | None = None,
        nodes: int = 1,
        racks: Sequence[str] | None = None,
        as_version: str | None = None,
        storage: Literal["disk", "memory"] = "disk",
    ) -> None:
        super().__init__(port=port, data_dir=data_dir)
        if nodes < 1:
            raise MisuseError(f"nodes={nodes}: a cluster has at least one")
        if racks is not None and len(racks) != nodes:
            raise MisuseError(f"racks={list(racks)!r}: there are {nodes} nodes, name a rack for each")
        self._node_count = nodes
        self._racks = racks
        self._as_version = as_version
        if storage == "memory" and data_dir is not None:
            raise MisuseError(f"data_dir={str(data_dir)!r}: what is in memory has no folder")
        self._storage = storage
        self._nodes: dict[int, EmbeddedNode] = {}
        self.security = security
        self._certificates: Certificates | None = None
        self._listeners: list[Listener] = []
        self._config = KEEPS_OLD_RECORDS | dict(config or {})
        self._faults: FaultControl | None = None

    @property
    def certificates(self) -> Certificates:
        """The files of a broker with `security`. Raises: ServerStartError before the first start."""
        if self._certificates is None:
            raise ServerStartError("only a broker with security, once started, has certificates")
        return self._certificates

    def bootstrap_for(self, listener: str) -> str:
        """`host:port` of a listener by Kafka's name for it, such as SASL_SSL, at every node; see
        `SecureListeners`.

        Raises: ServerStartError if the broker has none of this name, or was never started.
        """
        ports = {each.name: each.port for each in self._listeners}
        if listener not in ports:
            names = ", ".join(ports) or "none before its first start"
            raise ServerStartError(f"{self._name} has no listener {listener}, but {names}")
        return ",".join(f"127.0.0.1:{ports[listener] + place}" for place in range(self._node_count))

    @property
    def faults(self) -> FaultControl:
        """Faults on demand. A restart forgets them. Raises: ServerStartError before the first start."""
        if self._faults is None:
            raise ServerStartError("the broker was never started, it has no faults yet")
        return self._faults

    @property
    def nodes(self) -> Mapping[int, EmbeddedNode]:
        """The nodes by their ids, from 1 on: `broker.nodes[2].stop()`. Raises: ServerStartError before a
        start."""
        if not self._nodes:
            raise ServerStartError("the broker was never started, it has no nodes yet")
        return self._nodes

    def node(self, node_id: int) -> EmbeddedNode:
        """A node by its id, from 1 on. Raises: ServerStartError before a start."""
        return self.nodes[node_id]

    def __repr__(self) -> str:
        return f"<EmbeddedBroker {self.bootstrap if self.is_alive else 'not running'}>"

    @property
    def bootstrap(self) -> str:
        """`host:port` of all nodes, the same after every restart."""
        return ",".join(node.bootstrap for node in self.nodes.values())

    def start(self) -> Self:
        """Starts the broker, on the data it had if it ran before, and waits until it is ready; where it runs,
        starts those of its nodes that do not."""
        if not self.is_alive:
            return super().start()
        for node in self.nodes.values():
            if not node.is_running:
                node.start()
        return self

    def wait_until_whole(self) -> None:
        """Waits until every node runs and is in the metadata of every other.

        Raises: ServerStartError.
        """
        self.wait_until_ready()

    def _is_ready(self) -> bool:
        # Each node answers and knows all, under whichever addresses: those of advertised.listeners need not
        # lead here.
        return all(
            len(known_broker_ports(node.port)) == self._node_count for node in list(self.nodes.values())
        )

    @property
    def _name(self) -> str:
        return f"the embedded broker on 127.0.0.1:{self.port}"

    def _take_port(self) -> int:
        in_a_row = 1 if self.security is None else self._node_count
        return self._kept_ports.take(in_a_row=in_a_row)[0]

    @property
    def _start_timeout_seconds(self) -> float:
        return 60.0

    def _temporary_directory(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="barnabas-broker-"))

    def _prepare(self, directory: Path) -> None:
        """The broker makes its own folders."""
        if self.security is not None:
            self._certificates = Certificates.in_folder(directory / "certificates")
            plain = Listener(PLAINTEXT, PLAINTEXT, self.port)
            self._listeners = [plain, *self.security.listeners(self._kept_ports, self._node_count)]
            # Each listener of a node that follows has the port behind.
            ports = [self.port + place for place in range(self._node_count)]
        else:
            ports = [self.port, *self._kept_ports.take(self._node_count - 1)]
        self._nodes = {
            node_id: EmbeddedNode(node_id, port, lambda: self.faults) for node_id, port in enumerate(ports, 1)
        }
        self._faults = FaultControl(f"http://127.0.0.1:{self._kept_ports.take()[0]}", self.bootstrap)

    def close(self) -> None:
        """Ends the process and its hooks; records in a temporary folder are gone."""
        if self._faults is not None:
            self._faults.end_hooks()
        super().close()
        self._faults = None
        self._nodes = {}

    def _run(self, directory: Path) -> ServerProcess:
        command = [sys.executable, "-m", "barnabas.broker", "--host", "127.0.0.1"]
        command += ["--port", *(str(node.port) for node in self.nodes.values())]
        command += ["--nodes", str(self._node_count), "--storage", self._storage]
        if self._storage == "disk":
            command += ["--data-dir", str(directory / "data")]
        if self._as_version is not None:
            command += ["--as-version", self._as_version]
        if self._racks is not None:
            command += ["--racks", *self._racks]
        command += ["--faults-port", str(self.faults.port)]
        config = self._config
        if self.security is not None:
            config = self.security.settings(self.certificates) | self._listener_settings() | config
            for name, password in self.security.users.items():
                command += ["--user", f"{name}={password}"]
        for name, value in config.items():
            command += ["--config", f"{name}={value}"]
        return ServerProcess(
            command,
            directory / "broker.log",
            environment={"PYTHONUNBUFFERED": "1"},
            remove_at_exit=self._removed_at_exit,
        )

    def _listener_settings(self) -> dict[str, str]:
        return {
            "listeners": ",".join(each.address for each in self._listeners),
            "listener.security.protocol.map": ",".join(
                f"{each.name}:{each.security_protocol}" for each in self._listeners
            ),
        }
