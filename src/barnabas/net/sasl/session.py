"""A connection's session: how long its authentication holds, and when it authenticates itself anew (KIP-368).

Owns the session's lifetime and the task that renews it. `authenticator` says what the broker's answers mean.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable

from barnabas import background
from barnabas.chance import chance
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, KafkaConnectionError
from barnabas.net.carrier import Carrier
from barnabas.net.sasl.authenticator import Authentication
from barnabas.net.sasl.mechanism import Mechanism

# When, within its session's lifetime, a connection authenticates itself anew (as in Java).
RENEWAL_BEGINS = 0.85
RENEWAL_SPREAD = 0.1
RENEWAL_RETRY_SECONDS = 1.0

logger = logging.getLogger("barnabas.connection")


class SaslSession:
    """`on_renewing` is called right before the broker is asked, `on_renewed` when the session has begun
    anew, `on_failed` with what ends the connection."""

    def __init__(
        self,
        mechanism: Mechanism,
        host: str,
        carrier: Carrier,
        request_timeout_ms: float,
        *,
        on_renewing: Callable[[], None],
        on_renewed: Callable[[], None],
        on_failed: Callable[[BarnabasError], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.is_authenticating = False
        """Whether the connection's own requests have to wait."""
        self._mechanism = mechanism
        self._host = host
        self._carrier = carrier
        self._request_timeout_ms = request_timeout_ms
        self._on_renewing = on_renewing
        self._on_renewed = on_renewed
        self._on_failed = on_failed
        self._loop = loop
        self._identity: str | None = None
        self._renew_at = math.inf
        self._ends_at = math.inf
        self._renewal: asyncio.Task[None] | None = None

    @property
    def is_outdated(self) -> bool:
        """Whether the session nears its end and the credentials stand for somebody else by now: brokers do
        not let a connection change hands."""
        return CLOCK.monotonic() >= self._renew_at and self._mechanism.identity != self._identity

    async def begin(self) -> None:
        """Authenticates the connection for the first time.

        Raises: AuthenticationError, CredentialsError, KafkaConnectionError, KafkaTimeoutError,
        BrokenProtocolError.
        """
        await self._authenticate(await self._prepare())

    def renew_if_due(self) -> None:
        """Called for each request before it is sent."""
        now = CLOCK.monotonic()
        if now < self._renew_at or self.is_outdated:
            return
        if now >= self._ends_at:
            # The broker would hang up on any other request.
            self.is_authenticating = True
        if self._renewal is None:
            self._renewal = background.start(
                self._renew(), what="re-authenticating a connection", loop=self._loop
            )

    def end(self) -> None:
        """The connection has ended."""
        if self._renewal is not None and self._renewal is not asyncio.current_task(self._loop):
            self._renewal.cancel()

    async def _prepare(self) -> Authentication:
        """The broker hears nothing of it yet. Raises: as `Authentication.prepare`."""
        authentication = Authentication(self._mechanism, self._host)
        await authentication.prepare(self._carrier.name, self._request_timeout_ms)
        return authentication

    async def _authenticate(self, authentication: Authentication) -> None:
        self.is_authenticating = True
        self._on_renewing()
        try:
            session_lifetime_ms = await authentication.run(self._carrier)
        finally:
            self.is_authenticating = False
        self._identity = authentication.identity
        self._renew_at = self._ends_at = math.inf
        if session_lifetime_ms > 0:
            now = CLOCK.monotonic()
            part = RENEWAL_BEGINS + RENEWAL_SPREAD * chance.random()
            self._renew_at = now + session_lifetime_ms * part / 1000
            self._ends_at = now + session_lifetime_ms / 1000

    async def _renew(self) -> None:
        """Authenticates the open connection anew: requests under way are answered, new ones wait."""
        name = self._carrier.name
        try:
            try:
                authentication = await self._prepare()
            except BarnabasError as error:
                if self.is_authenticating or not error.retriable:
                    raise
                logger.warning("%s: re-authentication failed, will try again: %s", name, error)
                self._renew_at = CLOCK.monotonic() + RENEWAL_RETRY_SECONDS
                return
            await self._authenticate(authentication)
            self._on_renewed()
        except BarnabasError as error:
            self._on_failed(error)
        except Exception as error:
            logger.exception("%s: re-authentication failed", name)
            self._on_failed(KafkaConnectionError(f"{name}: re-authentication failed: {error!r}"))
        finally:
            self._renewal = None
