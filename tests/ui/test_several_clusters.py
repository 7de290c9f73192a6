"""One page of several clusters, and the page below a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.testclient import TestClient

from barnabas import Admin, NewTopic
from barnabas.errors import InvalidSettingError
from barnabas.testing import EmbeddedBroker, free_ports
from barnabas.ui.app import make_app
from barnabas.ui.settings import ClusterSettings, UiSettings

OpenPage = Callable[..., TestClient]
OpenSeveral = Callable[..., TestClient]


@pytest.fixture(scope="module")
def other() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic("only-in-test", 1, 1)])
        yield broker


@pytest.fixture
def open_several(embedded_broker: EmbeddedBroker, other: EmbeddedBroker) -> Iterator[OpenSeveral]:
    """A page of the clusters `prod` and `test`, and of one that is away."""
    away = f"127.0.0.1:{free_ports(1)[0]}"
    with ExitStack() as ends:

        def make(**settings: Any) -> TestClient:
            clusters = {
                "prod": ClusterSettings({"bootstrap_servers": embedded_broker.bootstrap}),
                "test": ClusterSettings(
                    {"bootstrap_servers": other.bootstrap}, registry=f"http://127.0.0.1:{free_ports(1)[0]}"
                ),
                "away": ClusterSettings({"bootstrap_servers": away, "default_api_timeout_ms": 500}),
            }
            app = make_app(UiSettings(clusters=clusters, **settings))
            return ends.enter_context(TestClient(app, base_url="http://127.0.0.1"))

        yield make


def token(text: str) -> str:
    return text.split('name="csrf" value="')[1].split('"')[0]


def test_the_page_begins_with_the_state_of_each_cluster(
    open_several: OpenSeveral, eventually: Callable[..., Any], other: EmbeddedBroker
) -> None:
    page = open_several(refresh_seconds=0.1)
    text = page.get("/").text
    for name in ("prod", "test", "away"):
        assert f'<a href="/clusters/{name}/topics">{name}</a>' in text
    eventually(lambda: page.get("/").text.count("answers") == 2)
    eventually(lambda: '<span class="tag bad">away</span>' in page.get("/").text)
    assert other.bootstrap in page.get("/").text


def test_each_cluster_has_its_own_pages(open_several: OpenSeveral) -> None:
    page = open_several()
    assert "only-in-test" in page.get("/clusters/test/topics").text
    assert "only-in-test" not in page.get("/clusters/prod/topics").text
    assert page.get("/clusters/prod/topics/only-in-test").status_code == 404
    assert page.get("/topics").status_code == 404
    assert page.get("/clusters/no-such/topics").status_code == 404
    assert str(page.get("/clusters/test").url).endswith("/clusters/test/topics")


def test_every_link_of_a_cluster_stays_in_it(open_several: OpenSeveral) -> None:
    page = open_several(allows_writes=True)
    for path in ("topics", "topics/only-in-test", "groups", "cluster", "no-such-page"):
        text = page.get(f"/clusters/test/{path}").text
        links = [part.split('"')[0] for part in text.replace('action="', 'href="').split('href="')[1:]]
        assert all(link.startswith(("/clusters/", "/static/")) or link in ("/", "#content") for link in links)
        elsewhere = {link for link in links if link.startswith(("/clusters/prod", "/clusters/away"))}
        assert len(elsewhere) == 2


def test_another_cluster_is_chosen_in_the_same_section(open_several: OpenSeveral) -> None:
    page = open_several()
    text = page.get("/clusters/test/topics/only-in-test").text
    assert '<a href="/clusters/prod/topics">prod</a>' in text
    assert '<a href="/clusters/test/topics" aria-current="true">test</a>' in text
    assert '<a href="/clusters/prod/groups">prod</a>' in page.get("/clusters/test/groups").text
    # Of prod no registry is known.
    assert '<a href="/clusters/prod/topics">prod</a>' in page.get("/clusters/test/schemas").text


def test_a_change_is_made_where_the_form_was(open_several: OpenSeveral, tmp_path: Any) -> None:
    log = tmp_path / "audit.jsonl"
    page = open_several(allows_writes=True, audit_log=log)
    csrf = token(page.get("/clusters/test/topics").text)
    answer = page.post("/clusters/test/topics", data={"csrf": csrf, "name": "new-in-test", "partitions": "1"})
    assert str(answer.url).startswith("http://127.0.0.1/clusters/test/")
    assert "new-in-test" in page.get("/clusters/test/topics").text
    assert "new-in-test" not in page.get("/clusters/prod/topics").text
    assert '"cluster": "test"' in log.read_text()


def test_a_cluster_that_is_away_is_told_on_its_pages_alone(open_several: OpenSeveral) -> None:
    page = open_several()
    answer = page.get("/clusters/away/topics")
    assert answer.status_code == 502
    assert page.get("/clusters/prod/topics").status_code == 200


def test_below_a_path_every_link_has_it(open_page: OpenPage, topic: Callable[[], str]) -> None:
    page, name = open_page(base_path="/kafka/", allows_writes=True), topic()
    for path in ("/topics", f"/topics/{name}", "/groups", "/cluster", "/no-such-page"):
        text = page.get(f"/kafka{path}").text
        links = [part.split('"')[0] for part in text.replace('action="', 'href="').split('href="')[1:]]
        assert all(link.startswith(("/kafka/", "#")) for link in links), links
        assert 'src="/kafka/static/' in text
    assert str(page.get("/kafka").url).endswith("/kafka/topics")
    assert page.get("/kafka/static/style.css").status_code == 200


def test_a_proxy_may_take_the_path_off(open_page: OpenPage) -> None:
    page = open_page(base_path="/kafka")
    answer = page.get("/", follow_redirects=False)
    assert answer.headers["location"] == "/kafka/topics"
    assert 'href="/kafka/groups"' in page.get("/topics").text
    assert page.get("/static/style.css").status_code == 200


def test_the_session_is_of_the_path_alone(open_page: OpenPage) -> None:
    page = open_page(base_path="/kafka", allows_writes=True)
    answer = page.get("/kafka/topics")
    assert "path=/kafka;" in answer.headers["set-cookie"]
    form = {"csrf": token(answer.text), "name": "", "partitions": "1"}
    assert page.post("/kafka/topics", data=form).status_code != 403


def test_several_clusters_stand_below_a_path(open_several: OpenSeveral) -> None:
    page = open_several(public_url="https://tools.example/kafka")
    headers = {"Host": "tools.example"}
    assert 'href="/kafka/clusters/test/topics"' in page.get("/kafka/", headers=headers).text
    assert 'href="/kafka/clusters/test/groups"' in page.get("/clusters/test/topics", headers=headers).text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base_path": "/topics"}, "it has a page of that name"),
        ({"base_path": "/static/x"}, "it has a page of that name"),
        ({"base_path": "/a b"}, "plain letters"),
        ({"base_path": '/"x'}, "plain letters"),
        ({"base_path": "/a/../b"}, "plain letters"),
        ({"public_url": "tools.example/kafka"}, "no address"),
        ({"public_url": "javascript://x/%0aalert(1)"}, "no address"),
        ({"public_url": "https://tools.example/a", "base_path": "/b"}, "another path than the base path"),
    ],
)
def test_a_path_that_cannot_be_is_an_error(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidSettingError, match=said):
        make_app(UiSettings(client={"bootstrap_servers": "127.0.0.1:1"}, **settings))


def test_what_a_proxy_says_is_believed_of_named_addresses_alone(embedded_broker: EmbeddedBroker) -> None:
    import httpx
    from tests.ui.page_in_thread import PageInThread

    said = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
    client = {"bootstrap_servers": embedded_broker.bootstrap}
    for named, is_secure in (((), False), (("192.0.2.1",), False), (("127.0.0.0/8",), True)):
        with PageInThread(UiSettings(client=client, allows_writes=True, forwarded_allow_ips=named)) as page:
            cookie = httpx.get(f"{page.url}/topics", headers=said).headers["set-cookie"]
            assert ("; secure" in cookie) == is_secure


def test_cookies_are_for_https_alone_where_the_address_is(open_page: OpenPage) -> None:
    page = open_page(public_url="https://kafka.example", allows_writes=True)
    cookie = page.get("/topics", headers={"Host": "kafka.example"}).headers["set-cookie"]
    for flag in ("; secure", "httponly", "samesite=lax"):
        assert flag in cookie
