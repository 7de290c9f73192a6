"""Changes of topics by the page's forms, on both brokers."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient
from tests.ui.pages.test_topics import token_of

from barnabas import Admin, Producer, TopicPartition
from barnabas.client.admin.types import ConfigResource, ResourceType
from barnabas.testing import ApacheKafka, EmbeddedBroker

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]
AnyBroker = ApacheKafka | EmbeddedBroker


@pytest.fixture
def page(open_page: OpenPage) -> TestClient:
    return open_page(allows_writes=True)


@pytest.fixture
def csrf(page: TestClient) -> str:
    return token_of(page.get("/topics").text)


def rows_of(text: str, table: int = 1) -> list[list[str]]:
    """The words of each row of a page's table."""
    body = text.split("<tbody>")[table].split("</tbody>")[0]
    return [re.sub(r"<[^>]+>", " ", row).split() for row in body.split("</tr>")[:-1]]


def test_a_topic_has_the_settings_that_it_was_created_with(
    page: TestClient, csrf: str, topic: Callable[[], str], shown_broker: AnyBroker
) -> None:
    name = topic()
    form = {
        "csrf": csrf,
        "name": name,
        "partitions": "2",
        "settings": "retention.ms=1000\n\ncleanup.policy=compact",
    }
    assert "was created" in page.post("/topics", data=form).text
    resource = ConfigResource(ResourceType.TOPIC, name)
    with Admin(shown_broker.bootstrap) as admin:
        found = admin.describe_configs([resource])[resource]
    assert (found["retention.ms"].value, found["cleanup.policy"].value) == ("1000", "compact")


def test_a_topic_that_is_only_checked_is_not_created(
    page: TestClient, csrf: str, topic: Callable[[], str], shown_broker: AnyBroker
) -> None:
    form = {"csrf": csrf, "name": topic(), "partitions": "2", "do": "check"}
    text = page.post("/topics", data=form).text
    assert "could be created like this" in text
    assert f'value="{form["name"]}"' in text
    with Admin(shown_broker.bootstrap) as admin:
        assert form["name"] not in admin.list_topics()


def test_what_was_typed_stays_where_the_brokers_refuse_it(
    page: TestClient, csrf: str, topic: Callable[[], str]
) -> None:
    form = {"csrf": csrf, "name": topic(), "settings": "retention.ms=<b>long</b>"}
    text = page.post("/topics", data=form).text
    assert '<p class="told error"' in text
    assert "retention.ms=&lt;b&gt;long&lt;/b&gt;</textarea>" in text
    assert "<b>long" not in text


def test_a_setting_without_a_value_is_told_as_such(
    page: TestClient, csrf: str, topic: Callable[[], str]
) -> None:
    answer = page.post("/topics", data={"csrf": csrf, "name": topic(), "settings": "retention.ms"})
    assert answer.status_code == 400
    assert "is not NAME=VALUE" in answer.text


def test_partitions_are_added_after_a_check(
    page: TestClient, csrf: str, written: Written, shown_broker: AnyBroker
) -> None:
    name = written()
    address = f"/topics/{name}/partitions"
    with Admin(shown_broker.bootstrap) as admin:
        checked = page.post(address, data={"csrf": csrf, "total": "3", "do": "check"})
        assert "could have 3 partitions. Nothing was changed." in checked.text
        assert len(admin.describe_topics([name])[name].partitions) == 1
        assert "has 3 partitions" in page.post(address, data={"csrf": csrf, "total": "3"}).text
        assert len(admin.describe_topics([name])[name].partitions) == 3
        refused = page.post(address, data={"csrf": csrf, "total": "2", "do": "check"})
        assert '<p class="told error"' in refused.text


def test_a_setting_of_its_own_stands_first_and_goes_back_to_its_default(
    page: TestClient, csrf: str, written: Written
) -> None:
    address = f"/topics/{written()}/settings"
    default = next(row for row in rows_of(page.get(address).text) if row[0] == "max.message.bytes")[1]
    checked = page.post(
        address, data={"csrf": csrf, "name": "max.message.bytes", "value": "4000", "to": "check"}
    )
    assert f"max.message.bytes: {default} → 4000 would be taken. Nothing was changed." in checked.text
    assert rows_of(checked.text)[0][0] != "max.message.bytes"
    changed = page.post(address, data={"csrf": csrf, "name": "max.message.bytes", "value": "4000"})
    assert rows_of(changed.text)[0][:3] == ["max.message.bytes", "4000", default]
    reset = page.post(address, data={"csrf": csrf, "name": "max.message.bytes", "to": "default"})
    assert "has its default again" in reset.text
    assert rows_of(reset.text)[0][0] != "max.message.bytes"


