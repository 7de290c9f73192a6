from __future__ import annotations

import re
from collections.abc import Callable

from starlette.testclient import TestClient

from barnabas import Admin, Consumer
from barnabas.client.admin.types import ConfigResource, ResourceType
from barnabas.testing import ApacheKafka, EmbeddedBroker

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]


def token_of(text: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', text)
    assert found is not None
    return found[1]


def test_the_list_has_each_topic_with_its_partitions(open_page: OpenPage, written: Written) -> None:
    topic = written("a", partitions=3)
    answer = open_page().get("/topics", params={"q": topic})
    assert answer.status_code == 200
    row = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text.split("<tbody>")[1].split("</tr>")[0]))
    assert row.split()[:2] == [topic, "3"]


def test_a_search_leaves_other_topics_out(open_page: OpenPage, written: Written) -> None:
    one, other = written(), written()
    text = open_page().get("/topics", params={"q": one.upper()}).text
    assert f"/topics/{one}" in text
    assert f"/topics/{other}" not in text


def test_lag_of_a_group_is_in_the_list_and_on_the_topics_page(
    open_page: OpenPage, written: Written, shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    topic = written("a", "b", "c")
    with Consumer(shown_broker.bootstrap, group_id=f"{topic}-group") as consumer:
        consumer.commit({(topic, 0): 1})
    page = open_page()
    assert '<td class="n lag">2</td>' in page.get("/topics", params={"q": topic}).text
    text = page.get(f"/topics/{topic}").text
    assert f"{topic}-group" in text
    assert '<td class="n lag">2</td>' in text


def test_a_topic_that_is_not_there_is_told_as_such_and_not_created(
    open_page: OpenPage, topic: Callable[[], str], shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    name = topic()
    answer = open_page().get(f"/topics/{name}")
    assert answer.status_code == 404
    assert name in answer.text
    with Admin(shown_broker.bootstrap) as admin:
        assert name not in admin.list_topics()


def test_names_are_never_markup(open_page: OpenPage) -> None:
    answer = open_page().get("/topics", params={"q": "<script>alert(1)</script>"})
    assert "<script>alert" not in answer.text


def test_a_topic_is_created_altered_and_deleted(
    open_page: OpenPage, topic: Callable[[], str], shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    name, page = topic(), open_page(allows_writes=True)
    csrf = token_of(page.get("/topics").text)
    created = page.post("/topics", data={"csrf": csrf, "name": name, "partitions": "2"})
    assert "was created" in created.text
    changed = page.post(
        f"/topics/{name}/settings", data={"csrf": csrf, "name": "retention.ms", "value": "12345"}
    )
    assert "retention.ms is 12345" in changed.text
    resource = ConfigResource(ResourceType.TOPIC, name)
    with Admin(shown_broker.bootstrap) as admin:
        assert len(admin.describe_topics([name])[name].partitions) == 2
        assert admin.describe_configs([resource])[resource]["retention.ms"].value == "12345"
        kept = page.post(f"/topics/{name}/delete", data={"csrf": csrf, "confirmed": "another"})
        assert "type its name" in kept.text
        assert name in admin.list_topics()
        deleted = page.post(f"/topics/{name}/delete", data={"csrf": csrf, "confirmed": name})
        assert "was deleted" in deleted.text
        assert name not in admin.list_topics()


def test_the_brokers_error_is_shown_where_the_form_was(open_page: OpenPage, written: Written) -> None:
    page, topic = open_page(allows_writes=True), written()
    csrf = token_of(page.get("/topics").text)
    answer = page.post("/topics", data={"csrf": csrf, "name": topic}, headers={"Referer": "/topics"})
    assert answer.url.path == "/topics"
    assert '<p class="told error"' in answer.text
    assert f"topic {topic}" in answer.text.replace("&#39;", "")
