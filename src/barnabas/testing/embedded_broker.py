"""Barnabas's embedded broker as a process of its own, for tests and demonstrations.

Owns the start and the end of that process. It must not import the broker, which runs in the other process.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.testing.metadata_probe import is_broker_ready
from barnabas.testing.process import (
    ServerProcess,
    ServerStartError,
    check_port_is_free,
    free_ports,
    wait_until_ready,
)

START_TIMEOUT_SECONDS = 30.0
STOP_TIMEOUT_SECONDS = 20.0


class EmbeddedBroker:
    """An embedded broker on 127.0.0.1, started by `start` or on entering the context, gone on leaving it.

    `data_dir`: where its log is kept; None is a temporary folder that goes with the broker. `config`: Kafka's
    broker settings. `port`: None takes a free one below 32768.

    Raises: ServerStartError (quotes the broker's output).
    """

    def __init__(
        self,
        data_dir: Path | str | None = None,
        *,
        config: Mapping[str, str] | None = None,
        port: int | None = None,
    ) -> None:
        self._data_dir = None if data_dir is None else Path(data_dir).absolute()
        self._directory: Path | None = None
        self._config = dict(config or {})
        self._chosen_port = port
        self._port: int | None = None
        self._process: ServerProcess | None = None

    @property
    def port(self) -> int:
        if self._port is None:
            raise ServerStartError("the broker was never started, it has no port yet")
        return self._port

    @property
    def bootstrap(self) -> str:
        """`host:port`, the same after every restart."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def log(self) -> str:
        """What the broker has written since its last start."""
        return "" if self._process is None else self._process.log()

    def start(self) -> Self:
        """Starts the broker, on the data it had if it ran before, and waits until it is ready."""
        if self._process is not None and self._process.is_alive():
            return self
        if self._process is not None:
            self._launch()
            return self
        self._port = self._chosen_port or free_ports(1)[0]
        check_port_is_free(self._port)
        self._directory = self._data_dir or Path(tempfile.mkdtemp(prefix="barnabas-broker-"))
        self._directory.mkdir(parents=True, exist_ok=True)
        try:
            self._launch()
        except ServerStartError:
            self.close()
            raise
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
        if self._data_dir is None and self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
        self._process = None

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

    def _launch(self) -> None:
        assert self._directory is not None
        command = [sys.executable, "-m", "barnabas.broker", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--data-dir", str(self._directory / "data")]
        for name, value in self._config.items():
            command += ["--config", f"{name}={value}"]
        self._process = ServerProcess(
            command,
            self._directory / "broker.log",
            environment={"PYTHONUNBUFFERED": "1"},
            remove_at_exit=None if self._data_dir else self._directory,
        )
        name = f"the embedded broker on {self.bootstrap}"
        wait_until_ready(self._process, name, lambda: is_broker_ready(self.port), START_TIMEOUT_SECONDS)
