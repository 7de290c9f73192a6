from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.broker.streams_groups.streams_session import StreamsSession
from tests.waiting import Patience

from barnabas import Admin, Consumer, Producer, ShareConsumer
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker
from barnabas.ui.rendering import NOTHING

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]
AnyBroker = ApacheKafka | EmbeddedBroker


def send(page: TestClient, path: str, group: str, **fields: str) -> str:
    """What the page shows after a form of the group's page was sent."""
    text = page.get("/group", params={"id": group}).text
    csrf = text.split('name="csrf" value="')[1].split('"')[0]
    return page.post(path, params={"id": group}, data={"csrf": csrf, **fields}).text


def preview(page: TestClient, group: str, **fields: str) -> str:
    answer = page.get("/group/reset", params={"id": group, **fields})
    assert answer.status_code == 200, answer.text
    return answer.text


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


def test_the_list_has_the_number_of_members_of_each_group(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker, eventually: Any
) -> None:
    topic = written("a")
    busy, idle = f"{topic}-busy", f"{topic}-idle"
    committed_at(shown_broker, idle, topic, 0)
    page = open_page(refresh_seconds=0.1)
    with Consumer(shown_broker.bootstrap, topics=[topic], group_id=busy) as consumer:

        def shows_both() -> bool:
            consumer.poll(0.1)
            text = page.get("/groups", params={"q": topic}).text
            return busy in text and idle in text and cells(text, busy)[2:4] == ["Stable", "1"]

        eventually(shows_both)
        assert cells(page.get("/groups", params={"q": idle}).text, idle)[2:4] == ["Empty", "0"]


# Kafka's coordinator cannot be made to answer with an error.
@pytest.mark.parametrize("broker", ["embedded"], indirect=True)
def test_members_of_a_group_whose_coordinator_is_silent_are_left_out_of_the_list(
    open_page: OpenPage, written: Written, embedded_broker: EmbeddedBroker, eventually: Any
) -> None:
    topic = written("a")
    page = open_page(refresh_seconds=0.1)
    with (
        Consumer(embedded_broker.bootstrap, topics=[topic], group_id=topic) as consumer,
        embedded_broker.faults.error("DescribeGroups", "COORDINATOR_NOT_AVAILABLE"),
        embedded_broker.faults.error("ConsumerGroupDescribe", "COORDINATOR_NOT_AVAILABLE"),
    ):

        def is_listed() -> bool:
            consumer.poll(0.1)
            return f"?id={topic}" in page.get("/groups", params={"q": topic}).text

        eventually(is_listed)
        assert cells(page.get("/groups", params={"q": topic}).text, topic)[3] == NOTHING


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
    [
        ("earliest", "", 0),
        ("latest", "", 3),
        ("offset", "2", 2),
        ("offset", "99", 3),
        ("shift", "-1", 1),
        ("shift", "+1", 3),
        ("time", "2001-01-01", 0),
        ("time", "2h", 0),
        ("duration", "1h", 0),
    ],
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
    assert "type its name" in send(page, "/group/delete", group, confirmed="another")
    assert "was deleted" in send(page, "/group/delete", group, confirmed=group)
    assert page.get("/group", params={"id": group}).status_code == 404


def test_a_preview_is_of_the_partitions_that_are_named(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("a", partitions=4)
    group = f"{topic}-group"
    committed_at(shown_broker, group, topic, 0)
    page = open_page()
    text = preview(page, group, topic=topic, partitions="1, 2-3", way="latest")
    assert [each for each in range(4) if f">{topic}-{each}<" in text] == [1, 2, 3]
    assert f">{topic}-0<" in preview(page, group, way="latest")
    # One can only go on from where one is.
    shifted = preview(page, group, topic=topic, way="shift", at="1")
    assert [each for each in range(4) if f">{topic}-{each}<" in shifted] == [0]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"way": "sideways"}, "is none of earliest"),
        ({"way": "offset"}, "needs the field beside it"),
        ({"way": "offset", "at": "x"}, "is no whole number"),
        ({"way": "time", "at": "soon"}, "is no time"),
        ({"way": "duration", "at": "7"}, "is no duration"),
        ({"way": "latest", "partitions": "0"}, "name it as well"),
        ({"way": "latest", "topic": "no-such"}, "there is no topic"),
        ({"way": "latest", "topic": "TOPIC", "partitions": "9"}, "has no partition 9"),
        ({"way": "latest", "topic": "TOPIC", "partitions": "a"}, "are no numbers"),
    ],
)
def test_what_makes_no_sense_in_a_reset_is_told(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker, fields: dict[str, str], told: str
) -> None:
    topic = written("a")
    committed_at(shown_broker, topic, topic, 0)
    said = {name: topic if value == "TOPIC" else value for name, value in fields.items()}
    answer = open_page().get("/group/reset", params={"id": topic, **said})
    assert answer.status_code == 400
    assert told in answer.text


