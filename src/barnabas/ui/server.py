"""Where the page listens."""

from __future__ import annotations

from contextlib import AsyncExitStack

from barnabas.http.app_server import AppServer
from barnabas.listening import listening_socket
from barnabas.ui.app import make_app
from barnabas.ui.below_path import base_path
from barnabas.ui.settings import UiSettings

GRACE_SECONDS = 1
"""A live tail has no end of its own: it is cut."""


class UiServer:
    """For one event loop."""

    def __init__(self, settings: UiSettings) -> None:
        self._settings = settings
        self._port = settings.port
        self._base = base_path(settings)
        self._app = make_app(settings)
        proxies = {
            "proxy_headers": bool(settings.forwarded_allow_ips),
            "forwarded_allow_ips": list(settings.forwarded_allow_ips),
        }
        # What goes wrong in a lifespan is for whoever starts this, and not for a log of uvicorn's.
        self._server = AppServer(
            self._app, "the page", grace_seconds=GRACE_SECONDS, lifespan="off", settings=proxies
        )
        self._ends = AsyncExitStack()

    @property
    def url(self) -> str:
        """Where it listens, once it does."""
        return self._server.url_at(self._settings.host, self._port) + self._base

    async def start(self) -> None:
        """Returns when the page can be opened. Raises: OSError, InvalidSettingError, UnknownSettingError."""
        async with AsyncExitStack() as ends:
            await ends.enter_async_context(self._app.router.lifespan_context(self._app))
            listener = listening_socket(self._settings.host, self._settings.port, "the page")
            ends.callback(listener.close)
            self._port = listener.getsockname()[1]
            await self._server.start(listener)
            self._ends = ends.pop_all()

    async def close(self) -> None:
        """Lets what is asked at present be answered."""
        await self._server.close()
        await self._ends.aclose()
