from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from starlette.testclient import TestClient

from barnabas import Consumer, Producer, Registry
from barnabas.registry import AvroSerializer
from barnabas.testing import ApacheKafka, EmbeddedBroker, EmbeddedRegistry

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]


def records_of(text: str) -> list[str]:
    """The offsets in the order shown."""
    rows = text.split('<tbody id="records">')[1].split("</tbody>")[0].split("<tr>")[1:]
    return [row.split("</a>")[0].rpartition(">")[2] for row in rows]


def test_the_newest_records_come_first(open_page: OpenPage, written: Written) -> None:
    topic = written(*(str(number) for number in range(80)))
    text = open_page().get(f"/topics/{topic}/records", params={"limit": 3}).text
    assert records_of(text) == ["0:79", "0:78", "0:77"]


@pytest.mark.parametrize(
    ("where", "wanted", "found"),
    [
        ("", "NEEDLE", ["0:40", "0:7", "0:3"]),
        ("value", "needle", ["0:7"]),
        ("key", "needle", ["0:3"]),
        ("header", "origin=needle", ["0:40"]),
    ],
)
def test_a_search_finds_records_wherever_they_are(
    open_page: OpenPage,
    topic: Callable[[], str],
    shown_broker: ApacheKafka | EmbeddedBroker,
    where: str,
    wanted: str,
    found: list[str],
) -> None:
    name = topic()
    with Producer(shown_broker.bootstrap) as producer:
        for number in range(1_500):
            producer.send(
                name,
                b'{"is": "needle"}' if number == 7 else b"hay",
                key=b"needle" if number == 3 else b"k",
                headers=[("origin", b"needle" if number == 40 else b"field")],
            )
        producer.flush()
    text = open_page().get(f"/topics/{name}/records", params={"q": wanted, "where": where}).text
    assert records_of(text) == found
    assert "searched 1,500 records" in text


def test_a_single_record_is_told_as_one(
    open_page: OpenPage, topic: Callable[[], str], shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    name = topic()
    with Producer(shown_broker.bootstrap) as producer:
        producer.send(name, b"v")
    assert "1 shown; searched 1 record in" in open_page().get(f"/topics/{name}/records").text


def test_a_search_begins_at_an_offset_or_a_time(
    open_page: OpenPage, topic: Callable[[], str], shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    name, page = topic(), open_page()
    with Producer(shown_broker.bootstrap) as producer:
        for number in range(10):
            producer.send(name, b"a", timestamp=1_700_000_000_000 + number * 60_000)
        producer.flush()
    by_offset = page.get(f"/topics/{name}/records", params={"place": "offset", "at": "6", "limit": "2"})
    assert records_of(by_offset.text) == ["0:6", "0:7"]
    at = datetime.fromtimestamp(1_700_000_000 + 8 * 60).isoformat()
    by_time = page.get(f"/topics/{name}/records", params={"place": "time", "at": at})
    assert records_of(by_time.text) == ["0:8", "0:9"]


def test_a_time_that_is_none_is_told_as_such(open_page: OpenPage, written: Written) -> None:
    topic = written("a")
    answer = open_page().get(f"/topics/{topic}/records", params={"place": "time", "at": "soon"})
    assert answer.status_code == 400
    assert "2026-01-31T12:00" in answer.text


def test_records_are_decoded_by_the_registry(
    open_page: OpenPage, topic: Callable[[], str], shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    name = topic()
    schema = '{"type": "record", "name": "Flight", "fields": [{"name": "delay", "type": "int"}]}'
    with EmbeddedRegistry() as registry:
        with Registry(registry.url) as client, Producer(shown_broker.bootstrap) as producer:
            producer.send(name, AvroSerializer(client, schema)(name, {"delay": 12})).result()
        text = open_page(registry=registry.url).get(f"/topics/{name}/records/0/0").text
    assert "&#34;delay&#34;: 12" in text
    assert "Avro, schema 1" in text


def test_a_schema_that_is_not_there_leaves_the_bytes_to_be_seen(
    open_page: OpenPage, written: Written
) -> None:
    topic = written(b"\x00\x00\x00\x03\xe7\x02")
    with EmbeddedRegistry() as registry:
        text = open_page(registry=registry.url).get(f"/topics/{topic}/records/0/0").text
    assert "00 00 00 03 e7 02" in text
    assert "999" in text


def test_masked_fields_are_neither_shown_nor_found(open_page: OpenPage, written: Written) -> None:
    topic = written('{"flight": "BA 117", "who": [{"Name": "Ada"}]}', "plain Ada")
    page = open_page(masked=("name",))
    shown = page.get(f"/topics/{topic}/records").text
    assert "BA 117" in shown
    assert "Ada" not in shown
    assert "Ada" not in page.get(f"/topics/{topic}/records/0/0").text
    assert records_of(page.get(f"/topics/{topic}/records", params={"q": "ada"}).text) == []


def test_a_record_has_its_headers_and_neighbours(open_page: OpenPage, written: Written) -> None:
    topic = written("a", '{"b": [1, 2]}', "c", headers=[("trace", b"t-1")])
    text = open_page().get(f"/topics/{topic}/records/0/1").text
    assert "t-1" in text
    assert f"/topics/{topic}/records/0/0" in text
    assert f"/topics/{topic}/records/0/2" in text
    assert open_page().get(f"/topics/{topic}/records/0/9").status_code == 404


def test_a_record_is_written(
    open_page: OpenPage, written: Written, shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    topic, page = written(), open_page(allows_writes=True)
    csrf = page.get(f"/topics/{topic}/records").text.split('name="csrf" value="')[1].split('"')[0]
    form = {"csrf": csrf, "key": "6b", "key_form": "hex", "value": "v", "headers": "a=1\nb=2"}
    assert "1 record was written" in page.post(f"/topics/{topic}/records", data=form).text
    with Consumer(shown_broker.bootstrap, topics=[topic], auto_offset_reset="earliest") as consumer:
        record = consumer.poll_one(30)
    assert record is not None
    assert (record.key, record.value) == (b"k", b"v")
    assert list(record.headers) == [("a", b"1"), ("b", b"2")]
