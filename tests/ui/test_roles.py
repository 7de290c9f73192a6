"""Who may do what: each route that takes a form, by each role. A new route needs a row here."""

from __future__ import annotations

import base64
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route
from starlette.testclient import TestClient

from barnabas.registry_server.access import user_line
from barnabas.testing import EmbeddedBroker
from barnabas.ui.app import make_app
from barnabas.ui.roles import ROLES_OF_USERS, Role
from barnabas.ui.settings import UiSettings

OpenPage = Callable[..., TestClient]
V, OP, A = Role

# By path: the lowest role that may send it. What only asks is for viewers, and needs no form of this session.
NEEDED = {
    "/topics": A,
    "/topics/{topic}/settings": A,
    "/topics/{topic}/delete": A,
    "/topics/{topic}/partitions": A,
    "/topics/{topic}/delete-records": OP,
    "/topics/{topic}/records": OP,
    "/topics/{topic}/records/{partition:int}/{offset:int}/resend": OP,
    "/topics/{topic}/records/{partition:int}/{offset:int}/send-back": OP,
    "/topics/{topic}/letters": OP,
    "/group/reset": OP,
    "/group/offsets/delete": OP,
    "/group/members/remove": OP,
    "/group/delete": OP,
    "/cluster/brokers/{node:int}": A,
    "/cluster/users": A,
    "/cluster/users/delete": A,
    "/cluster/quotas": A,
    "/cluster/acls": A,
    "/cluster/acls/delete": A,
    "/cluster/transactions/abort": A,
    "/cluster/transaction/fence": A,
    "/cluster/reassignments/cancel": A,
    "/schema": V,
    "/schema/delete": A,
    "/schemas": A,
    "/schemas/level": A,
    "/faults": A,
    "/faults/switch": A,
}


def sent(routes: list[BaseRoute], prefix: str = "") -> Iterator[tuple[str, Route]]:
    """Every route that takes a POST."""
    for route in routes:
        if isinstance(route, Mount):
            yield from sent(list(route.routes), prefix + route.path)
        elif isinstance(route, Route) and "POST" in (route.methods or ()):
            yield prefix + route.path, route


def every(routes: list[BaseRoute]) -> Iterator[Route]:
    for route in routes:
        if isinstance(route, Mount):
            yield from every(list(route.routes))
        elif isinstance(route, Route):
            yield route


@pytest.fixture
def app() -> Starlette:
    return make_app(UiSettings(client={"bootstrap_servers": "127.0.0.1:1"}))


def test_each_route_that_takes_a_form_has_a_row_here(app: Starlette) -> None:
    assert {path for path, _ in sent(app.routes)} == NEEDED.keys()


def test_a_link_changes_nothing(app: Starlette) -> None:
    for route in every(app.routes):
        if not (route.methods or set()) <= {"POST"}:
            body = inspect.getsource(route.endpoint)
            assert "sent_form(" not in body, route.path
            assert "changed(" not in body, route.path


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("users") / "users"
    lines = [user_line(r.name.lower(), r.name.lower(), "p", tuple(ROLES_OF_USERS)) for r in Role]
    file.write_text("\n".join(lines))
    return file


@pytest.fixture
def page(open_page: OpenPage, embedded_broker: EmbeddedBroker, users: Path) -> TestClient:
    faults = embedded_broker.faults.url
    return open_page(users=users, allows_writes=True, faults=faults, registry="http://127.0.0.1:1")


def filled(path: str) -> str:
    return re.sub(r"\{\w+:int\}", "77", path.replace("{topic}", "no-such-topic"))


def session_token(page: TestClient) -> str:
    """What a form of its session has."""
    return json.loads(base64.b64decode(page.cookies["session"].split(".")[0]))["csrf"]


@pytest.mark.parametrize("path", NEEDED)
@pytest.mark.parametrize("role", Role, ids=lambda role: role.name.lower())
def test_a_form_is_taken_of_whom_the_table_names(page: TestClient, path: str, role: Role) -> None:
    name = role.name.lower()
    page.get("/topics", auth=(name, "p"))
    answer = page.post(filled(path), data={"csrf": session_token(page)}, auth=(name, "p"))
    assert answer.status_code not in (404, 405) or "Not Found" not in answer.text
    assert (answer.status_code == 403) == (role < NEEDED[path])
    if answer.status_code == 403:
        assert f"{name} has the role {name}" in answer.text


@pytest.mark.parametrize("path", [path for path, role in NEEDED.items() if role is not V])
def test_a_form_is_taken_of_its_own_session_alone(
    page: TestClient, open_page: OpenPage, users: Path, path: str
) -> None:
    admin = ("admin", "p")
    other = open_page(users=users, allows_writes=True)
    other.get("/topics", auth=admin)
    page.get("/topics", auth=admin)
    for token in ("", session_token(other)):
        answer = page.post(filled(path), data={"csrf": token}, auth=admin)
        assert answer.status_code == 403
        assert "not of this session" in answer.text
