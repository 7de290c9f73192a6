"""The API over HTTP, by starlette.

Owns reading requests within limits, and telling errors in JSON. Knows nothing of what is asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from barnabas.errors import RecordTooLargeError
from barnabas.registry_server import api_errors
from barnabas.registry_server.api_errors import ApiError
from barnabas.registry_server.journal.journal import JournalError, JournalTimeoutError, NotLeaderError
from barnabas.registry_server.rest import answers, routes
from barnabas.registry_server.rest.answers import RestAnswer
from barnabas.registry_server.rest.call import (
    MEDIA_TYPES,
    RestCall,
    answer_type,
    by_its_alias,
    in_its_context,
    parsed_query,
    refuse_body_of_other_type,
    split,
)
from barnabas.registry_server.rest.routes import Route
from barnabas.registry_server.service import RegistryService

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

log = logging.getLogger("barnabas.registry_server")

LARGEST_BODY_BYTES = 10 << 20
BODY_SECONDS = 30
"""A body may take so long to arrive."""
Forward = Callable[[Request, bytes, str], Awaitable[Response]]
"""`forward(request, body, leader_url)`: the leader's answer to the same request. Raises: ApiError."""


class RegistryApp:
    """An ASGI application. `forward`: None where no other registry writes."""

    def __init__(
        self,
        service: RegistryService,
        *,
        forward: Forward | None = None,
        largest_body_bytes: int = LARGEST_BODY_BYTES,
    ) -> None:
        self._service = service
        self._forward = forward
        self._largest_body_bytes = largest_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # A server begins with "lifespan", and goes on where an application does not know it.
            raise RuntimeError(f"a registry does not speak {scope['type']}")
        request = Request(scope, receive)
        try:
            response = await self._response(request)
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        media_type = MEDIA_TYPES[0]
        try:
            media_type = answer_type(request.headers.get("accept"))
            body = await self._body(request)
            return await self._answered(request, body, media_type)
        except ApiError as error:
            return _error(error, media_type)
        except RecursionError:
            return _error(api_errors.unprocessable("the request is too deep"), media_type)
        except Exception:
            log.exception("a request to the registry failed: %s %s", request.method, request.url.path)
            return _error(ApiError(500, 500, "Internal Server Error"), media_type)

    async def _body(self, request: Request) -> bytes:
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    if len(body) + len(part) > self._largest_body_bytes:
                        raise api_errors.unprocessable(
                            f"the body is larger than {self._largest_body_bytes} bytes"
                        )
                    body += part
        except TimeoutError:
            raise ApiError(408, 408, "HTTP 408 Request Timeout") from None
        return bytes(body)

    async def _answered(self, request: Request, body: bytes, media_type: str) -> Response:
        raw_path: bytes = request.scope["raw_path"]
        call = RestCall(
            request.method,
            split(raw_path.decode("ascii", "replace")),
            parsed_query(request.url.query),
            {name.lower(): value for name, value in request.headers.items()},
            body,
        )
        call = by_its_alias(in_its_context(call), self._service.state.configs.get)
        if call.method == "OPTIONS":
            return Response(headers={"Allow": ",".join(routes.methods(call))})
        route, arguments = routes.found(call)
        if body:
            refuse_body_of_other_type(call)
        try:
            answer = await route.handler(self._service, call, *arguments)
        except NotLeaderError as error:
            leader_url = error.leader_url or self._service.journal.leader_url()
            if leader_url is None or self._forward is None:
                raise api_errors.leader_unknown("Leader not known.") from None
            return await self._forward(request, body, leader_url)
        except (JournalError, RecordTooLargeError) as error:
            raise _journal_failed(route, error) from None
        return _made(answer, media_type)


def _journal_failed(route: Route, error: Exception) -> ApiError:
    if isinstance(error, RecordTooLargeError):
        return api_errors.schema_too_large()
    log.warning("the registry's journal failed: %s", error)
    if isinstance(error, JournalTimeoutError):
        return api_errors.timed_out(f"{route.failed}: it took too long")
    return api_errors.store_failed(route.failed)


def _made(answer: RestAnswer, media_type: str) -> Response:
    return Response(
        answer.body, answer.status, {"Content-Type": media_type, "Vary": "Accept"} if answer.body else None
    )


def _error(error: ApiError, media_type: str) -> Response:
    return _made(answers.error(error.error_code, str(error), error.status), media_type)
