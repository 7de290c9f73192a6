"""What pages that change something have in common: numbers in forms, and telling what came of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse

from barnabas.errors import BarnabasError
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.rendering import to
from barnabas.ui.security import audit

MOST_DIGITS = 18
# As JSON; base64 makes a third more of it, and browsers take 4,096 bytes.
MOST_TOLD_BYTES = 2_000


def number(values: Mapping[str, str], name: str, default: int) -> int:
    """A number that somebody typed; `default` where they left it out. Raises: HTTPException (400)."""
    text = values.get(name, "").strip()
    if not text:
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > MOST_DIGITS:
        raise HTTPException(400, f"{name}: {text!r} is no whole number")
    return int(text)


def is_own(path: str) -> bool:
    """Whether a browser that is sent there stays here: it takes a backslash for a slash, and leaves out what
    is no character of an address."""
    return path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()


def tell(request: Request, kind: Literal["done", "error"], text: str) -> None:
    """Says it on the next page. A long text is cut: browsers drop a cookie that is too large, and the session
    with it."""
    shown = text
    while len(json.dumps(shown)) > MOST_TOLD_BYTES:
        shown = shown[: len(shown) * 3 // 4]
    request.session["told"] = [kind, shown if shown == text else f"{shown}…"]


async def changed(
    request: Request, change: Awaitable[Any], back: str, told: str, *, renews: bool = True
) -> RedirectResponse:
    """Makes a change, writes it to the audit log, and goes to `back`, where `told` or the error is shown;
    after an error to where the form was. `renews`: lists show the change at once."""
    access: ClusterAccess = request.app.state.access
    try:
        try:
            await change
        except BaseException as error:
            # Whatever ended it: it may have been made all the same.
            audit(request, "failed", error=str(error) or type(error).__name__)
            raise
        audit(request, "done", told=told)
        if renews:
            await access.renewed()
    except BarnabasError as error:
        tell(request, "error", str(error))
        form_was = urlsplit(request.headers.get("referer", ""))._replace(scheme="", netloc="").geturl()
        return RedirectResponse(form_was, 303) if is_own(form_was) else to(request, back)
    tell(request, "done", told)
    return to(request, back)
