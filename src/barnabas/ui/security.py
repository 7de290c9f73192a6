"""What keeps others from using the page: headers, and the tokens and roles that changes need.

Knows nothing of how users are recognised: `barnabas.ui.login` and `barnabas.ui.single_sign_on` tell.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request

from barnabas.ui.audit import AuditLog, Outcome, shown_fields, without_hidden
from barnabas.ui.limits import LONGEST_BODY_BYTES
from barnabas.ui.roles import Role
from barnabas.ui.settings import UiSettings
from barnabas.values import frozen

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CSRF_FIELD = "csrf"
MOST_FIELDS = 50_000
"""A group is moved with a field for each partition."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # For browsers that do not know frame-ancestors.
    "X-Frame-Options": "DENY",
}


class SecurityHeaders:
    """An ASGI application that adds them to every answer. What is shown is nobody else's to keep: only the
    assets may be cached. Over https, cookies are for https alone."""

    def __init__(self, app: ASGIApp, *, is_https: bool = False) -> None:
        self._app = app
        self._is_https = is_https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
                if scope["scheme"] == "https" or self._is_https:
                    message["headers"] = [
                        (name, value + b"; secure") if name.lower() == b"set-cookie" else (name, value)
                        for name, value in headers.raw
                    ]
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def csrf_token(request: Request) -> str:
    """What forms of this session carry."""
    return request.session.setdefault(CSRF_FIELD, secrets.token_urlsafe(24))


def user_name(request: Request) -> str | None:
    """None where there are no users."""
    return request.scope.get("ui.user")


def role_of(request: Request) -> Role:
    """What this user may do here. Where there are no users, everyone is an admin; without --allow-writes
    everyone is a viewer."""
    if not request.app.state.settings.allows_writes:
        return Role.VIEWER
    return request.scope.get("ui.role", Role.ADMIN)


@frozen
class SentChange:
    """The form of a change, as the audit log has to know it."""

    form: Mapping[str, str]
    shows: tuple[str, ...] = ()


async def sent_form(request: Request, needs: Role, *, shows: tuple[str, ...] = ()) -> Mapping[str, str]:
    """The fields of a form that changes something, for which a user needs the role `needs`. `shows`: fields
    named `key`, `value` or `headers` that are not a record's, whose values the audit log may have.
    Raises: HTTPException (403, 503)."""
    try:
        if not request.app.state.settings.allows_writes:
            raise HTTPException(
                403, "nothing can be changed here: the page was started without --allow-writes"
            )
        role = role_of(request)
        if role < needs:
            raise HTTPException(
                403, f"{user_name(request)} has the role {role.name.lower()}; this needs {needs.name.lower()}"
            )
        form = await sent_token(request)
    except HTTPException as refusal:
        audit(request, "refused", error=refusal.detail)
        raise
    request.scope["ui.change"] = SentChange(form, shows)
    log: AuditLog = request.app.state.audit
    problem = log.problem()
    if problem is not None:
        audit(request, "refused", error=problem)
        raise HTTPException(503, problem)
    return form


def audit(request: Request, outcome: Outcome, *, told: str | None = None, error: str | None = None) -> None:
    """Writes the line of a change. `told`: what was done."""
    log: AuditLog = request.app.state.audit
    sent: SentChange = request.scope.get("ui.change", SentChange({}))
    settings: UiSettings = request.app.state.settings

    def safe(text: str | None) -> str | None:
        return None if text is None else without_hidden(text, sent.form, sent.shows)

    entry: dict[str, Any] = {
        "outcome": outcome,
        "user": user_name(request),
        "role": role_of(request).name.lower(),
        "address": request.client.host if request.client else None,
        "cluster": request.app.state.name or settings.client["bootstrap_servers"],
        "method": request.method,
        "path": request.url.path,
        "query": shown_fields(request.query_params),
        "fields": shown_fields(sent.form, sent.shows),
        "told": safe(told),
        "error": safe(error),
    }
    log.add(entry)


async def sent_token(request: Request) -> Mapping[str, str]:
    """A form that is of this session, and its fields. Raises: HTTPException (403)."""
    sent = await request.form(max_files=0, max_fields=MOST_FIELDS, max_part_size=LONGEST_BODY_BYTES)
    form = {name: value for name, value in sent.items() if isinstance(value, str)}
    said = form.pop(CSRF_FIELD, "") or request.headers.get("X-CSRF-Token", "")
    expected = request.session.get(CSRF_FIELD, "")
    if not expected or not hmac.compare_digest(said.encode(), expected.encode()):
        raise HTTPException(403, "the form is not of this session: load the page again, and send it again")
    return form
