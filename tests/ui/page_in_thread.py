"""The page, listening, for a browser."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from barnabas.ui.server import UiServer
from barnabas.ui.settings import UiSettings


class PageInThread:
    """The page on a free port, on an event loop of its own."""

    def __init__(self, settings: UiSettings) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._settings = settings
        self.url = ""

    def __enter__(self) -> PageInThread:
        self._thread.start()
        self._server = self._run(self._start())
        self.url = self._server.url
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._server.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> UiServer:
        server = UiServer(self._settings)
        await server.start()
        return server

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)
