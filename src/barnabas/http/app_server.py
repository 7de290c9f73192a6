"""An application served by uvicorn on a running event loop.

Must not know what is answered. Needs uvicorn, which is imported with this module.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import uvicorn

if TYPE_CHECKING:
    from starlette.types import ASGIApp

LOOKS_AGAIN_SECONDS = 0.002


@contextlib.contextmanager
def _no_signals() -> Generator[None]:
    yield


class AppServer:
    """For one event loop. `what` is served, for errors. `grace_seconds`: what is asked when it is closed may
    take so long to be answered. `settings`: uvicorn's, for TLS for instance."""

    def __init__(
        self,
        app: ASGIApp,
        what: str,
        *,
        grace_seconds: int,
        lifespan: Literal["on", "off"],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._what = what
        chosen: dict[str, Any] = {"timeout_graceful_shutdown": grace_seconds, **(settings or {})}
        self._config = uvicorn.Config(
            app, lifespan=lifespan, ws="none", log_config=None, access_log=False, **chosen
        )
        self._uvicorn = uvicorn.Server(self._config)
        # Signals are the business of whoever runs this.
        self._uvicorn.capture_signals = _no_signals
        self._serving: asyncio.Task[None] | None = None

    def url_at(self, host: str, port: int) -> str:
        """What it is reached by where it listens there."""
        name = f"[{host}]" if ":" in host else host
        return f"{'https' if self._config.is_ssl else 'http'}://{name}:{port}"

    async def start(self, listener: socket.socket) -> None:
        """Returns when requests are answered. Raises: OSError."""
        self._serving = asyncio.create_task(self._uvicorn.serve(sockets=[listener]))
        while not self._uvicorn.started:
            if self._serving.done():
                # It says why.
                await self._serving
                url = self.url_at(*listener.getsockname()[:2])
                raise OSError(f"{self._what} on {url} ended as it began")
            await asyncio.sleep(LOOKS_AGAIN_SECONDS)

    async def close(self) -> None:
        """Lets what is asked at present be answered."""
        if self._serving is not None:
            self._uvicorn.should_exit = True
            await self._serving
            self._serving = None