def test_a_setting_that_the_brokers_refuse_is_told_at_the_check(
    page: TestClient, csrf: str, written: Written
) -> None:
    form = {"csrf": csrf, "name": "retention.ms", "value": "long", "to": "check"}
    text = page.post(f"/topics/{written()}/settings", data=form).text
    assert '<p class="told error"' in text
    assert "retention.ms" in text


def test_settings_are_searched(page: TestClient, written: Written) -> None:
    text = page.get(f"/topics/{written()}/settings", params={"q": "Retention"}).text
    assert {row[0] for row in rows_of(text)} >= {"retention.ms", "retention.bytes"}
    assert "cleanup.policy" not in text


def offsets_in(text: str) -> str:
    found = re.search(r'name="offsets" value="([^"]+)"', text)
    assert found is not None
    return found[1]


def test_records_below_an_offset_are_deleted_as_the_preview_showed(
    page: TestClient, csrf: str, written: Written, shown_broker: AnyBroker
) -> None:
    name = written("a", "b", "c")
    address = f"/topics/{name}/delete-records"
    partition = TopicPartition(name, 0)
    preview = page.get(address, params={"way": "offset", "at": "2"}).text
    assert "2 records at most would be deleted" in preview
    assert rows_of(preview) == [["0", "0", "2", "3"]]
    with Admin(shown_broker.bootstrap) as admin:
        assert admin.list_offsets({partition: "earliest"})[partition].offset == 0
        with Producer(shown_broker.bootstrap) as producer:
            producer.send(name, b"d").result(30)
        done = page.post(address, data={"csrf": csrf, "offsets": offsets_in(preview)})
        assert "were deleted" in done.text
        assert admin.list_offsets({partition: "earliest"})[partition].offset == 2


def test_a_topic_is_emptied(page: TestClient, csrf: str, written: Written, shown_broker: AnyBroker) -> None:
    name = written("a", "b", partitions=3)
    address = f"/topics/{name}/delete-records"
    preview = page.get(address).text
    assert "2 records at most would be deleted" in preview
    page.post(address, data={"csrf": csrf, "offsets": offsets_in(preview)})
    places = [TopicPartition(name, number) for number in range(3)]
    with Admin(shown_broker.bootstrap) as admin:
        first = admin.list_offsets(dict.fromkeys(places, "earliest"))
        assert first == admin.list_offsets(dict.fromkeys(places, "latest"))
    assert "There is nothing to delete." in page.get(address).text


def test_records_of_a_partition_before_a_time_are_deleted(page: TestClient, written: Written) -> None:
    name = written("a", timestamp=1_700_000_000_000)
    address = f"/topics/{name}/delete-records"
    before = page.get(address, params={"partition": "0", "way": "time", "at": "1700000000000"}).text
    assert "There is nothing to delete." in before
    after = page.get(address, params={"partition": "0", "way": "time", "at": "1700000000001"}).text
    assert rows_of(after) == [["0", "0", "1", "1"]]
    assert page.get(address, params={"partition": "7"}).status_code == 404
    assert page.get(address, params={"way": "time", "at": "soon"}).status_code == 400


def test_producers_of_a_topic_are_shown(page: TestClient, written: Written) -> None:
    name = written("a")
    [row] = rows_of(page.get(f"/topics/{name}/producers").text)
    assert row[0] == "0"
    assert row[3] == "0"
    assert "remember no producers" in page.get(f"/topics/{written()}/producers").text


def test_a_message_that_would_not_fit_into_a_cookie_is_cut(
    page: TestClient, csrf: str, written: Written
) -> None:
    name = written()
    form = {"csrf": csrf, "name": "retention.ms", "value": "\N{GRINNING FACE}" * 5_000}
    answer = page.post(f"/topics/{name}/settings", data=form, headers={"Referer": "/topics"})
    assert '<p class="told error"' in answer.text
    assert len(page.cookies["session"]) < 4_000
