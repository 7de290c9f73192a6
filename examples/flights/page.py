"""The page of `barnabas ui` on the run: its topics, its groups and its queries, while they run.

Knows nothing of flights.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from barnabas.ui.server import UiServer
from barnabas.ui.settings import UiSettings

SAMPLE_SECONDS = 1.0


@contextmanager
def page(bootstrap: str, listener: str, checkpoints: list[Path], registry: str | None) -> Iterator[str]:
    """Gives the address of the streaming queries, on a free port, in a thread of its own. `listener`: of a
    PipelineListener; `registry`: of a schema registry, if there is one. Raises: OSError."""
    settings = UiSettings(
        client={"bootstrap_servers": bootstrap},
        listener=listener,
        checkpoints=tuple(map(str, checkpoints)),
        registry=registry,
        sample_seconds=SAMPLE_SECONDS,
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="page", daemon=True)
    thread.start()

    async def start() -> UiServer:
        server = UiServer(settings)
        await server.start()
        return server

    try:
        server = asyncio.run_coroutine_threadsafe(start(), loop).result()
        try:
            yield f"{server.url}/queries"
        finally:
            asyncio.run_coroutine_threadsafe(server.close(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
