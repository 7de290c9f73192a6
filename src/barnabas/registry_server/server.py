"""A registry that listens: its application, and the service behind it.

Knows nothing of what is asked, nor of where records are kept.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.errors import MissingExtraError
from barnabas.listening import listening_socket
from barnabas.registry_server.service import RegistryService

if TYPE_CHECKING:
    from starlette.types import ASGIApp

GRACE_SECONDS = 5
"""What is asked when it is closed may take so long to be answered."""


class RegistryServer:
    """For one event loop. `app`: what answers; None for the API itself. `port`: 0 takes a free one.
    `listener`: of `listening_socket`, in place of `host` and `port`. `settings`: uvicorn's, as for TLS.

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
            from barnabas.http.app_server import AppServer
            from barnabas.registry_server.rest.app import RegistryApp
        except ImportError:
            raise MissingExtraError("a registry to run yourself", "registry-server") from None
        self._service = service
        self._host = host
        self._port = port
        self._listener = listener
        self._server = AppServer(
            RegistryApp(service) if app is None else app,
            "the registry",
            grace_seconds=GRACE_SECONDS,
            lifespan="off",
            settings=settings,
        )

    @property
    def url(self) -> str:
        """Where it listens, once it does."""
        return self._server.url_at(self._host, self._port)

    async def start(self) -> None:
        """Returns when requests are answered. Raises: OSError, JournalError."""
        listener = self._listener or listening_socket(self._host, self._port, "a registry")
        self._host, self._port = listener.getsockname()[:2]
        try:
            await self._service.start()
        except BaseException:
            listener.close()
            raise
        await self._server.start(listener)

    async def close(self) -> None:
        """Lets what is asked at present be answered."""
        await self._server.close()
        await self._service.close()
