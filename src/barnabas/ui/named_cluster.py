"""The clusters that a page shows, and what their menus have."""

from __future__ import annotations

from urllib.parse import quote

from starlette.applications import Starlette

from barnabas.values import frozen


@frozen
class MenuItem:
    """`key` goes there after g."""

    path: str
    name: str
    key: str
    prefix: str
    """What the paths of its pages begin with."""


@frozen
class NamedCluster:
    """One of several. `app` has its pages, and in its state their menu."""

    name: str
    app: Starlette

    @property
    def path(self) -> str:
        """Below the page's own."""
        return f"/clusters/{quote(self.name, safe='')}"

    def section(self, path: str) -> str:
        """Where a page of another cluster, at `path` below it, has its like here."""
        menu: list[MenuItem] = self.app.state.menu
        return next((item.path for item in menu if path.startswith(item.prefix)), menu[0].path)
