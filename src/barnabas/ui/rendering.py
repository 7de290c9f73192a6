"""Templates, and how figures are written in them. Knows no page."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from barnabas.ui.roles import Role
from barnabas.ui.security import csrf_token, role_of, user_name
from barnabas.values import frozen
from barnabas.wording import counted

if TYPE_CHECKING:
    from barnabas.ui.cluster_access import ClusterAccess
    from barnabas.ui.named_cluster import NamedCluster

T = TypeVar("T")

ROWS_ON_A_PAGE = 100
NOTHING = "–"
THEMES = ("dark", "light")


@frozen
class Rows(Generic[T]):
    """One page of a list."""

    shown: Sequence[T]
    total: int
    page: int
    pages: int

    @property
    def first(self) -> int:
        return self.page * ROWS_ON_A_PAGE - ROWS_ON_A_PAGE + 1 if self.total else 0

    @property
    def last(self) -> int:
        return min(self.page * ROWS_ON_A_PAGE, self.total)


def paged(request: Request, rows: Sequence[T]) -> Rows[T]:
    """The page of `rows` that the request asks for with `page`, the nearest there is."""
    pages = max(math.ceil(len(rows) / ROWS_ON_A_PAGE), 1)
    said = request.query_params.get("page", "")
    page = min(max(int(said), 1), pages) if said.isdecimal() and len(said) < 10 else 1
    begin = (page - 1) * ROWS_ON_A_PAGE
    return Rows(rows[begin : begin + ROWS_ON_A_PAGE], len(rows), page, pages)


def count(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def size(value: float | None) -> str:
    if value is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            return f"{value:,.0f} {unit}" if unit == "B" or value >= 100 else f"{value:,.1f} {unit}"
        value /= 1024
    raise AssertionError


def rate(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}/s" if value >= 10 or value == 0 else f"{value:.1f}/s"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    for limit, unit, length in ((120, "s", 1), (7_200, "min", 60), (172_800, "h", 3_600)):
        if seconds < limit:
            return f"{seconds / length:,.1f} {unit}" if seconds < 10 else f"{seconds / length:,.0f} {unit}"
    return f"{seconds / 86_400:,.0f} d"


def age(seconds: float) -> str:
    return "now" if seconds < 1 else f"{duration(math.floor(seconds))} ago"


def moment(timestamp_ms: float | None) -> str:
    """In the time zone of the machine that serves the page."""
    if timestamp_ms is None or timestamp_ms < 0:
        return NOTHING
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000).isoformat(sep=" ", timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms:.0f} ms"


def segment(text: str) -> str:
    """As one part of a path."""
    return quote(text, safe="")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("barnabas.ui"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    filters: dict[str, Callable[..., str]] = {
        "count": count,
        "counted": partial(counted, grouping=","),
        "size": size,
        "rate": rate,
        "duration": duration,
        "age": age,
        "moment": moment,
        "segment": segment,
    }
    environment.filters.update(filters)
    return environment


def base_path(request: Request) -> str:
    """What is before the paths of the application, where it is served below a path."""
    return request.scope.get("ui.base", request.scope.get("root_path", ""))


def to(request: Request, path: str) -> RedirectResponse:
    """Sends the browser to another page of this cluster."""
    return RedirectResponse(request.scope.get("root_path", "") + path, 303)


def _clusters(request: Request) -> list[tuple[str, str]]:
    """Where the like of this page is of each cluster, by name, where there are several."""
    named: Sequence[NamedCluster] = request.app.state.clusters
    path = request.url.path.removeprefix(request.scope.get("root_path", ""))
    return [(each.name, base_path(request) + each.path + each.section(path)) for each in named]


def fragment(template: str, **values: Any) -> str:
    """A piece of a page."""
    return _environment().get_template(template).render(**values)


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A whole page."""
    # None: a page that is of no cluster.
    access: ClusterAccess | None = getattr(request.app.state, "access", None)
    theme = request.cookies.get("theme", "")
    role = role_of(request)

    def with_query(**changes: Any) -> str:
        """The page's own address with other parameters."""
        changed = {k: v for k, v in {**request.query_params, **changes}.items() if v not in (None, "")}
        return f"{request.url.path}?{urlencode(changed)}" if changed else request.url.path

    text = fragment(
        template,
        request=request,
        path=request.url.path,
        root=request.scope.get("root_path", ""),
        base=base_path(request),
        query=request.query_params,
        with_query=with_query,
        theme=theme if theme in THEMES else "",
        pages=request.app.state.menu,
        bootstrap=None if access is None else access.settings.client["bootstrap_servers"],
        problem=None if access is None else access.problem,
        cluster_name=request.app.state.name,
        clusters=_clusters(request),
        csrf=csrf_token(request),
        may_operate=role >= Role.OPERATOR,
        may_administer=role >= Role.ADMIN,
        user=user_name(request),
        may_log_out=request.scope.get("ui.may_log_out", False),
        told=request.session.pop("told", None),
        now=time.time(),
        **values,
    )
    return HTMLResponse(text, status)
