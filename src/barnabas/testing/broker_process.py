"""What every broker for tests has in common: its life as a process, its port, its folder.

Owns starting, stopping, killing, pausing and cleaning up. Must not know which program it runs: a subclass
says how to prepare the folder, which command to run, and when the broker is ready.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.errors import MisuseError
from barnabas.testing.metadata_probe import is_broker_ready
from barnabas.testing.process import (
    KeptPorts,
    ServerProcess,
    ServerStartError,
    check_port_is_free,
    folder_error,
    wait_until_ready,
)

STOP_TIMEOUT_SECONDS = 20.0
START_ATTEMPTS = 3


class BrokerProcess(ABC):
    """A broker on 127.0.0.1, started by `start` or on entering the context, gone on leaving it.

    `port`: None takes a free one below 32768. `data_dir`: None is a temporary folder that goes with the
    broker.
    """

    def __init__(self, *, port: int | None, data_dir: Path | str | None) -> None:
        self._chosen_port = port
        if data_dir == "":
            raise MisuseError("the broker's data_dir has no name: None is a temporary folder")
        self._data_dir = None if data_dir is None else Path(data_dir).absolute()
        self._port: int | None = None
        self._kept_ports = KeptPorts()
        self._directory: Path | None = None
        self._process: ServerProcess | None = None

    @property
    def port(self) -> int:
        """Where clients connect, the same after every restart. Raises: ServerStartError before a start."""
        if self._port is None:
            raise ServerStartError("the broker was never started, it has no port yet")
        return self._port

    @property
    def bootstrap(self) -> str:
        """`host:port`, the same after every restart."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The operating system's number of the process. Raises: ServerStartError while it does not run."""
        return self._running.pid

    @property
    def log(self) -> str:
        """What the broker has logged since its last start."""
        return "" if self._process is None else self._process.log()

    @property
    def is_alive(self) -> bool:
        """Whether its process runs; a paused one does."""
        return self._process is not None and self._process.is_alive()

    @property
    def is_paused(self) -> bool:
        """Whether its process runs, and `pause` holds it still."""
        return self._process is not None and self._process.is_paused and self._process.is_alive()

    def start(self) -> Self:
        """Starts the broker, on the data it had if it ran before, and waits until it is ready."""
        if self.is_alive:
            return self
        if self._directory is not None:
            self.launch()
            self.wait_until_ready()
            return self
        if self._chosen_port is not None:
            check_port_is_free(self._chosen_port)
        start_on_free_ports(self._first_start, self.close, 1 if self._chosen_port else START_ATTEMPTS)
        return self

    def launch(self) -> None:
        """Starts the process and does not wait; the first time, prepares its folder.

        For brokers that become ready together, such as the voters of a quorum.
        """
        if self._directory is None:
            self._port = self._chosen_port or self._take_port()
            try:
                self._directory = self._data_dir or self._temporary_directory()
                self._directory.mkdir(parents=True, exist_ok=True)
                self._prepare(self._directory)
            except OSError as error:
                raise folder_error(self._name, error) from None
        self._process = self._run(self._directory)

    def wait_until_ready(self) -> None:
        """Raises: ServerStartError, which quotes the end of the broker's log."""
        wait_until_ready(self._running, self._name, self._is_ready, self._start_timeout_seconds)

    def _is_ready(self) -> bool:
        return is_broker_ready(self.port)

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
        """Ends `pause`."""
        self._running.resume()

    def close(self) -> None:
        """Ends the broker and removes its data, unless a `data_dir` was given."""
        self.kill()
        if self._data_dir is None and self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._directory = self._process = self._port = None
        self._kept_ports.release()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    @abstractmethod
    def _name(self) -> str:
        """What errors call this broker."""

    @property
    @abstractmethod
    def _start_timeout_seconds(self) -> float: ...

    def _take_port(self) -> int:
        return self._kept_ports.take()[0]

    @abstractmethod
    def _temporary_directory(self) -> Path:
        """Makes a new folder, which goes with the broker."""

    @abstractmethod
    def _prepare(self, directory: Path) -> None:
        """Writes what the program needs before its first start; `port` is known by now."""

    @abstractmethod
    def _run(self, directory: Path) -> ServerProcess:
        """Starts the program."""

    @property
    def _running(self) -> ServerProcess:
        if self._process is None:
            raise ServerStartError("the broker was never started")
        return self._process

    @property
    def _removed_at_exit(self) -> Path | None:
        return self._directory if self._data_dir is None else None

    def _first_start(self) -> None:
        self.launch()
        self.wait_until_ready()


def start_on_free_ports(start: Callable[[], None], close: Callable[[], None], attempts: int) -> None:
    """Calls `start`, and `close` when that fails; once more where another process took a port between our
    look and the server's bind.

    Raises: ServerStartError.
    """
    for attempt in range(1, attempts + 1):
        try:
            start()
            return
        except BaseException as error:
            close()
            in_use = isinstance(error, ServerStartError) and "Address already in use" in str(error)
            if attempt == attempts or not in_use:
                raise
