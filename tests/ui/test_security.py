from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from barnabas import Admin
from barnabas.testing import EmbeddedBroker

OpenPage = Callable[..., TestClient]


def test_no_script_or_style_stands_in_a_page(open_page: OpenPage) -> None:
    answer = open_page().get("/topics")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for forbidden in ("<style", " style=", " onclick=", "<script>"):
        assert forbidden not in answer.text


def test_a_page_without_allow_writes_changes_nothing(
    open_page: OpenPage, topic: Callable[[], str], embedded_broker: EmbeddedBroker
) -> None:
    page, name = open_page(), topic()
    assert 'method="post"' not in page.get("/topics").text
    answer = page.post("/topics", data={"name": name})
    assert answer.status_code == 403
    assert "--allow-writes" in answer.text
    with Admin(embedded_broker.bootstrap) as admin:
        assert name not in admin.list_topics()


@pytest.mark.parametrize("said", ["", "guessed"])
def test_a_form_of_another_site_changes_nothing(
    open_page: OpenPage, topic: Callable[[], str], embedded_broker: EmbeddedBroker, said: str
) -> None:
    page, name = open_page(allows_writes=True), topic()
    page.get("/topics")
    answer = page.post("/topics", data={"name": name, "csrf": said})
    assert answer.status_code == 403
    with Admin(embedded_broker.bootstrap) as admin:
        assert name not in admin.list_topics()


def test_a_name_that_was_made_to_lead_here_is_refused(open_page: OpenPage) -> None:
    assert open_page().get("/topics", headers={"Host": "evil.example"}).status_code == 400
    allowed = open_page(allowed_hosts=("kafka.example",))
    assert allowed.get("/topics", headers={"Host": "kafka.example"}).status_code == 200


def test_pages_on_two_ports_of_a_host_have_sessions_of_their_own(
    open_page: OpenPage, topic: Callable[[], str], embedded_broker: EmbeddedBroker
) -> None:
    pages = [open_page(allows_writes=True, port=port) for port in (8001, 8002)]
    tokens: list[str] = []
    cookies: dict[str, str] = {}  # of the one browser
    for page in pages:
        page.cookies = cookies
        tokens.append(page.get("/topics").text.split('name="csrf" value="')[1].split('"')[0])
        cookies |= {cookie.name: cookie.value or "" for cookie in page.cookies.jar}
    names = [topic(), topic()]
    for page, name, token in zip(pages, names, tokens, strict=True):
        page.cookies = cookies
        assert page.post("/topics", data={"name": name, "csrf": token}).status_code == 200
    with Admin(embedded_broker.bootstrap) as admin:
        assert set(names) <= set(admin.list_topics())
