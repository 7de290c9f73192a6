"""Passing a write on to the registry that leads: the same request, and its answer as it is.

Owns the HTTP client for it. Knows nothing of what is asked.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from barnabas.registry_server import api_errors

if TYPE_CHECKING:
    import httpx
    from starlette.requests import Request
    from starlette.responses import Response

# Of Confluent's registry: with it a request is not passed on again.
FORWARDED = "x-forward"
# Of the connection, not of the request; or httpx's to set.
NOT_PASSED_ON = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "accept-encoding",
        FORWARDED,
    }
)
TIMEOUT_SECONDS = 60.0


class Forwarding:
    """`caught_up` is awaited after the leader has done it: who wrote here reads here what it wrote."""

    def __init__(
        self, caught_up: Callable[[], Awaitable[None]], *, ssl_context: ssl.SSLContext | None = None
    ) -> None:
        self._caught_up = caught_up
        self._ssl_context = ssl_context
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, request: Request, body: bytes, leader_url: str) -> Response:
        # A registry that is alone never needs it.
        import httpx
        from starlette.responses import Response

        if request.headers.get(FORWARDED, "").lower() == "true":
            raise api_errors.leader_unknown("This registry was taken for the leader, and is not.")
        headers = [(name, value) for name, value in request.headers.items() if name not in NOT_PASSED_ON]
        headers.append((FORWARDED, "true"))
        if self._client is None:
            verify = True if self._ssl_context is None else self._ssl_context
            self._client = httpx.AsyncClient(verify=verify, timeout=TIMEOUT_SECONDS, trust_env=False)
        path = request.scope["raw_path"].decode("ascii")
        query = request.scope["query_string"].decode("ascii")
        try:
            answer = await self._client.request(
                request.method,
                leader_url + path + ("?" + query if query else ""),
                content=body,
                headers=headers,
            )
        except httpx.HTTPError as error:
            raise api_errors.forwarding_failed(
                f"Unexpected error while forwarding the request to {leader_url}: {error or repr(error)}"
            ) from None
        if answer.is_success:
            await self._caught_up()
        names = ("content-type", "vary", "www-authenticate", "location")
        passed_back = {name: answer.headers[name] for name in names if name in answer.headers}
        return Response(answer.content, answer.status_code, passed_back)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
