"""Clients of asyncio's that nobody closes: what they took is delivered, and they are closed, when they are
collected or when their event loop ends. Most programs are a process of their own, since its end matters."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.programs import ended, record_count, started
from tests.waiting import wait_for_async

from barnabas import aio
from barnabas.testing import EmbeddedBroker

AWAY = "127.0.0.1:9"
HEAD = """
import asyncio, logging, sys
from barnabas import aio

logging.basicConfig(level="WARNING", format="%(message)s")

async def fill(producer, count):
    for _ in range(count):
        await producer.send(sys.argv[2], b"v")
    return producer

def stuck(**settings):
    producer = aio.Producer("127.0.0.1:9", **settings)
    producer.accumulator.set_partition_count("topic", 1)
    for _ in range(7): producer.accumulator.append("topic", None, None, b"v", None, None, None)
    return producer
"""


@pytest.fixture
def topic(broker: Any, make_topic: Any) -> str:
    return make_topic(broker)


@pytest.mark.parametrize("count", [1, 1_000, 200_000])
@pytest.mark.parametrize(
    "program",
    [
        "async def main():\n    await fill(aio.Producer(sys.argv[1]), COUNT)\nasyncio.run(main())\n",
        "async def main():\n"
        "    global producer\n"
        "    producer = await fill(aio.Producer(sys.argv[1], linger_ms=60_000), COUNT)\n"
        "asyncio.run(main())\n",
        "async def main():\n"
        "    producer = aio.Producer(sys.argv[1])\n"
        "    producer.itself = producer\n"
        "    await fill(producer, COUNT)\n"
        "asyncio.run(main())\n",
    ],
    ids=["local", "global", "in a circle"],
)
def test_what_an_unclosed_producer_took_is_delivered_before_its_loop_ends(
    broker: Any, topic: str, program: str, count: int
) -> None:
    code = program.replace("COUNT", str(count))
    status, said = ended(started(HEAD + code, broker.bootstrap, topic))
    assert status == 0
    assert "ResourceWarning: unclosed producer 'barnabas': use `async with`" in said
    assert "not delivered" not in said
    assert "destroyed" not in said
    assert record_count(broker, topic) == count


def test_a_program_that_fails_loses_nothing_that_it_has_sent(broker: Any, topic: str) -> None:
    code = (
        "async def main():\n"
        "    producer = await fill(aio.Producer(sys.argv[1], linger_ms=60_000), 1000)\n"
        "    raise ValueError('mine')\n"
        "asyncio.run(main())\n"
    )
    status, said = ended(started(HEAD + code, broker.bootstrap, topic))
    assert status == 1
    assert "ValueError: mine" in said
    assert record_count(broker, topic) == 1000


def test_a_producer_that_was_closed_is_not_spoken_of(broker: Any, topic: str) -> None:
    code = (
        "async def main():\n"
        "    async with aio.Producer(sys.argv[1]) as producer:\n"
        "        await fill(producer, 10)\n"
        "    other = aio.Producer(sys.argv[1])\n"
        "    await fill(other, 10)\n"
        "    await other.close()\n"
        "asyncio.run(main())\n"
    )
    assert ended(started(HEAD + code, broker.bootstrap, topic)) == (0, "")
    assert record_count(broker, topic) == 20


def test_a_dropped_producer_delivers_and_closes_while_its_loop_goes_on(broker: Any, topic: str) -> None:
    async def main() -> None:
        async def work() -> None:
            producer = aio.Producer(broker.bootstrap, linger_ms=60_000)
            for _ in range(10):
                await producer.send(topic, b"v")

        before = sockets()
        with pytest.warns(ResourceWarning, match="unclosed producer 'barnabas'"):
            await dropped(work)
        await wait_for_async(lambda: sockets() == before)
        assert record_count(broker, topic) == 10

    asyncio.run(main())


@pytest.mark.parametrize("protocol", ["classic", "auto"])
def test_a_dropped_consumer_leaves_its_group_and_its_successor_reads_on(
    broker: Any, topic: str, protocol: Any
) -> None:
    async def main() -> None:
        group = f"group-{topic}"

        def member() -> aio.Consumer:
            return aio.Consumer(
                broker.bootstrap,
                group_id=group,
                topics=[topic],
                group_protocol=protocol,
                auto_offset_reset="earliest",
            )

        async def work() -> None:
            consumer = member()
            while not await consumer.poll(0.1):
                pass

        async with aio.Producer(broker.bootstrap) as producer:
            await (await producer.send(topic, b"v"))
        before = sockets()
        with pytest.warns(ResourceWarning, match="unclosed consumer 'barnabas'"):
            await dropped(work)
        await wait_for_async(lambda: sockets() == before)
        async with member() as successor, asyncio.timeout(20):
            while not await successor.poll(0.1):
                pass

    asyncio.run(main())


def test_dropped_clients_of_every_kind_leave_no_descriptor(broker: Any, topic: str) -> None:
    async def main() -> None:
        async def work() -> None:
            clients: list[Any] = []
            for _ in range(10):
                producer, admin = aio.Producer(broker.bootstrap), aio.Admin(broker.bootstrap)
                consumer = aio.Consumer(broker.bootstrap, topics=[topic], group_id=f"group-{topic}")
                clients += [producer, admin, consumer]
                await (await producer.send(topic, b"v"))
                await admin.list_topics()
                await consumer.poll(0.1)

        before = sockets()
        with pytest.warns(ResourceWarning) as warned:
            await dropped(work)
        assert len([each for each in warned if "unclosed" in str(each.message)]) == 30
        await wait_for_async(lambda: sockets() == before)

    asyncio.run(main())


def test_what_cannot_be_delivered_is_an_error_with_its_count() -> None:
    code = (
        "async def main():\n"
        "    stuck(delivery_timeout_ms=1_500, request_timeout_ms=1_000, linger_ms=0)\n"
        "asyncio.run(main())\n"
    )
    status, said = ended(started(HEAD + code))
    assert status == 0
    assert "the producer was not closed, and 7 records were not delivered" in said


@pytest.mark.parametrize("presses", [1, 2])
def test_the_end_of_a_loop_says_what_it_waits_for_and_ctrl_c_gives_up_only_that(
    broker: Any, topic: str, presses: int
) -> None:
    code = (
        "async def main():\n"
        "    global away, there\n"
        "    away = stuck(client_id='away')\n"
        "    there = await fill(aio.Producer(sys.argv[1], linger_ms=60_000), 100)\n"
        + ("    print('ready', flush=True); await asyncio.sleep(100)\n" if presses == 2 else "")
        + "asyncio.run(main())\n"
    )
    process = started(HEAD + code, broker.bootstrap, topic)
    assert process.stdout is not None
    assert process.stderr is not None
    if presses == 2:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
    line = next(line for line in iter(process.stderr.readline, "") if "which waits for" in line)
    assert "producer 'away'" in line
    assert f"7 records to be delivered to {AWAY}, for at most 1" in line
    assert record_count(broker, topic) == 100
    process.send_signal(signal.SIGINT)
    status, said = ended(process, within=20)
    assert status != 0
    assert "7 records were not delivered" in said


def test_ctrl_c_gives_what_can_be_delivered_the_time_for_it_and_the_rest_moments(
    broker: Any, topic: str
) -> None:
    code = (
        "async def main():\n"
        "    away = stuck(client_id='away')\n"
        "    there = await fill(aio.Producer(sys.argv[1], linger_ms=60_000), 100)\n"
        "    print('ready', flush=True); await asyncio.sleep(100)\n"
        "asyncio.run(main())\n"
    )
    process = started(HEAD + code, broker.bootstrap, topic)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, said = ended(process, within=30)
    assert "7 records were not delivered" in said
    assert record_count(broker, topic) == 100


@pytest.mark.parametrize("client", ["Producer", "Consumer", "ShareConsumer", "ParallelConsumer"])
def test_ctrl_c_in_an_async_with_ends_it_within_moments_where_the_broker_hangs(
    make_topic: Any, client: str
) -> None:
    code = (
        "from barnabas.client.cluster import lifetimes\n"
        # Less than the defaults of 60 s and 30 s.
        "lifetimes.MOMENTS_SECONDS = 1\n"
        "async def main():\n"
        "    if CLIENT == 'Producer':\n"
        "        client = aio.Producer(sys.argv[1])\n"
        "    elif CLIENT == 'ParallelConsumer':\n"
        "        client = aio.ParallelConsumer(sys.argv[1], handle, group_id='g', topics=[sys.argv[2]])\n"
        "    else:\n"
        "        client = getattr(aio, CLIENT)(sys.argv[1], group_id='g', topics=[sys.argv[2]])\n"
        "    async with client:\n"
        "        if CLIENT == 'Producer':\n"
        "            await (await client.send(sys.argv[2], b'v'))\n"
        "        elif CLIENT == 'ParallelConsumer':\n"
        "            running = asyncio.create_task(client.run())\n"
        "            while not client._consumer.assignment(): await asyncio.sleep(0.01)\n"
        "        else:\n"
        "            await client.poll(1)\n"
        "        print('ready', flush=True)\n"
        "        while True:\n"
        "            await asyncio.sleep(0.01)\n"
        "            if CLIENT == 'Producer': await client.send(sys.argv[2], b'v')\n"
        "async def handle(record): pass\n"
        "asyncio.run(main())\n"
    ).replace("CLIENT", repr(client))
    with EmbeddedBroker() as broker:
        process = started(HEAD + code, broker.bootstrap, make_topic(broker))
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        broker.pause()
        try:
            process.send_signal(signal.SIGINT)
            _, said = ended(process, within=20)
        finally:
            broker.resume()
    assert "KeyboardInterrupt" in said


@pytest.mark.parametrize("end", ["loop.close()", "pass"], ids=["closed", "left"])
def test_records_lost_with_a_loop_that_was_not_let_end_are_an_error_with_their_count(
    broker: Any, topic: str, end: str
) -> None:
    code = (
        "loop = asyncio.new_event_loop()\n"
        "async def main():\n"
        "    return await fill(aio.Producer(sys.argv[1], linger_ms=60_000), 10)\n"
        "producer = loop.run_until_complete(main())\n" + end + "\n"
    )
    status, said = ended(started(HEAD + code, broker.bootstrap, topic))
    assert status == 0
    lost = "producer 'barnabas' was not closed before its event loop ended, and 10 records were not delivered"
    assert said.count(lost) == 1
    assert said.count("ResourceWarning: unclosed producer 'barnabas'") == 1


async def dropped(work: Callable[[], Awaitable[None]]) -> None:
    """Does the work, and collects what it has dropped."""
    await work()
    # What woke this task last may hold the frames that waited for it.
    await asyncio.sleep(0)
    gc.collect()


def sockets() -> int:
    gc.collect()
    links = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return len([link for link in links if link.startswith("socket:")])
