"""Fetch sessions of the embedded broker (KIP-227), request by request and with the client's own side."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas import aio
from barnabas._kernel import BatchBuilder
from barnabas.broker.fetch_sessions import EVICTION_SECONDS, FetchSessions
from barnabas.broker_errors import ErrorCode, FetchSessionIdNotFoundError
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse

from .in_process import Client, run


def fetch(session_id: int = 0, epoch: int = 0, **partitions: int) -> FetchRequest:
    """A request for partitions `p0`, `p1` of topic `t` at offsets."""
    wanted = [
        FetchRequest.FetchPartition(partition=int(name[1:]), fetch_offset=offset, partition_max_bytes=1 << 20)
        for name, offset in partitions.items()
    ]
    topics = [FetchRequest.FetchTopic(topic="t", partitions=wanted)] if wanted else []
    return FetchRequest(
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=epoch,
        min_bytes=1,
        max_wait_ms=0,
        topics=topics,
    )


def named(response: FetchResponse) -> dict[int, int]:
    """The partitions in an answer, with the bytes of records that came."""
    return {p.partition_index: len(p.records or b"") for t in response.responses for p in t.partitions}


def batch(value: bytes) -> bytes:
    builder = BatchBuilder()
    builder.append(0, None, value)
    return builder.build()


@pytest.mark.integration
def test_an_answer_within_a_session_names_only_what_changed(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", 3)
        began = await client.send(fetch(p0=0, p1=0, p2=0), version=12)
        assert began.session_id > 0
        assert set(named(began)) == {0, 1, 2}
        again = await client.send(fetch(began.session_id, 1), version=12)
        assert (again.session_id, named(again)) == (began.session_id, {})
        one = batch(b"one")
        await client.produce("t", one, partition=1)
        told = await client.send(fetch(began.session_id, 2), version=12)
        assert named(told) == {1: len(one)}
        # Not acknowledged by an offset: it comes again.
        assert named(await client.send(fetch(began.session_id, 3), version=12)) == {1: len(one)}
        assert named(await client.send(fetch(began.session_id, 4, p1=1), version=12)) == {}
        forgetting = fetch(began.session_id, 5)
        forgetting.forgotten_topics_data = [FetchRequest.ForgottenTopic(topic="t", partitions=[1])]
        await client.produce("t", one, partition=1)
        await client.produce("t", one, partition=2)
        assert named(await client.send(forgetting, version=12)) == {2: len(one)}

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_fetch_within_a_session_waits_for_data_of_any_of_its_partitions(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", 2)
        began = await client.send(fetch(p0=0, p1=0), version=12)
        waiting = fetch(began.session_id, 1)
        waiting.max_wait_ms = 20_000
        answer = client.start(waiting, version=12)
        other = await client.another()
        await other.produce("t", batch(b"x"), partition=1)
        assert set(named(await asyncio.wait_for(answer, 10))) == {1}
        other.connection.close()

    run(tmp_path, scenario)


@pytest.mark.integration
def test_an_error_is_told_as_long_as_it_lasts(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        began = await client.send(fetch(p0=99), version=12)
        for epoch in (1, 2):
            response = await client.send(fetch(began.session_id, epoch), version=12)
            [data] = response.responses[0].partitions
            assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert set(named(await client.send(fetch(began.session_id, 3, p0=0), version=12))) == {0}

    run(tmp_path, scenario)


@pytest.mark.integration
def test_requests_that_do_not_fit_the_session_are_refused(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        topic = await client.create_topic("t")

        async def code(request: FetchRequest, version: int = 12) -> int:
            return (await client.send(request, version=version)).error_code

        session_id = (await client.send(fetch(p0=0), version=12)).session_id
        assert await code(fetch(session_id + 1, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert await code(fetch(session_id, 2)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        by_id = fetch(session_id, 1, p0=0)
        by_id.topics[0].topic_id = topic.topic_id
        assert await code(by_id, 13) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        assert await code(fetch(session_id, 1)) == 0
        assert await code(fetch(session_id, -1)) == 0
        assert await code(fetch(session_id, 2)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND

    run(tmp_path, scenario)


@pytest.mark.integration
def test_partitions_that_were_served_have_the_others_served_first(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", 3)
        for partition in range(3):
            await client.produce("t", batch(b"x" * 1000), partition=partition)
        began = fetch(p0=0, p1=0, p2=0)
        began.max_bytes = 1
        response = await client.send(began, version=12)
        served = [max(named(response), key=named(response).__getitem__)]
        for epoch in (1, 2):
            request = fetch(response.session_id, epoch)
            request.max_bytes = 1
            [partition] = named(await client.send(request, version=12))
            served.append(partition)
        assert served == [0, 1, 2]

    run(tmp_path, scenario)


def test_when_all_sessions_are_taken_only_one_that_is_not_used_is_given_up() -> None:
    now = 0.0
    sessions = FetchSessions(max_sessions=2, clock=lambda: now)

    def enter(session_id: int = 0, epoch: int = 0) -> Any:
        return sessions.enter(fetch(session_id, epoch, p0=0), uses_topic_ids=False)

    first, second = enter(), enter()
    assert enter() is None
    now = EVICTION_SECONDS
    assert enter(first.session_id, 1) is first
    third = enter()
    assert third is not None
    assert len(sessions) == 2
    with pytest.raises(FetchSessionIdNotFoundError):
        enter(second.session_id, 1)


@pytest.mark.integration
def test_a_consumer_that_closes_leaves_no_session_behind(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        parts = client.broker._parts
        assert parts is not None
        await client.produce("t", batch(b"x"))
        async with aio.Consumer(client.broker.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([("t", 0)])
            assert len(await consumer.poll(30)) == 1
            # The next fetch, which waits for data, is under way now.
            assert await consumer.poll(0.05) == []
            assert len(parts.fetch_sessions[1]) == 1
        assert len(parts.fetch_sessions[1]) == 0

    run(tmp_path, scenario)
