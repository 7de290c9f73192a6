"""The page of one record, sending it again, and dead letters."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from barnabas import Admin, Consumer, Producer, Record, Registry, dead_letter
from barnabas.cli.dlq import replay as dlq_replay
from barnabas.registry import AvroSerializer, JSONSerializer, Schema
from barnabas.testing import ApacheKafka, EmbeddedBroker, EmbeddedRegistry
from barnabas.ui.pages.records import letters

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]
AnyBroker = ApacheKafka | EmbeddedBroker
Form = dict[str, str]


def form_of(text: str) -> Form:
    """What a browser sends of the form with the token that comes last, as it is."""
    form = text.split('<main id="content">')[1].split('<form method="post"')[-1].split("</form>")[0]
    found: Form = {}
    for field in re.findall(r"<input ([^>]*)>", form):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', field))
        if "checkbox" not in attributes.values() or " checked" in field:
            found[attributes["name"]] = unescape(attributes.get("value", ""))
    for name, value in re.findall(r'<textarea name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL):
        found[name] = unescape(value).replace("\r\n", "\n").replace("\n", "\r\n")
    return found


def read_all(broker: AnyBroker, topic: str, count: int) -> list[Record]:
    with Consumer(broker.bootstrap, topics=[topic], auto_offset_reset="earliest") as consumer:
        found: list[Record] = []
        while len(found) < count:
            record = consumer.poll_one(30)
            assert record is not None
            found.append(record)
        return found


def parts(record: Record) -> tuple[Any, ...]:
    return record.key, record.value, list(record.headers)


def test_a_record_shows_its_parts_sizes_and_bytes(open_page: OpenPage, written: Written) -> None:
    topic = written('{"a": 1}', headers=[("trace", b"\xff\x00")])
    text = open_page().get(f"/topics/{topic}/records/0/0").text
    assert "create time" in text
    assert "7b 22 61 22 3a 20 31 7d" in text
    assert "|{&#34;a&#34;: 1}|" in text
    assert "ff 00" in text
    assert "<dt>Value</dt><dd>8 B</dd>" in text
    assert "<dt>Headers</dt><dd>7 B</dd>" in text


def test_keys_and_values_are_downloaded_byte_for_byte(open_page: OpenPage, written: Written) -> None:
    topic = written(b"\x00\xff<b>")
    page = open_page()
    answer = page.get(f"/topics/{topic}/records/0/0/value")
    assert answer.content == b"\x00\xff<b>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f'attachment; filename="{topic}-0-0.value"'
    assert page.get(f"/topics/{topic}/records/0/0/key").content == b"k0"
    assert page.get(f"/topics/{topic}/records/0/0/other").status_code == 404


def test_no_bytes_are_given_out_where_something_is_masked(open_page: OpenPage, written: Written) -> None:
    topic = written('{"name": "Ada"}')
    page = open_page(masked=("name",), allows_writes=True)
    text = page.get(f"/topics/{topic}/records/0/0").text
    assert "Bytes of the" not in text
    assert page.get(f"/topics/{topic}/records/0/0/value").status_code == 403
    assert "Ada" not in page.get(f"/topics/{topic}/records/0/0/resend").text


def test_neighbours_are_the_next_records_that_are_there(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("a", "b")
    with Producer(shown_broker.bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send(topic, b"c")
        with producer.transaction():
            producer.send(topic, b"d")
    # Offsets 3 and 5 are marks of the transactions.
    page, path = open_page(), f"/topics/{topic}/records/0"
    assert page.get(f"{path}/3?near=next").url.path == f"{path}/4"
    assert page.get(f"{path}/3?near=previous&value_as=hex").url.path == f"{path}/2"
    assert page.get(f"{path}/5?near=next").status_code == 404


def test_a_record_links_to_its_schema(
    open_page: OpenPage, topic: Callable[[], str], shown_broker: AnyBroker
) -> None:
    name = topic()
    schema = '{"type": "record", "name": "Flight", "fields": [{"name": "delay", "type": "int"}]}'
    with EmbeddedRegistry() as registry:
        with Registry(registry.url) as client, Producer(shown_broker.bootstrap) as producer:
            producer.send(name, AvroSerializer(client, schema)(name, {"delay": 12})).result()
        text = open_page(registry=registry.url).get(f"/topics/{name}/records/0/0").text
    assert f"/schema?subject={name}-value&amp;version=1" in text
    assert '"name":"Flight"' in unescape(text).replace(" ", "")


@pytest.mark.parametrize(
    "value",
    ["plain", "two\nlines", "\nfirst", "a\r\nb", "a\rb", '{"a": 1}', b"\x00\xff", b"", "</textarea>", " "],
)
def test_what_is_not_edited_is_sent_again_byte_for_byte(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker, value: str | bytes
) -> None:
    topic = written(value, headers=[("trace", b"t=1"), ("empty", b"")])
    page, path = open_page(allows_writes=True), f"/topics/{topic}/records/0/0/resend"
    answer = page.post(path, data=form_of(page.get(path).text))
    assert f"at offset 0 was sent to {topic}" in answer.text
    first, second = read_all(shown_broker, topic, 2)
    assert parts(second) == parts(first)


def test_headers_that_are_no_text_are_sent_as_they_are(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("a", headers=[("binary", b"\xff"), ("none", None)])
    page, path = open_page(allows_writes=True), f"/topics/{topic}/records/0/0/resend"
    form = form_of(page.get(path).text)
    assert "headers" not in form
    page.post(path, data={**form, "value": "b"})
    first, second = read_all(shown_broker, topic, 2)
    assert parts(second) == (first.key, b"b", list(first.headers))


def test_an_edited_record_is_sent_to_another_topic_with_its_time(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic, other = written("a\r\nb", timestamp=1_700_000_000_000), written()
    page, path = open_page(allows_writes=True), f"/topics/{topic}/records/0/0/resend"
    form = form_of(page.get(path).text)
    edited = {"target": other, "value": "a\r\nc", "key_null": "1", "headers": "x=1\r\ny=", "keeps_time": "1"}
    page.post(path, data={**form, **edited})
    (record,) = read_all(shown_broker, other, 1)
    assert parts(record) == (None, b"a\r\nc", [("x", b"1"), ("y", b"")])
    assert record.timestamp == 1_700_000_000_000


def test_a_record_is_not_sent_to_a_topic_that_is_not_there(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("a")
    page, path = open_page(allows_writes=True), f"/topics/{topic}/records/0/0/resend"
    form = form_of(page.get(path).text)
    answer = page.post(path, data={**form, "target": f"{topic}-not"}, headers={"referer": path})
    assert '<p class="told error"' in answer.text
    with Admin(shown_broker.bootstrap) as admin:
        assert f"{topic}-not" not in admin.list_topics()


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_an_edited_value_is_written_by_its_schema(
    open_page: OpenPage, topic: Callable[[], str], shown_broker: AnyBroker, kind: str
) -> None:
    name = topic()
    with EmbeddedRegistry() as registry:
        with Registry(registry.url) as client, Producer(shown_broker.bootstrap) as producer:
            serializers: dict[str, Any] = {
                "AVRO": lambda: AvroSerializer(
                    client,
                    '{"type": "record", "name": "Flight", "fields": [{"name": "delay", "type": "int"}]}',
                ),
                "JSON": lambda: JSONSerializer(
                    client, '{"type": "object", "properties": {"delay": {"type": "integer"}}}'
                ),
            }
            serializer = serializers[kind]()
            producer.send(name, serializer(name, {"delay": 12})).result()
            expected = serializer(name, {"delay": 13})
        page = open_page(registry=registry.url, allows_writes=True)
        path = f"/topics/{name}/records/0/0/resend"
        form = form_of(page.get(path).text)
        assert form["value"] == '{\r\n  "delay": 12\r\n}'
        answer = page.post(path, data={**form, "value": '{"delay": "late"}'}, headers={"referer": path})
        assert "was sent to" not in answer.text
        answer = page.post(path, data={**form, "value": '{"delay": 13}'}, headers={"referer": path})
        assert "was sent to" in answer.text
    _, second = read_all(shown_broker, name, 2)
    assert second.value is not None
    assert second.value.replace(b" ", b"") == expected.replace(b" ", b"")


def test_a_record_that_is_masked_is_sent_again_as_it_is(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written('{"name": "Ada"}')
    page, path = open_page(allows_writes=True, masked=("name",)), f"/topics/{topic}/records/0/0/resend"
    form = form_of(page.get(path).text)
    assert "value" not in form
    page.post(path, data={**form, "value": "forged"})
    first, second = read_all(shown_broker, topic, 2)
    assert parts(second) == parts(first)


@pytest.fixture
def mended(written: Written, topic: Callable[[], str], shown_broker: AnyBroker) -> tuple[str, str]:
    """A topic of three records, and one with dead letters of the first two, the later one first, and with a
    record that is none."""
    origin, dead = written("a", "b", "c", headers=[("trace", b"t-1")]), topic()
    records = read_all(shown_broker, origin, 3)
    with Producer(shown_broker.bootstrap) as producer:
        for record in (records[1], records[0]):
            producer.send(**dead_letter(record, ValueError(f"no {record.offset}"), topic=dead))
        producer.send(dead, b"none")
        producer.flush()
    return origin, dead


def test_a_dead_letter_tells_where_it_came_from_and_goes_back(
    open_page: OpenPage, mended: tuple[str, str], shown_broker: AnyBroker
) -> None:
    origin, dead = mended
    page, path = open_page(allows_writes=True), f"/topics/{dead}/records/0/0"
    text = page.get(path).text
    assert f"/topics/{origin}/records/0/1" in text
    assert "no 1" in text
    answer = page.post(f"{path}/send-back", data=form_of(text))
    assert f"was sent back to {origin}" in answer.text
    _, second, _, again = read_all(shown_broker, origin, 4)
    assert parts(again) == parts(second)
    assert again.timestamp == second.timestamp
    assert page.post(f"/topics/{dead}/records/0/2/send-back", data=form_of(text)).status_code == 400


def test_all_letters_of_a_search_go_back_in_the_order_that_they_had(
    open_page: OpenPage, mended: tuple[str, str], shown_broker: AnyBroker
) -> None:
    origin, dead = mended
    page = open_page(allows_writes=True)
    text = page.get(f"/topics/{dead}/letters").text
    assert "2 letters would be sent; 1 other record left alone" in text
    answer = page.post(f"/topics/{dead}/letters", data=form_of(text))
    assert f"2 letters of {dead} sent back" in answer.text
    found = read_all(shown_broker, origin, 5)
    assert [record.value for record in found[3:]] == [b"a", b"b"]


def test_letters_of_a_search_are_those_that_it_finds(
    open_page: OpenPage, mended: tuple[str, str], shown_broker: AnyBroker
) -> None:
    _, dead = mended
    page = open_page(allows_writes=True)
    text = page.get(f"/topics/{dead}/letters", params={"cel": "value == 'b'"}).text
    assert "1 letter would be sent." in text
    form = form_of(text)
    assert form["cel"] == "value == 'b'"
    answer = page.post(f"/topics/{dead}/letters", data={**form, "cel": ""}, headers={"referer": "/topics"})
    assert "there was" in unescape(answer.text) or "there were 1 letters" in unescape(answer.text)


def test_letters_that_a_replay_has_sent_are_left_out(
    open_page: OpenPage, mended: tuple[str, str], shown_broker: AnyBroker
) -> None:
    dlq_replay.replay(mended[1], bootstrap=shown_broker.bootstrap)
    text = open_page(allows_writes=True).get(f"/topics/{mended[1]}/letters").text
    assert "0 letters would be sent; 2 letters sent already by barnabas dlq replay" in text


def test_what_is_in_a_record_is_never_markup(
    open_page: OpenPage, topic: Callable[[], str], shown_broker: AnyBroker
) -> None:
    name, evil = topic(), b"</textarea></pre><script>alert(1)</script>"
    told = {"topic": evil, "partition": b"0", "offset": b"1", "exception.message": evil, "stage": evil}
    with Producer(shown_broker.bootstrap) as producer:
        headers = [(f"__connect.errors.{part}", value) for part, value in told.items()]
        producer.send(name, evil, key=evil, headers=[*headers, (evil.decode(), evil)]).result()
    page = open_page(allows_writes=True)
    for path in ("records", "records/0/0", "records/0/0/resend", "letters", "records?cel=<script>"):
        text = page.get(f"/topics/{name}/{path}").text
        assert "<script>alert" not in text
        assert 'value="<script>' not in text


def test_nothing_goes_back_where_not_all_could_be_read(
    open_page: OpenPage, mended: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letters, "GATHER_SECONDS", -1.0)
    text = open_page(allows_writes=True).get(f"/topics/{mended[1]}/letters").text
    assert "narrow the search" in text
    assert "send-back" not in text


def test_a_viewer_sends_nothing(open_page: OpenPage, mended: tuple[str, str]) -> None:
    page, (_, dead) = open_page(), mended
    assert "send-back" not in page.get(f"/topics/{dead}/letters").text
    for path in (
        f"/topics/{dead}/letters",
        *(f"/topics/{dead}/records/0/0/{each}" for each in ("send-back", "resend")),
    ):
        assert page.post(path, data={}).status_code == 403


def test_a_schema_that_is_only_in_the_registry_is_chosen_by_its_subject(
    open_page: OpenPage, written: Written
) -> None:
    topic = written(b"\x18")
    with EmbeddedRegistry() as registry:
        with Registry(registry.url) as client:
            client.register("numbers", Schema('"int"'))
        asked = {"value_as": "schema", "value_schema": "numbers"}
        text = open_page(registry=registry.url).get(f"/topics/{topic}/records/0/0", params=asked).text
    assert "Avro, schema 1" in text
    assert ">12</pre>" in text
