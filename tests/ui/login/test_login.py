from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from barnabas.errors import InvalidSettingError
from barnabas.registry_server.access import user_line
from barnabas.ui.roles import ROLES_OF_USERS

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


def test_an_operator_changes_records_and_no_topics(
    open_page: OpenPage, tmp_path: Path, written: Callable[..., str]
) -> None:
    users = tmp_path / "users"
    users.write_text(user_line("olga", "operator", "o", tuple(ROLES_OF_USERS)))
    page, topic, olga = open_page(users=users, allows_writes=True), written(), ("olga", "o")
    records = page.get(f"/topics/{topic}/records", auth=olga).text
    form = {"csrf": records.split('name="csrf" value="')[1].split('"')[0], "value": "a", "name": "flights"}
    assert "1 record was written" in page.post(f"/topics/{topic}/records", data=form, auth=olga).text
    refused = page.post("/topics", data=form, auth=olga)
    assert refused.status_code == 403
    assert "olga has the role operator; this needs admin" in refused.text


def test_a_role_that_the_page_does_not_know_is_named(open_page: OpenPage, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text(user_line("ann", "read", "a").replace(" read ", " root "))
    with pytest.raises(InvalidSettingError, match="line 1: the role 'root' is not one of viewer, operator"):
        open_page(users=users)
