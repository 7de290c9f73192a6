"""What was asked of the cluster, kept between requests with its age. Knows nothing of what it is."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from barnabas import background
from barnabas.errors import BarnabasError

T = TypeVar("T")

# A cluster that takes long to ask is asked for at most this part of the time.
BUSY_PART = 0.25
# A page is shown sooner with figures that are a little older than late with new ones.
PATIENCE_SECONDS = 0.05

logger = logging.getLogger(__name__)


class Kept(Generic[T]):
    """One answer, asked for anew behind whoever looks at it once it is `fresh_seconds` old. `what` names it
    in the log."""

    def __init__(self, what: str, ask: Callable[[], Awaitable[T]], fresh_seconds: float) -> None:
        self._what = what
        self._ask = ask
        self._fresh_seconds = fresh_seconds
        self.value: T | None = None
        self.asked_at: float | None = None
        """When `value` was asked for, on the clock of `time.time()`."""
        self.problem: str | None = None
        """Why `value` is not newer, if something went wrong."""
        self._asking: asyncio.Task[None] | None = None
        self._error: BarnabasError | None = None
        self._stale_at = 0.0

    @property
    def seconds_left(self) -> float:
        """Until it is old; 0 if it is."""
        return max(self._stale_at - time.monotonic(), 0.0)

    async def get(self) -> T:
        """The last one; waits for the first where there is none yet. Raises: BarnabasError."""
        known = await self.look()
        return await self.renewed_or_raise() if known is None else known

    async def look(self) -> T | None:
        """The last one, None where there is none yet. Waits a moment for a newer one if it is old."""
        if not self.seconds_left:
            await asyncio.wait({self._begin()}, timeout=PATIENCE_SECONDS)
        return self.value

    async def renewed(self) -> T:
        """One that was asked for after this call, as after a change. Raises: BarnabasError."""
        if self._asking is not None:
            await asyncio.wait({self._asking})
        return await self.renewed_or_raise()

    async def renewed_or_raise(self) -> T:
        """Takes part in what is being asked, or asks. Raises: BarnabasError."""
        await asyncio.wait({self._begin()})
        if self._error is not None:
            raise self._error
        assert self.value is not None
        return self.value

    async def close(self) -> None:
        """Ends what is being asked."""
        if self._asking is not None:
            self._asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._asking

    def _begin(self) -> asyncio.Task[None]:
        if self._asking is None or self._asking.done():
            self._asking = background.start(self._renew(), what=f"the page's asking for {self._what}")
        return self._asking

    async def _renew(self) -> None:
        began, asked_at = time.monotonic(), time.time()
        self._error = None
        try:
            self.value, self.asked_at = await self._ask(), asked_at
            self.problem = None
        except BarnabasError as error:
            self._error, self.problem = error, str(error)
            logger.info("the cluster could not be asked for %s: %s", self._what, error)
        took = time.monotonic() - began
        self._stale_at = began + took + max(self._fresh_seconds, took / BUSY_PART)
