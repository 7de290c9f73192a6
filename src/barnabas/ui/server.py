"""Where the page listens."""

from __future__ import annotations

from barnabas.http.app_server import AppServer
from barnabas.listening import listening_socket
from barnabas.ui.app import make_app
from barnabas.ui.settings import UiSettings

GRACE_SECONDS = 1
"""A live tail has no end of its own: it is cut."""


class UiServer:
    """For one event loop."""

    def __init__(self, settings: UiSettings) -> None:
        self._settings = settings
        self._port = settings.port
        app = make_app(settings)
        self._server = AppServer(app, "the page", grace_seconds=GRACE_SECONDS, lifespan="on")

    @property
    def url(self) -> str:
        """Where it listens, once it does."""
        return self._server.url_at(self._settings.host, self._port)

    async def start(self) -> None:
        """Returns when the page can be opened. Raises: OSError."""
        listener = listening_socket(self._settings.host, self._settings.port, "the page")
        self._port = listener.getsockname()[1]
        await self._server.start(listener)

    async def close(self) -> None:
        """Lets what is asked at present be answered."""
        await self._server.close()
