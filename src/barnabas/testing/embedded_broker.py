"""Barnabas's embedded broker as a process of its own, for tests and demonstrations.

Owns the command that starts it. It must not import the broker, which runs in the other process.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from barnabas.testing.broker_process import BrokerProcess
from barnabas.testing.certificates import Certificates
from barnabas.testing.fault_control import FaultControl
from barnabas.testing.kafka_settings import KEEPS_OLD_RECORDS, PLAINTEXT, Listener
from barnabas.testing.process import ServerProcess, ServerStartError
from barnabas.testing.secure_listeners import SecureListeners


class EmbeddedBroker(BrokerProcess):
    """An embedded broker on 127.0.0.1, started by `start` or on entering the context, gone on leaving it.

    `data_dir`: where its log is kept; None is a temporary folder that goes with the broker. `config`: Kafka's
    broker settings; by default no records are deleted for their age in the first day. `port`: None takes a
    free one below 32768.

    `security`: listeners for TLS and SASL beside the plain one, users and access control; needs the
    `cryptography` package.

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
    ) -> None:
        super().__init__(port=port, data_dir=data_dir)
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
        """`host:port` of a listener by Kafka's name for it, such as SASL_SSL; see `SecureListeners`.

        Raises: ServerStartError if the broker has none of this name, or was never started.
        """
        ports = {each.name: each.port for each in self._listeners}
        if listener not in ports:
            names = ", ".join(ports) or "none before its first start"
            raise ServerStartError(f"{self._name} has no listener {listener}, but {names}")
        return f"127.0.0.1:{ports[listener]}"

    @property
    def faults(self) -> FaultControl:
        """Faults on demand. A restart forgets them. Raises: ServerStartError before the first start."""
        if self._faults is None:
            raise ServerStartError("the broker was never started, it has no faults yet")
        return self._faults

    @property
    def _name(self) -> str:
        return f"the embedded broker on {self.bootstrap}"

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
            self._listeners = [plain, *self.security.listeners(self._kept_ports)]
        self._faults = FaultControl(f"http://127.0.0.1:{self._kept_ports.take()[0]}", self.bootstrap)

    def close(self) -> None:
        if self._faults is not None:
            self._faults.end_hooks()
        super().close()
        self._faults = None

    def _run(self, directory: Path) -> ServerProcess:
        command = [sys.executable, "-m", "barnabas.broker", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--data-dir", str(directory / "data")]
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
