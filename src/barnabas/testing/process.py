"""A server as a child process: its log, its end, and the ports it may listen on.

Owns the promise that no server outlives the process that started it. Knows nothing of Kafka.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from barnabas.chance import chance
from barnabas.errors import BarnabasError, MisuseError

LOWEST_PORT = 20_000
# Above this, Linux gives ports to outgoing connections, which then hold a server's port.
HIGHEST_PORT = 32_767

# Reads until its standard input ends, which it does when this process ends in any way at all.
_GUARD = 'read _; kill -s KILL -- "-$1" 2>/dev/null; if [ -n "$2" ]; then rm -rf -- "$2"; fi'


class MissingProgramError(MisuseError):
    """A program that is needed is not installed; the message gives the command that installs it."""


class ServerStartError(BarnabasError):
    """A server did not become ready; the message quotes the end of its log."""


def folder_error(what: str, error: OSError) -> ServerStartError:
    """For a server whose files cannot be made."""
    return ServerStartError(
        f"{what} cannot have its files: {error}; choose a folder that this user may write to, on a disk "
        "that has room"
    )


class KeptPorts:
    """Ports of 127.0.0.1 that nobody else is given by `free_ports` or here, in whichever process, until they
    are let go of: while a server is down, its clients would take a stranger on its port for it. Only Linux
    keeps them.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def take(self, count: int = 1, *, in_a_row: int = 1) -> list[int]:
        """Ports below 32768, on which nothing listens. Those behind each are taken, too, so that there are
        `in_a_row` together."""
        firsts: list[int] = []
        taken: set[int] = set()
        while len(firsts) < count:
            first = chance.randint(LOWEST_PORT, HIGHEST_PORT - in_a_row + 1)
            row = range(first, first + in_a_row)
            if taken.isdisjoint(row) and self._keep(row):
                firsts.append(first)
                taken.update(row)
        return firsts

    def _keep(self, ports: Sequence[int]) -> bool:
        """All of them, or none."""
        keepers = [socket.socket() for _ in ports]
        try:
            for keeper, port in zip(keepers, ports, strict=True):
                # Fails wherever another socket is bound, listening or not.
                keeper.bind(("127.0.0.1", port))
        except OSError:
            for keeper in keepers:
                keeper.close()
            return False
        for keeper in keepers:
            if sys.platform == "linux":
                # Servers set it as well, and may then bind where a socket is that does not listen.
                keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                self._sockets.append(keeper)
            else:
                keeper.close()
        return True

    def release(self) -> None:
        while self._sockets:
            self._sockets.pop().close()


def free_ports(count: int = 1) -> list[int]:
    """Ports of 127.0.0.1, all below 32768, on which nothing listens at the moment, and that no server of this
    package has, even if it is down."""
    ports = KeptPorts()
    try:
        return ports.take(count)
    finally:
        ports.release()


def is_port_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def takes_connections(port: int) -> bool:
    """Whether somebody listens on this port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def check_port_is_free(port: int) -> None:
    """Raises: ServerStartError. Without this, a stranger on the port would pass for the server started."""
    if not is_port_free(port):
        raise ServerStartError(
            f"port {port} of 127.0.0.1 is in use; choose another, or stop what listens there"
        )


class ServerProcess:
    """A running server, the leader of its own process group, with its output in a log file.

    `remove_at_exit` is a folder to delete if this process ends without `kill` or `terminate`.
    """

    def __init__(
        self,
        command: Sequence[str],
        log_path: Path,
        *,
        environment: Mapping[str, str] | None = None,
        remove_at_exit: Path | None = None,
    ) -> None:
        self.command = list(command)
        self.log_path = log_path
        self.is_paused = False
        """Whether `pause` holds it still."""
        try:
            log_file = log_path.open("ab")
        except OSError as error:
            raise folder_error(f"the server {command[0]}", error) from None
        with log_file as log:
            self.log_start = log.tell()
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=None if environment is None else {**os.environ, **environment},
                start_new_session=True,
            )
        removed = "" if remove_at_exit is None else str(remove_at_exit)
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "guard", str(self._process.pid), removed],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def terminate(self, timeout: float) -> None:
        """Asks the server to end, and kills it if it has not ended after `timeout` seconds."""
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        self._dismiss_guard()

    def kill(self) -> None:
        """Ends the server at once, as `kill -9` does. A server that has ended already needs this as well."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._dismiss_guard()

    def pause(self) -> None:
        """Stops the server from doing anything until `resume`; its connections stay open."""
        self.is_paused = True
        self._signal(signal.SIGSTOP)
        # The signal is delivered a little later, and until then the server goes on.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self.is_paused = False

    def log(self) -> str:
        """What this process has written."""
        with self.log_path.open("rb") as log:
            log.seek(self.log_start)
            return log.read().decode(errors="replace")

    def log_tail(self, lines: int = 25) -> str:
        return "\n".join(self.log().splitlines()[-lines:])

    def start_error(self, name: str, reason: str) -> ServerStartError:
        return ServerStartError(f"{name} {reason}; the end of {self.log_path}:\n{self.log_tail()}")

    def _signal(self, number: signal.Signals) -> None:
        if self.is_alive():
            os.killpg(self._process.pid, number)

    def _dismiss_guard(self) -> None:
        self._guard.kill()
        self._guard.wait()
        if self._guard.stdin is not None:
            self._guard.stdin.close()


def wait_until_ready(server: ServerProcess, name: str, is_ready: Callable[[], bool], timeout: float) -> None:
    """Waits until `is_ready` says so. Raises: ServerStartError when the server ends or takes too long."""
    deadline = time.monotonic() + timeout
    while not is_ready():
        if not server.is_alive():
            server.kill()
            raise server.start_error(name, "ended while starting")
        if time.monotonic() > deadline:
            server.kill()
            raise server.start_error(name, f"was not ready after {timeout:.0f} s")
        time.sleep(0.02)
