"""Share groups of a broker that is a program of its own: restarts, and Java's tools."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.share_groups import begin_at_the_first_record

from barnabas import Admin, NewTopic, Producer, ShareConsumer
from barnabas.broker.server import Broker
from barnabas.testing import EmbeddedBroker, run_kafka_tool

from .share_session import ACCEPT, REJECT, RELEASE, ShareSession

KAFKA_STORAGE_ERROR = 56
MEMBER = str(uuid.UUID(int=1))


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_what_became_of_records_survives_a_restart(tmp_path: Path, how: str) -> None:
    run = f"run{uuid.uuid4().hex[:8]}"

    topics: dict[str, uuid.UUID] = {}

    async def decide(broker: EmbeddedBroker) -> None:
        session = await ShareSession.open(broker.bootstrap, run)
        await session.configure(share_auto_offset_reset="earliest")
        await session.join(MEMBER, topics="b")
        await session.produce("b", 10)
        await session.fetch(MEMBER)
        decided = [(0, 1, [ACCEPT]), (3, 3, [RELEASE]), (4, 4, [REJECT]), (6, 6, [ACCEPT])]
        await session.acknowledge(MEMBER, {0: decided})
        topics.update(session.topics)
        if how == "kill":
            # Before it hears that the connection has ended, which gives back what is in hand.
            broker.kill()
        session.close()

    async def look(broker: EmbeddedBroker) -> None:
        session = await ShareSession.open(broker.bootstrap, run)
        session.epochs[MEMBER], session.topics = 2, topics
        await session.stay(MEMBER)
        await session.fetch(MEMBER)
        session.close()
        beat, fetched = session.told
        assert beat[1] == 0
        # What was given back counts as delivered; what was in hand at a crash does not.
        after = 2 if how == "stop" else 1
        expected = [(2, 2, after), (3, 3, 2), (5, 5, after), (7, 9, after)]
        if how == "stop":
            expected = [(2, 3, 2), (5, 5, 2), (7, 9, 2)]
        assert fetched[4][0][5] == expected

    with EmbeddedBroker(data_dir=tmp_path / "data") as broker:
        asyncio.run(decide(broker))
        if how == "stop":
            broker.stop()
        broker.start()
        asyncio.run(look(broker))


def test_on_a_full_disk_nothing_is_decided_and_nothing_is_lost_until_there_is_room() -> None:
    async def play(broker: EmbeddedBroker) -> None:
        session = await ShareSession.open(broker.bootstrap, f"run{uuid.uuid4().hex[:8]}")
        await session.configure(share_auto_offset_reset="earliest")
        await session.join(MEMBER, topics="b")
        await session.produce("b", 5)
        await session.fetch(MEMBER)
        await session.acknowledge(MEMBER, {0: [(0, 0, [ACCEPT])]})
        await asyncio.to_thread(broker.faults.disk_full)
        refused = await session.acknowledge(MEMBER, {0: [(1, 4, [ACCEPT])]})
        assert refused.responses[0].partitions[0].error_code == KAFKA_STORAGE_ERROR
        await asyncio.to_thread(broker.faults.disk_full, False)
        # What was acknowledged stays so, and all else is lent again.
        again = await session.fetch(MEMBER)
        assert lent(again) == [(1, 4)]
        accepted = await session.acknowledge(MEMBER, {0: [(1, 4, [ACCEPT])]})
        assert accepted.responses[0].partitions[0].error_code == 0
        await session.produce("b", 2)
        assert lent(await session.fetch(MEMBER)) == [(5, 6)]
        session.close()

    with EmbeddedBroker() as broker:
        asyncio.run(play(broker))


def lent(answer: Any) -> list[tuple[int, int]]:
    [topic] = answer.responses
    return [(span.first_offset, span.last_offset) for span in topic.partitions[0].acquired_records]


def test_kafkas_share_console_consumer_and_group_tool_do_their_work() -> None:
    with EmbeddedBroker() as broker:
        with Producer(broker.bootstrap) as producer:
            for number in range(20):
                producer.send("console", b"%d" % number)
        begin_at_the_first_record(broker.bootstrap, "tools")
        consumed = run_kafka_tool(
            "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
            *("--bootstrap-server", broker.bootstrap, "--topic", "console", "--group", "tools"),
            *("--max-messages", "20", "--timeout-ms", "20000"),
        )
        assert sorted(map(int, consumed.stdout.split())) == list(range(20))
        described = run_kafka_tool(
            "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
            *("--bootstrap-server", broker.bootstrap, "--describe", "--group", "tools"),
        )
        assert "console" in described.stdout
        listed = run_kafka_tool(
            "org.apache.kafka.tools.GroupsCommand", "--bootstrap-server", broker.bootstrap, "--list"
        )
        assert "Share" in listed.stdout


def test_the_state_of_partitions_is_written_whole_now_and_then_and_what_is_before_goes(
    tmp_path: Path,
) -> None:
    config = {
        "share.coordinator.snapshot.update.records.per.snapshot": "5",
        "share.coordinator.state.topic.prune.interval.ms": "200",
    }
    with EmbeddedBroker(config=config, data_dir=tmp_path / "data") as broker:
        begin_at_the_first_record(broker.bootstrap, "busy")
        with Producer(broker.bootstrap) as producer:
            for number in range(50):
                producer.send("t", b"%d" % number)
        with ShareConsumer(
            broker.bootstrap,
            group_id="busy",
            topics=["t"],
            max_poll_records=1,
            share_acquire_mode="record_limit",
        ) as consumer:
            seen: list[bytes | None] = []
            while len(seen) < 30:
                seen += [record.value for record in consumer.poll(1, 1)]
                consumer.commit()
        broker.kill()
        broker.start()
        with ShareConsumer(broker.bootstrap, group_id="busy", topics=["t"]) as consumer:
            while len(seen) < 50:
                seen += [record.value for record in consumer.poll(1)]
                consumer.commit()
        assert seen == [b"%d" % number for number in range(50)]


def test_members_fetch_from_every_leader_of_a_cluster_and_go_on_when_a_node_stops(tmp_path: Path) -> None:
    async def play() -> None:
        broker = Broker(tmp_path / "data", nodes=3)
        await broker.start()
        try:
            await asyncio.to_thread(_share_and_stop_a_node, broker, asyncio.get_running_loop())
        finally:
            await broker.stop()

    asyncio.run(play())


def _share_and_stop_a_node(broker: Broker, loop: asyncio.AbstractEventLoop) -> None:
    topic = NewTopic("spread", 6, 3)
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([topic])
    begin_at_the_first_record(broker.bootstrap, "spread")
    seen: Counter[bytes | None] = Counter()
    with (
        Producer(broker.bootstrap, acks="all") as producer,
        ShareConsumer(broker.bootstrap, group_id="spread", topics=["spread"]) as consumer,
    ):

        def share(first: int) -> None:
            for number in range(first, first + 60):
                producer.send("spread", b"%d" % number, partition=number % 6)
            producer.flush()
            while len(seen) < first + 60:
                seen.update(record.value for record in consumer.poll(1))
                consumer.commit()

        share(0)
        asyncio.run_coroutine_threadsafe(broker.nodes[3].stop(), loop).result(30)
        share(60)
    assert set(seen) == {b"%d" % number for number in range(120)}
