"""What the page asks of a cluster of many topics, counted: how long it takes is up to the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from barnabas import Admin, Consumer, NewTopic, Producer
from barnabas.testing import EmbeddedBroker
from barnabas.testing.fault_control import RecordedRequest
from barnabas.ui.app import make_app
from barnabas.ui.cluster_access import PIECE
from barnabas.ui.settings import UiSettings

TOPICS = 1_200
NAMES = [f"topic-{number:04}" for number in range(TOPICS)]
WIDE, WIDE_PARTITIONS = "wide", 450
ROWS = 100
FOREVER = 3_600.0
PAGE = "page"
OpenPage = Callable[[float], TestClient]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """With many topics, of which a group reads two."""
    with EmbeddedBroker() as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic(name, 1, 1) for name in NAMES])
            admin.create_topics([NewTopic(WIDE, WIDE_PARTITIONS, 1)])
        with Producer(broker.bootstrap) as producer:
            for name in NAMES[:2]:
                producer.send(name, b"a").result(30)
        with Consumer(broker.bootstrap, group_id="readers") as consumer:
            consumer.commit({(NAMES[0], 0): 0, (NAMES[1], 0): 1})
        yield broker


@pytest.fixture
def page(broker: EmbeddedBroker) -> Iterator[TestClient]:
    """What it has asked for once stays new."""
    client = {"bootstrap_servers": broker.bootstrap, "client_id": PAGE}
    app = make_app(UiSettings(client=client, refresh_seconds=FOREVER))
    with TestClient(app, base_url="http://127.0.0.1") as page:
        page.get("/groups")
        page.get("/topics")
        yield page


class Asked:
    """What the page asks of the broker from now on."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker
        self.sizes: list[list[str]] = []
        """Of which topics sizes were asked for, by request."""
        broker.faults.clear()
        broker.faults.hook(self._see_sizes, "DescribeLogDirs")

    def apis(self) -> list[str]:
        return sorted({each.api for each in self._broker.faults.requests(client_id=PAGE)})

    def partitions(self, api: str) -> list[int]:
        """How many partitions each request of this kind names."""
        requests = self._broker.faults.requests(api, client_id=PAGE)
        return [sum(map(len, request.partitions.values())) for request in requests]

    def _see_sizes(self, _: RecordedRequest, request: Any) -> None:
        self.sizes.append([each.topic for each in request.topics])

    def topics(self, api: str) -> list[str]:
        """That requests of this kind name, each as often as it is named."""
        requests = self._broker.faults.requests(api, client_id=PAGE)
        return sorted(topic for request in requests for topic in request.partitions)


def test_a_page_of_the_list_asks_for_its_own_rows_alone(page: TestClient, broker: EmbeddedBroker) -> None:
    asked = Asked(broker)
    assert "topic-0150" in page.get("/topics", params={"page": "2"}).text
    assert asked.topics("ListOffsets") == NAMES[100:200]
    assert asked.sizes == [NAMES[100:200]]
    # Who leads them.
    assert asked.apis() == ["DescribeLogDirs", "ListOffsets", "Metadata"]
    assert asked.topics("Metadata") == NAMES[100:200]


def test_what_is_known_is_not_asked_for_again(page: TestClient, broker: EmbeddedBroker) -> None:
    asked = Asked(broker)
    for address in ("/topics", "/topics?q=topic-00", "/topics?sort=lag", "/topics?sort=name", "/groups"):
        assert page.get(address).status_code == 200
    assert asked.apis() == []


def test_a_search_asks_for_what_it_finds(page: TestClient, broker: EmbeddedBroker) -> None:
    asked = Asked(broker)
    page.get("/topics", params={"q": "topic-1111"})
    assert asked.topics("ListOffsets") == ["topic-1111"]


def test_groups_ask_for_the_ends_of_what_they_read(broker: EmbeddedBroker) -> None:
    asked = Asked(broker)
    client = {"bootstrap_servers": broker.bootstrap, "client_id": PAGE}
    with TestClient(
        make_app(UiSettings(client=client, refresh_seconds=FOREVER)), base_url="http://127.0.0.1"
    ) as page:
        assert '<td class="n lag">1</td>' in page.get("/groups").text
    assert asked.topics("ListOffsets") == NAMES[:2]
    assert "DescribeLogDirs" not in asked.apis()


def test_an_order_by_what_is_not_known_yet_comes_when_all_topics_were_asked(
    page: TestClient, broker: EmbeddedBroker, eventually: Callable[[Callable[[], bool]], bool]
) -> None:
    asked = Asked(broker)

    def is_sorted() -> bool:
        text = page.get("/topics", params={"sort": "size"}).text
        return "the order comes in a moment" not in text and text.index(NAMES[1]) < text.index(NAMES[2])

    eventually(is_sorted)
    assert {name for names in asked.sizes for name in names} >= set(NAMES)
    assert all(len(names) <= PIECE for names in asked.sizes)


def test_brokers_are_shown_with_sizes_once_all_topics_were_asked(
    page: TestClient, eventually: Callable[[Callable[[], bool]], bool]
) -> None:
    eventually(lambda: "being asked" not in page.get("/cluster").text)
    text = page.get("/cluster").text
    # With the partition of __consumer_offsets.
    assert f"{TOPICS + WIDE_PARTITIONS + 1:,}" in text.split("<tbody>")[1].split("</tbody>")[0]
    assert "as of" in text


def test_a_topic_of_many_partitions_asks_for_those_of_one_page(
    page: TestClient, broker: EmbeddedBroker
) -> None:
    # Its size and rate are of all partitions, and are kept.
    page.get(f"/topics/{WIDE}")
    asked = Asked(broker)
    text = page.get(f"/topics/{WIDE}", params={"page": "3"}).text
    assert "partition=299" in text
    assert "partition=300" not in text
    assert asked.partitions("ListOffsets") == [ROWS, ROWS]
    assert len(asked.sizes) == 1
    asked = Asked(broker)
    page.get(f"/topics/{WIDE}/producers")
    assert asked.partitions("DescribeProducers") == [ROWS]


def test_log_dirs_of_a_topic_are_asked_for_without_all_metadata(
    page: TestClient, broker: EmbeddedBroker
) -> None:
    asked = Asked(broker)
    assert "partition" in page.get("/cluster/log-dirs", params={"topic": WIDE}).text.lower()
    assert asked.apis() == ["DescribeLogDirs", "DescribeTopicPartitions"]
    assert len(asked.sizes) == 1