def test_what_the_preview_showed_is_done_whatever_came_meanwhile(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("a", "b", "c")
    committed_at(shown_broker, topic, topic, 1)
    page = open_page(allows_writes=True)
    text = preview(page, topic, way="latest")
    assert "0 records would be read again, 2 records left out" in text
    offsets = text.split('name="offsets" value="')[1].split('"')[0]
    with Producer(shown_broker.bootstrap) as producer:
        producer.send(topic, b"d").result()
    assert "goes on at the new offsets of 1 partition" in send(page, "/group/reset", topic, offsets=offsets)
    with Consumer(shown_broker.bootstrap, group_id=topic) as consumer:
        assert consumer.committed([(topic, 0)])[(topic, 0)].offset == 3


def test_a_group_that_is_read_in_is_not_moved(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("a", "b")
    settings: dict[str, Any] = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    with Consumer(shown_broker.bootstrap, topics=[topic], group_id=topic, **settings) as consumer:
        assert consumer.poll(30)
        consumer.commit({(topic, 0): 1})
        page = open_page(allows_writes=True)
        assert "stop them first" in preview(page, topic, way="earliest")
        assert "is live: it is Stable with 1 member" in send(
            page, "/group/reset", topic, offsets=f"{topic},0,0"
        )
        assert consumer.committed([(topic, 0)])[(topic, 0)].offset == 1


def test_members_of_the_new_protocol_have_epochs_and_what_they_are_to_get(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("a", partitions=3)
    with Consumer(
        shown_broker.bootstrap,
        topics=[topic],
        group_id=topic,
        client_id="reader",
        group_protocol="consumer",
        auto_offset_reset="earliest",
    ) as consumer:
        assert consumer.poll(30)
        text = open_page().get("/group", params={"id": topic}).text
    row = cells(text, "reader")
    assert row[2:4] == [f"{topic} 0–2", "the same"]
    assert int(row[4]) > 0
    assert "Group epoch" in text
    assert f"Subscribed: {topic}" in text


def test_a_group_of_kafka_streams_has_tasks_and_a_topology(
    open_page: OpenPage, shown_broker: AnyBroker, topic: Callable[[], str]
) -> None:
    async def join(name: str) -> str:
        session = await StreamsSession.open_raw(shown_broker.bootstrap, name)
        await session.create_topic("a", 3)
        await session.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[session.group]))
        topology = session.topology(session.part("0", ["a"]))
        patience = Patience()
        while not session.tasks.get("one", ([],))[0]:
            is_member = "one" in session.epochs
            await (session.owns("one") if is_member else session.beat("one", 0, topology))
            await patience.pause_async()
        session.connection.close()
        return session.group

    name = topic()
    text = open_page().get("/group", params={"id": asyncio.run(join(name))}).text
    row = cells(text, "test")
    assert row[2] == "active 0_0, 0_1, 0_2"
    assert "Process: process-one" in row[5]
    assert cells(text, "0")[1] == f"{name}-a"
    # By its task a member has a partition of each topic that the subtopology reads.
    assert cells(text, f"{name}-a-1")[4] == "test"


def test_a_member_is_put_out_of_its_group(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker, eventually: Any
) -> None:
    topic = written("a")
    with (
        Consumer(
            shown_broker.bootstrap,
            topics=[topic],
            group_id=topic,
            group_instance_id="gate-7",
            group_protocol="classic",
            auto_offset_reset="earliest",
        ) as consumer,
        Admin(shown_broker.bootstrap) as admin,
    ):
        assert consumer.poll(30)
        (before,) = admin.describe_groups([topic])[topic].members
        page = open_page(allows_writes=True)
        told = send(page, "/group/members/remove", topic, member=before.member_id, instance="gate-7")
        assert f"gate-7 was put out of {topic}" in told
        members = admin.describe_groups([topic])[topic].members
        assert before.member_id not in [each.member_id for each in members]


def test_offsets_of_a_topic_are_forgotten(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    one, other = written("a"), written("a")
    with Consumer(shown_broker.bootstrap, group_id=one) as consumer:
        consumer.commit({(one, 0): 1, (other, 0): 1})
    page = open_page(allows_writes=True)
    assert "has no offsets of" in send(page, "/group/offsets/delete", one, topic="no-such")
    assert f"the offsets of {other} are forgotten" in send(page, "/group/offsets/delete", one, topic=other)
    with Consumer(shown_broker.bootstrap, group_id=one) as consumer:
        committed = consumer.committed([(one, 0), (other, 0)])
        assert [at is not None for at in committed.values()] == [True, False]


def test_a_share_group_is_moved_and_its_offsets_forgotten(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("a", "b", "c")
    group = f"{topic}-share"
    with Admin(shown_broker.bootstrap) as admin:
        admin.alter_share_group_offsets(group, {(topic, 0): 2})
        page = open_page(allows_writes=True)
        offsets = preview(page, group, way="shift", at="-1").split('name="offsets" value="')[1].split('"')[0]
        assert "goes on at the new offsets" in send(page, "/group/reset", group, offsets=offsets)
        (found,) = admin.list_share_group_offsets({group: None})[group].values()
        assert found.start_offset == 1
        assert "are forgotten" in send(page, "/group/offsets/delete", group, topic=topic)
        assert admin.list_share_group_offsets({group: None})[group] == {}


def test_groups_are_listed_by_their_type(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker
) -> None:
    topic = written("a")
    committed_at(shown_broker, topic, topic, 0)
    page = open_page()
    assert f">{topic}<" in page.get("/groups", params={"type": "classic", "q": topic}).text
    assert "No group is like that" in page.get("/groups", params={"type": "share", "q": topic}).text


def test_a_group_whose_lag_grows_stands_out(
    open_page: OpenPage, written: Written, shown_broker: AnyBroker, eventually: Any
) -> None:
    topic = written("a")
    committed_at(shown_broker, topic, topic, 0)
    page = open_page(refresh_seconds=0.05, sample_seconds=0.05)
    with Producer(shown_broker.bootstrap) as producer:

        def stands_out() -> bool:
            for _ in range(20):
                producer.send(topic, b"a")
            producer.flush()
            return f">{topic}<" in page.get("/groups", params={"only": "behind"}).text

        eventually(stands_out)
        listed = page.get("/groups", params={"q": topic}).text
        assert "falls behind" in listed
        assert 'class="stands-out"' in listed
        eventually(stands_out)
        text = page.get("/group", params={"id": topic}).text
    assert "The group has done nothing for" in text
    assert 'aria-label="Lag in records over' in text
    assert 'aria-label="Lag in records, as a table"' in text
