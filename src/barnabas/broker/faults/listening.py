"""Listens for faults to be told, and has nothing of them loaded until one is: most brokers never hear of any.

Owns the moment at which that changes. Knows nothing of faults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.http.json_server import JsonCall, JsonServer

if TYPE_CHECKING:
    from barnabas.broker.faults.control import FaultControls
    from barnabas.broker.faults.injector import FaultInjector
    from barnabas.broker.faults.upsets import BrokerUpsets


class FaultListener:
    """`faults` and `upsets` are called at the first call over HTTP. A proxy has no `upsets`."""

    def __init__(
        self, faults: Callable[[], FaultInjector], upsets: Callable[[], BrokerUpsets] | None = None
    ) -> None:
        self._faults = faults
        self._upsets = upsets
        self._server = JsonServer(self._respond)
        self._controls: FaultControls | None = None

    @property
    def url(self) -> str:
        return self._server.url

    async def start(self, host: str, port: int) -> None:
        """Port 0 takes any free one. Raises: InvalidSettingError."""
        await self._server.start(host, port)

    async def stop(self) -> None:
        await self._server.stop()

    async def _respond(self, call: JsonCall) -> Any:
        if self._controls is None:
            from barnabas.broker.faults.control import FaultControls

            upsets = None if self._upsets is None else self._upsets()
            self._controls = FaultControls(self._faults(), upsets)
        return await self._controls.respond(call)
