"""The threads in which the work of decisions is done, and how many may wait for them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from barnabas.registry_server import api_errors
from barnabas.registry_server.work import SlowCall, SlowCalls

THREADS = 4
MOST_WAITING = 200
"""So many requests may wait for a thread; to those that come then the registry is too busy."""


class Workers:
    """For one event loop."""

    def __init__(self, threads: int = THREADS, most_waiting: int = MOST_WAITING) -> None:
        self._threads = ThreadPoolExecutor(threads, "barnabas-registry-work")
        self._most = threads + most_waiting
        self._under_way = 0

    async def do(self, work: SlowCalls, call: SlowCall) -> None:
        """Raises: ApiError where too much is waiting."""
        if self._under_way >= self._most:
            raise api_errors.too_busy()
        self._under_way += 1
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, work.do, call)
        finally:
            self._under_way -= 1

    async def close(self) -> None:
        """Waits for the threads to end."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
