from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from barnabas.registry_server.access import user_line

OpenPage = Callable[..., TestClient]


@pytest.fixture
def page(open_page: OpenPage, tmp_path: Path) -> TestClient:
    users = tmp_path / "users"
    users.write_text(f"{user_line('ann', 'read', 'a')}\n{user_line('will', 'write', 'w')}\n")
    return open_page(users=users, allows_writes=True)


def test_nobody_but_users_sees_anything(page: TestClient) -> None:
    for path in ("/topics", "/static/style.css", "/no/such"):
        answer = page.get(path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Basic ")
    assert page.get("/topics", auth=("ann", "wrong")).status_code == 401
    assert page.get("/topics", auth=("ann", "a")).status_code == 200


def test_a_user_who_may_read_changes_nothing(page: TestClient) -> None:
    text = page.get("/topics", auth=("ann", "a")).text
    assert 'method="post"' not in text
    assert "read only" in text
    answer = page.post("/topics", data={"name": "flights"}, auth=("ann", "a"))
    assert answer.status_code == 403
    assert "ann has the role viewer" in answer.text


def test_a_user_who_may_write_has_the_forms(page: TestClient) -> None:
    assert 'method="post"' in page.get("/topics", auth=("will", "w")).text
