"""What pages that change something have in common: numbers in forms, and telling what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse

from barnabas.errors import BarnabasError
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.rendering import to

MOST_DIGITS = 18


def number(values: Mapping[str, str], name: str, default: int) -> int:
    """A number that somebody typed; `default` where they left it out. Raises: HTTPException (400)."""
    text = values.get(name, "").strip()
    if not text:
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > MOST_DIGITS:
        raise HTTPException(400, f"{name}: {text!r} is no whole number")
    return int(text)


async def changed(
    request: Request, change: Awaitable[Any], back: str, told: str, *, renews: bool = True
) -> RedirectResponse:
    """Makes a change, and goes to `back`, where `told` or the error is shown; after an error to where the
    form was. `renews`: lists show the change at once."""
    access: ClusterAccess = request.app.state.access
    try:
        await change
        if renews:
            await access.renewed()
    except BarnabasError as error:
        request.session["told"] = ["error", str(error)]
        form_was = urlsplit(request.headers.get("referer", ""))
        if form_was.path.startswith("/") and not form_was.path.startswith("//"):
            return RedirectResponse(form_was._replace(scheme="", netloc="").geturl(), 303)
        return to(request, back)
    request.session["told"] = ["done", told]
    return to(request, back)
