"""The page below a path of a proxy's, such as https://tools.example/kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from barnabas.errors import InvalidSettingError
from barnabas.ui.settings import UiSettings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/")


class BelowPath:
    """An ASGI application for requests whose path begins with `path`, and for those of a proxy that takes it
    off. Pages know it as `ui.base`."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            base = scope.get("root_path", "") + self._path
            path = scope["path"]
            if path == base:
                path += "/"
            elif not path.startswith(base + "/"):
                path = base + path
            scope = {**scope, "root_path": base, "path": path, "ui.base": base}
        await self._app(scope, receive, send)


def own_path(scope: Scope) -> str:
    """The path without what is before the page's own."""
    return scope["path"].removeprefix(scope["ui.base"])


def base_path(settings: UiSettings) -> str:
    """Empty, or with a slash before it and none behind. Raises: InvalidSettingError."""
    said = None if settings.base_path is None else f"/{settings.base_path.strip('/')}".rstrip("/")
    if settings.public_url is not None:
        url = urlsplit(settings.public_url)
        if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
            raise InvalidSettingError(
                f"{settings.public_url!r} is no address of a page: write https://NAME or https://NAME/PATH"
            )
        of_url = url.path.rstrip("/")
        if said is not None and said != of_url:
            raise InvalidSettingError(
                f"{settings.public_url} has another path than the base path {said or '/'}: let both name "
                "the same one, or leave the base path out"
            )
        said = of_url
    said = said or ""
    parts = said.split("/")[1:]
    if not PLAIN.issuperset(said) or any(part in ("", ".", "..") for part in parts):
        raise InvalidSettingError(f"{said!r} is no path of plain letters, as /kafka is")
    return said
