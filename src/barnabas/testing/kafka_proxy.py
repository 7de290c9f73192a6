"""A proxy of faults beside a test, in a thread of this process, before whichever Kafka there is.

Owns the thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import Self

from barnabas.errors import MisuseError
from barnabas.testing.fault_control import FaultControl

START_TIMEOUT_SECONDS = 60.0


class KafkaProxy:
    """Stands before the cluster that `upstream` ("host:port") is a node of, started by `start` or on entering
    the context, gone on leaving it. Programs under test are given its `bootstrap`.

    `port`: None takes a free one. Listeners with TLS cannot be had by way of it.

    Raises: MisuseError.
    """

    def __init__(self, upstream: str, *, port: int | None = None, seed: int = 0) -> None:
        self._upstream = upstream
        self._port = port or 0
        self._seed = seed
        self._addresses: tuple[str, FaultControl] | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None

    @property
    def bootstrap(self) -> str:
        """`host:port` for clients that are to go through the proxy."""
        return self._running[0]

    @property
    def faults(self) -> FaultControl:
        """Faults on demand."""
        return self._running[1]

    @property
    def _running(self) -> tuple[str, FaultControl]:
        if self._addresses is None:
            raise MisuseError("the proxy has no address before it is started")
        return self._addresses

    def start(self) -> Self:
        """Returns when it answers. Raises: MisuseError, ListenError, InvalidSettingError: nobody is there."""
        if self._thread is not None:
            raise MisuseError("the proxy runs already")
        began: concurrent.futures.Future[tuple[str, str]] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, args=(began,), name="barnabas-proxy", daemon=True)
        self._thread.start()
        try:
            bootstrap, url = began.result(START_TIMEOUT_SECONDS)
        except BaseException:
            self.close()
            raise
        self._addresses = bootstrap, FaultControl(url, bootstrap)
        return self

    def _run(self, began: concurrent.futures.Future[tuple[str, str]]) -> None:
        try:
            asyncio.run(self._serve(began))
        except BaseException as error:
            if began.done():
                raise
            began.set_exception(error)

    async def _serve(self, began: concurrent.futures.Future[tuple[str, str]]) -> None:
        from barnabas.broker.faults.listening import FaultListener
        from barnabas.broker.faults.proxy import FaultProxy

        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        proxy = FaultProxy(self._upstream, port=self._port, seed=self._seed)
        listener = FaultListener(lambda: proxy.faults)
        try:
            await proxy.start()
            await listener.start("127.0.0.1", 0)
            began.set_result((proxy.bootstrap, listener.url))
            await self._end.wait()
        finally:
            await listener.stop()
            await proxy.stop()

    def close(self) -> None:
        """Returns when the thread has ended."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._addresses is not None:
            self._addresses[1].end_hooks()
        if self._loop is not None and self._end is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end.set)
        thread.join()
        self._addresses = None

    def __enter__(self) -> Self:
        return self if self._thread is not None else self.start()

    def __exit__(self, *error: object) -> None:
        self.close()
