"""Searches of records over HTTP: by CEL, ranges, forms of keys and values, and going on where one stopped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient
from tests.ui.pages.test_records import records_of

from barnabas import Producer, Registry
from barnabas.registry import AvroSerializer, Schema
from barnabas.testing import ApacheKafka, EmbeddedBroker, EmbeddedRegistry
from barnabas.ui.records import reading

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]
AnyBroker = ApacheKafka | EmbeddedBroker
MINUTE_MS = 60_000
BEGAN_MS = 1_700_000_000_000


def next_of(text: str) -> dict[str, str] | None:
    """The parameters of the link that goes on."""
    found = re.search(r'<a rel="next" href="([^"]+)"', text)
    if found is None:
        return None
    return {name: values[0] for name, values in parse_qs(urlsplit(unescape(found[1])).query).items()}


@pytest.fixture
def flights(topic: Callable[[], str], shown_broker: AnyBroker) -> str:
    """Ten records of JSON, a minute after each other, with delays 0 to 9 and a header of their parity."""
    name = topic()
    with Producer(shown_broker.bootstrap) as producer:
        for number in range(10):
            producer.send(
                name,
                json.dumps({"delay": number}).encode(),
                key=b"LH" if number < 5 else b"BA",
                headers=[("parity", b"odd" if number % 2 else b"even")],
                timestamp=BEGAN_MS + number * MINUTE_MS,
            )
        producer.flush()
    return name


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("value.delay > 7", ["0:9", "0:8"]),
        ("key == 'LH' && headers.parity == 'odd'", ["0:3", "0:1"]),
        ("offset == 4 && partition == 0", ["0:4"]),
        (f"timestamp < {BEGAN_MS + MINUTE_MS}", ["0:0"]),
        ("value.no.such > 1", []),
    ],
)
def test_records_are_found_by_a_condition_in_cel(
    open_page: OpenPage, flights: str, condition: str, found: list[str]
) -> None:
    text = open_page().get(f"/topics/{flights}/records", params={"cel": condition}).text
    assert records_of(text) == found
    assert "searched 10 records" in text


def test_a_condition_and_a_text_are_both_to_hold(open_page: OpenPage, flights: str) -> None:
    page = open_page()
    asked = {"cel": "value.delay > 3", "q": "lh", "where": "key"}
    assert records_of(page.get(f"/topics/{flights}/records", params=asked).text) == ["0:4"]


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("value.delay >", "is no condition in CEL: see column"),
        ("value.delay + 1", "it gives"),
        ("valeu.delay > 1", "names what no record has; there are topic, partition"),
        ("(" * 5_000, "are too many"),
    ],
)
def test_what_is_no_condition_is_told_above_the_form_which_keeps_it(
    open_page: OpenPage, flights: str, condition: str, why: str
) -> None:
    answer = open_page().get(f"/topics/{flights}/records", params={"cel": condition})
    assert answer.status_code == 400
    assert f'value="{condition.replace(">", "&gt;")}"' in answer.text
    assert why in unescape(answer.text)


def test_a_search_ends_before_a_time_or_an_offset(open_page: OpenPage, flights: str) -> None:
    page = open_page()

    def found(**asked: str) -> list[str]:
        return records_of(page.get(f"/topics/{flights}/records", params=asked).text)

    at, until = (str(BEGAN_MS + minutes * MINUTE_MS) for minutes in (3, 6))
    assert found(place="time", at=at, until=until) == ["0:3", "0:4", "0:5"]
    assert found(place="offset", at="7", until="9") == ["0:7", "0:8"]
    assert found(until=at) == ["0:2", "0:1", "0:0"]
    assert found(place="beginning", until="1h") == [f"0:{offset}" for offset in range(10)]


@pytest.mark.parametrize("place", ["newest", "beginning"])
def test_pages_of_a_search_have_each_record_once(
    open_page: OpenPage, make_topic: Callable[..., str], shown_broker: AnyBroker, place: str
) -> None:
    name = make_topic(shown_broker, 3)
    with Producer(shown_broker.bootstrap) as producer:
        for number in range(100):
            # One partition is late as a whole, so that the order of time is not that of reading.
            at = BEGAN_MS + number * 1_000 + (30_000 if number % 3 == 1 else 0)
            producer.send(name, b"wanted" if number % 2 else b"other", partition=number % 3, timestamp=at)
        producer.flush()
    page = open_page()
    asked: dict[str, str] | None = {"place": place, "q": "wanted", "limit": "7"}
    pages: list[list[str]] = []
    while asked is not None:
        text = page.get(f"/topics/{name}/records", params=asked).text
        pages.append(records_of(text))
        asked = next_of(text)
    found = [record for each in pages for record in each]
    expected = [number for number in range(100) if number % 2]
    expected.sort(key=lambda number: number + (30 if number % 3 == 1 else 0), reverse=place == "newest")
    assert found == [f"{number % 3}:{number // 3}" for number in expected]
    assert [len(each) for each in pages[:7]] == [7] * 7


def test_the_newest_of_many_partitions_may_all_be_in_one(
    open_page: OpenPage,
    make_topic: Callable[..., str],
    shown_broker: AnyBroker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = make_topic(shown_broker, 3)
    with Producer(shown_broker.bootstrap) as producer:
        for number in range(30):
            at = BEGAN_MS + number * 1_000
            producer.send(name, b"v", partition=1 + number % 2 if number < 18 else 0, timestamp=at)
        producer.flush()
    monkeypatch.setattr(reading, "MOST_UNFILTERED", 3)
    page = open_page()
    text = page.get(f"/topics/{name}/records", params={"limit": "7"}).text
    assert records_of(text) == [f"0:{offset}" for offset in range(11, 4, -1)]
    asked = next_of(text)
    assert asked is not None
    text = page.get(f"/topics/{name}/records", params=asked).text
    assert records_of(text) == [*(f"0:{offset}" for offset in range(4, -1, -1)), "2:8", "1:8"]


def test_a_search_that_ran_out_of_time_goes_on_where_it_stopped(
    open_page: OpenPage, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = written(*(str(number) for number in range(30)))
    page = open_page()
    asked = {"place": "beginning", "q": "29"}
    monkeypatch.setattr(reading, "SEARCH_SECONDS", -1.0)
    text = page.get(f"/topics/{topic}/records", params=asked).text
    assert "and stopped there: go on from here" in text
    goes_on = next_of(text)
    assert goes_on is not None
    assert goes_on == {**asked, "resume": "0:0"}
    monkeypatch.setattr(reading, "SEARCH_SECONDS", 60.0)
    text = page.get(f"/topics/{topic}/records", params={**goes_on, "resume": "0:5"}).text
    assert records_of(text) == ["0:29"]
    assert "searched 25 records" in text


def test_an_address_that_was_cut_is_told_as_such(open_page: OpenPage, written: Written) -> None:
    answer = open_page().get(f"/topics/{written('a')}/records", params={"resume": "0:"})
    assert answer.status_code == 400
    assert "this address was changed, or cut" in answer.text


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("", "00 00 00 00 00 00 00 2a"),
        ("long", "42"),
        ("hex", "000000000000002a"),
        ("base64", "AAAAAAAAACo="),
        ("double", "e-322"),
        ("int", "not int: it has 8 bytes, not 4"),
        ("json", "not json"),
    ],
)
def test_values_are_read_in_the_form_that_is_chosen(
    open_page: OpenPage, written: Written, form: str, shown: str
) -> None:
    topic = written((42).to_bytes(8))
    assert shown in open_page().get(f"/topics/{topic}/records/0/0", params={"value_as": form}).text


def test_conditions_see_values_in_the_form_that_is_chosen(open_page: OpenPage, written: Written) -> None:
    topic = written(*(number.to_bytes(8) for number in range(5)))
    asked = {"value_as": "long", "cel": "value == 3"}
    assert records_of(open_page().get(f"/topics/{topic}/records", params=asked).text) == ["0:3"]


def test_values_are_read_by_a_schema_that_is_chosen(
    open_page: OpenPage, topic: Callable[[], str], shown_broker: AnyBroker
) -> None:
    name = topic()
    schema = '{"type": "record", "name": "Flight", "fields": [{"name": "delay", "type": "int"}]}'
    with EmbeddedRegistry() as registry:
        with Registry(registry.url) as client, Producer(shown_broker.bootstrap) as producer:
            framed = AvroSerializer(client, schema)(name, {"delay": 12})
            assert framed is not None
            producer.send(name, framed[5:]).result()
            producer.send(name, framed).result()
        page = open_page(registry=registry.url)
        for chosen in ("1", f"{name}-value", f"{name}-value:1"):
            asked = {"value_as": "schema", "value_schema": chosen, "cel": "value.delay == 12"}
            assert records_of(page.get(f"/topics/{name}/records", params=asked).text) == ["0:1", "0:0"]
        for chosen in ("99", "nobody", f"{name}-value:7"):
            asked = {"value_as": "schema", "value_schema": chosen}
            answer = page.get(f"/topics/{name}/records", params=asked)
            assert answer.status_code == 400
            assert f"the registry has no schema '{chosen}'" in unescape(answer.text)


@pytest.mark.parametrize("form", ["text", "hex", "base64", "schema"])
def test_no_form_shows_what_is_masked(open_page: OpenPage, written: Written, form: str) -> None:
    topic = written('{"name": "Ada", "flight": "BA 117"}')
    asked = {"value_as": form, "value_schema": "1", "key_as": form, "key_schema": "1"}
    with EmbeddedRegistry() as registry:
        with Registry(registry.url) as client:
            client.register("any", Schema('"bytes"'))
        page = open_page(masked=("name",), registry=registry.url)
        for text in (
            page.get(f"/topics/{topic}/records", params=asked).text,
            page.get(f"/topics/{topic}/records/0/0", params=asked).text,
        ):
            assert "BA 117" not in text
            assert "Ada" not in text
            assert b"Ada".hex() not in text
        asked = {"cel": "value.name == 'Ada'"}
        assert records_of(page.get(f"/topics/{topic}/records", params=asked).text) == []


def test_half_characters_in_json_are_shown_as_they_are_written(open_page: OpenPage, written: Written) -> None:
    topic = written('{"a": "\\ud800"}')
    assert r"\ud800" in open_page(masked=("b",)).get(f"/topics/{topic}/records/0/0").text
