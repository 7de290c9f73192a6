"""A schema registry beside a test, in a thread of this process.

Owns the thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import TYPE_CHECKING, Self

from barnabas.errors import MisuseError

if TYPE_CHECKING:
    from barnabas.registry_server.journal.journal import Journal
    from barnabas.registry_server.node import RegistryNode
    from barnabas.registry_server.server import RegistryServer

START_TIMEOUT_SECONDS = 60.0
KAFKA_TIMEOUT_SECONDS = 30.0
"""The cluster may take so long until the topic is read."""


class EmbeddedRegistry:
    """A registry on 127.0.0.1, started by `start` or on entering the context, gone on leaving it.

    `bootstrap_servers`: of a Kafka cluster, in whose topic `_schemas` it keeps its schemas, together with
    other registries that are given the same; without it `journal` says where, and None is memory. `port`:
    None takes a free one. Needs the extra `registry-server`.

    Raises: MisuseError.
    """

    def __init__(
        self,
        *,
        bootstrap_servers: str | None = None,
        journal: Journal | None = None,
        port: int | None = None,
    ) -> None:
        if bootstrap_servers is not None and journal is not None:
            raise MisuseError(
                "an embedded registry has its journal in a Kafka cluster, or one that it is given"
            )
        self._bootstrap_servers = bootstrap_servers
        self._journal = journal
        self._port = port or 0
        self._url = ""
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None

    def __repr__(self) -> str:
        return f"<EmbeddedRegistry {self._url or 'not started'}>"

    @property
    def url(self) -> str:
        """The address for clients. Raises: MisuseError before a start."""
        if not self._url:
            raise MisuseError("the embedded registry has no URL before it is started")
        return self._url

    def start(self) -> Self:
        """Returns when it answers. Raises: MisuseError, MissingExtraError, JournalError, OSError."""
        if self._thread is not None:
            raise MisuseError("the embedded registry runs already")
        began: concurrent.futures.Future[str] = concurrent.futures.Future()
        thread = threading.Thread(target=self._run, args=(began,), name="barnabas-registry", daemon=True)
        self._thread = thread
        thread.start()
        try:
            self._url = began.result(START_TIMEOUT_SECONDS)
        except BaseException:
            self.close()
            raise
        return self

    def _run(self, began: concurrent.futures.Future[str]) -> None:
        try:
            asyncio.run(self._serve(began))
        except BaseException as error:
            if began.done():
                raise
            began.set_exception(error)

    async def _serve(self, began: concurrent.futures.Future[str]) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = self._made()
        try:
            await server.start()
            began.set_result(server.url)
            await self._end.wait()
        finally:
            await server.close()

    def _made(self) -> RegistryServer | RegistryNode:
        from barnabas.registry_server.deks.service import DekService
        from barnabas.registry_server.journal.kafka import JournalSettings
        from barnabas.registry_server.journal.memory import MemoryJournal
        from barnabas.registry_server.node import RegistryNode
        from barnabas.registry_server.server import RegistryServer
        from barnabas.registry_server.service import RegistryService
        from barnabas.registry_server.settings import ServerSettings

        if self._bootstrap_servers is None:
            service = RegistryService(self._journal or MemoryJournal(), deks=DekService(MemoryJournal()))
            return RegistryServer(service, port=self._port)
        journal = JournalSettings(init_timeout_ms=int(KAFKA_TIMEOUT_SECONDS * 1000))
        client = {"bootstrap_servers": self._bootstrap_servers}
        return RegistryNode(ServerSettings(client, port=self._port, journal=journal))

    def close(self) -> None:
        """Returns when the thread has ended."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._loop is not None and self._end is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end.set)
        thread.join()
        self._url = ""

    def __enter__(self) -> Self:
        return self if self._thread is not None else self.start()

    def __exit__(self, *error: object) -> None:
        self.close()
