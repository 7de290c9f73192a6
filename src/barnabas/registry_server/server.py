"""A registry that listens: its application, run by uvicorn.

Owns the socket. Knows nothing of what is asked, nor of where records are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.errors import MissingExtraError
from barnabas.registry_server.service import RegistryService

if TYPE_CHECKING:
    from starlette.types import ASGIApp

LOOKS_AGAIN_SECONDS = 0.002
GRACE_SECONDS = 5
"""What is asked when it is closed may take so long to be answered."""


@contextlib.contextmanager
def _no_signals() -> Generator[None]:
    yield


def listening(host: str, port: int) -> socket.socket:
    """A socket that is bound, so that its port is known. `port`: 0 takes a free one. Raises: OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where it knows the protocol by its number; with that algorithm
    # an answer takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"a registry cannot listen on {host}:{port}: {error.strerror}") from None
    return listener


class RegistryServer:
    """For one event loop. `app`: what answers; None for the API itself. `port`: 0 takes a free one.
    `listener`: of `listening`, in place of `host` and `port`. `settings`: uvicorn's, for TLS for instance.

    Raises: MissingExtraError.
    """

    def __init__(
        self,
        service: RegistryService,
        app: ASGIApp | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        listener: socket.socket | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        try:
            import uvicorn

            from barnabas.registry_server.rest.app import RegistryApp
        except ImportError:
            raise MissingExtraError("a registry to run yourself", "registry-server") from None
        self._service = service
        self._host = host
        self._port = port
        self._listener = listener
        chosen: dict[str, Any] = {"timeout_graceful_shutdown": GRACE_SECONDS, **(settings or {})}
        self._config = uvicorn.Config(
            RegistryApp(service) if app is None else app,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            **chosen,
        )
        self._uvicorn = uvicorn.Server(self._config)
        # Signals are the business of whoever runs this.
        self._uvicorn.capture_signals = _no_signals
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where it listens, once it does."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'https' if self._config.is_ssl else 'http'}://{host}:{self._port}"

    async def start(self) -> None:
        """Returns when requests are answered. Raises: OSError, JournalError."""
        listener = self._listener or listening(self._host, self._port)
        self._host, self._port = listener.getsockname()[:2]
        try:
            await self._service.start()
        except BaseException:
            listener.close()
            raise
        self._serving = asyncio.create_task(self._uvicorn.serve(sockets=[listener]))
        while not self._uvicorn.started:
            if self._serving.done():
                # It says why.
                await self._serving
                raise OSError(f"the registry on {self.url} ended as it began")
            await asyncio.sleep(LOOKS_AGAIN_SECONDS)

    async def close(self) -> None:
        """Lets what is asked at present be answered."""
        if self._serving is not None:
            self._uvicorn.should_exit = True
            await self._serving
            self._serving = None
        await self._service.close()
