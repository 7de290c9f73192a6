from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from barnabas import Consumer, ShareConsumer
from barnabas.testing import ApacheKafka, EmbeddedBroker

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]


def committed_at(broker: ApacheKafka | EmbeddedBroker, group: str, topic: str, offset: int) -> None:
    with Consumer(broker.bootstrap, group_id=group) as consumer:
        consumer.commit({(topic, 0): offset})


def cells(text: str, name: str) -> list[str]:
    """Of the row that begins with `name`."""
    for row in text.replace("</tr>", "<tr>").split("<tr>")[1:]:
        found = [re.sub(r"<[^>]+>", "", cell).strip() for cell in row.split("<td")[1:]]
        found = [cell.partition(">")[2].strip() for cell in found]
        if found and found[0] == name:
            return found
    raise AssertionError(f"no row {name}")


def test_a_group_has_its_members_and_its_lag_in_records_and_in_time(
    open_page: OpenPage, written: Written, shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    topic = written("a", "b", "c", timestamp=1_700_000_000_000)
    group = f"{topic}-group"
    with Consumer(
        shown_broker.bootstrap,
        topics=[topic],
        group_id=group,
        client_id="reader",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        assert consumer.poll(30)
        consumer.commit({(topic, 0): 1})
        text = open_page().get("/group", params={"id": group}).text
    row = cells(text, f"{topic}-0")
    assert row[1:3] == ["1", "2"]
    assert re.fullmatch(r"[\d,]+ d", row[3])
    assert row[4] == "reader"
    assert cells(text, "reader")[1] == "127.0.0.1"


def test_a_share_group_is_shown(
    open_page: OpenPage, written: Written, shown_broker: ApacheKafka | EmbeddedBroker, eventually: Any
) -> None:
    topic = written("a")
    group = f"{topic}-share"
    with ShareConsumer(shown_broker.bootstrap, topics=[topic], group_id=group) as consumer:
        consumer.poll(0.1)
        page = open_page(refresh_seconds=0.1)
        # Apache Kafka may let it in after its first poll.
        eventually(lambda: ">share<" in page.get("/group", params={"id": group}).text)
        text = page.get("/group", params={"id": group}).text
    assert ">share<" in text


@pytest.mark.parametrize(
    ("way", "at", "wanted"),
    [("earliest", "", 0), ("latest", "", 3), ("offset", "2", 2), ("offset", "99", 3), ("shift", "-1", 1)],
)
def test_a_preview_says_where_the_group_would_go_on_and_moves_nothing(
    open_page: OpenPage,
    written: Written,
    shown_broker: ApacheKafka | EmbeddedBroker,
    way: str,
    at: str,
    wanted: int,
) -> None:
    topic = written("a", "b", "c")
    group = f"{topic}-group"
    committed_at(shown_broker, group, topic, 2)
    page = open_page(allows_writes=True)
    text = page.get("/group/reset", params={"id": group, "way": way, "at": at}).text
    assert cells(text, f"{topic}-0")[1:3] == ["2", str(wanted)]
    with Consumer(shown_broker.bootstrap, group_id=group) as consumer:
        assert consumer.committed([(topic, 0)])[(topic, 0)].offset == 2


def test_a_group_that_is_not_there_is_told_as_such(open_page: OpenPage) -> None:
    answer = open_page().get("/group", params={"id": "no-such"})
    assert answer.status_code == 404
    assert "no-such" in answer.text


def test_a_group_is_deleted(
    open_page: OpenPage, written: Written, shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    topic = written("a")
    group = f"{topic}-group"
    committed_at(shown_broker, group, topic, 1)
    page = open_page(allows_writes=True)
    csrf = page.get("/group", params={"id": group}).text.split('name="csrf" value="')[1].split('"')[0]
    answer = page.post("/group/delete", params={"id": group}, data={"csrf": csrf, "confirmed": group})
    assert "was deleted" in answer.text
    assert page.get("/group", params={"id": group}).status_code == 404
