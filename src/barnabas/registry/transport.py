"""Steps of an exchange with a registry, done by httpx: for plain calls, and on an event loop.

Owns connections. Knows nothing of what is asked.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import ssl
import time
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.both_ways import awaited, waited
from barnabas.errors import ClosedError, InvalidSettingError, MissingExtraError, MisuseError
from barnabas.fork import generation
from barnabas.http.messages import HttpAnswer, HttpRequest, NoAnswerError, TlsFailedError
from barnabas.registry.config import RegistryConfig
from barnabas.registry.exchange import Pause, Step, Steps

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

LONGEST_ANSWER_BYTES = 64 << 20
# What a socket takes, and no program lives to see.
LONGEST_TIMEOUT_MS = 2**31 - 1


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("a schema registry", "registry") from None
    return httpx


def _settings(config: RegistryConfig) -> dict[str, Any]:
    return {
        "verify": _tls(config),
        "proxy": config.proxy,
        "timeout": config.request_timeout_ms / 1000,
        # A redirect would carry credentials to another address.
        "follow_redirects": False,
    }


def _tls(config: RegistryConfig) -> ssl.SSLContext:
    if config.ssl_context is not None:
        return config.ssl_context
    authorities = config.ssl_ca_location
    # The system's take long to read, and only HTTPS needs them.
    asks_the_systems = authorities is None and _is_by_https(config)
    context = ssl.create_default_context() if asks_the_systems else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if authorities is not None and os.path.isdir(authorities):
            context.load_verify_locations(capath=authorities)
        elif authorities is not None:
            context.load_verify_locations(authorities)
    except (OSError, ssl.SSLError) as error:
        raise InvalidSettingError(f"ssl_ca_location {authorities!r} cannot be read: {error}") from None
    if config.ssl_certificate_location is not None:
        # Without one OpenSSL would ask the terminal for it.
        password = "" if config.ssl_key_password is None else config.ssl_key_password.reveal()
        try:
            context.load_cert_chain(
                config.ssl_certificate_location, config.ssl_key_location, password=lambda: password
            )
        except (OSError, ssl.SSLError) as error:
            raise InvalidSettingError(
                f"ssl_certificate_location {config.ssl_certificate_location!r}, with its key, cannot be "
                f"read: {error}"
            ) from None
    return context


def _is_by_https(config: RegistryConfig) -> bool:
    """Whether any address is one of HTTPS."""
    asked = (*config.url, config.bearer_auth_issuer_endpoint_url or "")
    return any(url.lower().startswith("https:") for url in asked)


def _no_answer(error: Exception) -> NoAnswerError:
    """What httpx raised, in words."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return TlsFailedError(f"its certificate is not trusted: {cause.verify_message}")
        if isinstance(cause, ssl.SSLError):
            return TlsFailedError(f"TLS failed: {cause.reason or cause}")
        cause = cause.__cause__ or cause.__context__
    return NoAnswerError(str(error) or type(error).__name__)


def _append(body: bytearray, part: bytes) -> None:
    if len(body) + len(part) > LONGEST_ANSWER_BYTES:
        raise NoAnswerError(f"the answer is longer than {LONGEST_ANSWER_BYTES >> 20} MiB")
    body += part


class Transport:
    """For plain calls, in any thread."""

    def __init__(self, config: RegistryConfig) -> None:
        self._config = config
        self._httpx = _httpx()
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        self._generation = generation()
        self._http: httpx.Client = self._httpx.Client(**_settings(self._config))
        # Who has one for as long as the process runs need not close it.
        weakref.finalize(self, _close_here, self._http, self._generation)

    def run(self, steps: Steps[T]) -> T:
        """Raises: what the steps raise, ClosedError."""
        if self._is_closed:
            raise ClosedError("the registry's client is closed")
        if self._generation != generation():
            # The parent of this process goes on with the connections.
            self._begin()
        return waited(steps, self._done, NoAnswerError)

    def _done(self, step: Step) -> Any:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        if not isinstance(step, HttpRequest):
            token = step()
            if inspect.isawaitable(token):
                if inspect.iscoroutine(token):
                    token.close()
                raise MisuseError("a Registry for plain calls takes no bearer_auth_callback that is awaited")
            return token
        body = bytearray()
        try:
            with self._http.stream(
                step.method, step.url, headers=dict(step.headers), content=step.body
            ) as answer:
                for part in answer.iter_bytes():
                    _append(body, part)
        except (self._httpx.TransportError, self._httpx.DecodingError) as error:
            raise _no_answer(error) from error
        return HttpAnswer(answer.status_code, bytes(body))

    def close(self) -> None:
        self._is_closed = True
        _close_here(self._http, self._generation)


def _close_here(http: httpx.Client, made_in: int) -> None:
    """Unless another process made the connections, which goes on with them."""
    if made_in == generation():
        http.close()


class AsyncTransport:
    """For one event loop."""

    def __init__(self, config: RegistryConfig) -> None:
        self._httpx = _httpx()
        self._http: httpx.AsyncClient = self._httpx.AsyncClient(**_settings(config))
        self._is_closed = False

    async def run(self, steps: Steps[T]) -> T:
        """Raises: what the steps raise, ClosedError."""
        if self._is_closed:
            raise ClosedError("the registry's client is closed")
        return await awaited(steps, self._done, NoAnswerError)

    async def _done(self, step: Step) -> Any:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        if not isinstance(step, HttpRequest):
            token = step()
            return await token if inspect.isawaitable(token) else token
        body = bytearray()
        try:
            async with self._http.stream(
                step.method, step.url, headers=dict(step.headers), content=step.body
            ) as answer:
                async for part in answer.aiter_bytes():
                    _append(body, part)
        except (self._httpx.TransportError, self._httpx.DecodingError) as error:
            raise _no_answer(error) from error
        return HttpAnswer(answer.status_code, bytes(body))

    async def close(self) -> None:
        self._is_closed = True
        await self._http.aclose()
