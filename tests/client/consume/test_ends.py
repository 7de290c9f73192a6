"""What is committed when a program ends in the middle of a record: what polls before the last one returned,
and never more than was handled. Each program is a process of its own, which is ended while it handles the
251st record."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from tests.programs import ended, started

from barnabas import Admin, Consumer, ConsumerInterceptor, Producer, Record, TopicPartition

RECORDS = 400
IN_HAND = 250

HEAD = """
import asyncio, contextlib, json, os, signal, sys, threading, time
from barnabas import Consumer, ParallelConsumer, aio

servers, topic, group = sys.argv[1:4]
IN_HAND = 250
settings = dict(group_id=group, auto_offset_reset="earliest", max_poll_records=100)
finished = handled = 0

def tell(): print(json.dumps({"finished": finished, "handled": handled}), flush=True)

def handle(count=1):
    global handled
    if handled + count > IN_HAND:
        tell()
        end()
    handled += count

def is_done():
    global finished
    finished = handled
"""

READ = {
    "poll": """
def read(consumer):
    while True:
        for record in consumer.poll(): handle()
        is_done()
""",
    "poll_one": """
def read(consumer):
    while True:
        if consumer.poll_one(): handle()
        is_done()
""",
    "iteration": """
def read(consumer):
    for record in consumer:
        handle()
        is_done()
""",
    "poll_arrow": """
def read(consumer):
    while True:
        handle(consumer.poll_arrow(max_records=100).num_rows)
        is_done()
""",
}

END = {
    "caught": "consumer = Consumer(servers, topics=[topic], **settings)\n"
    "try: read(consumer)\nexcept KeyboardInterrupt: pass\n",
    "uncaught": "consumer = Consumer(servers, topics=[topic], **settings)\nread(consumer)\n",
    "an error": "def end(): raise ValueError('mine')\n"
    "consumer = Consumer(servers, topics=[topic], **settings)\nread(consumer)\n",
    "dropped": "def work():\n"
    "    consumer = Consumer(servers, topics=[topic], **settings)\n"
    "    try: read(consumer)\n"
    "    except KeyboardInterrupt: pass\n"
    "work()\n",
    "with": "with Consumer(servers, topics=[topic], **settings) as consumer: read(consumer)\n",
    "SystemExit on SIGTERM": "signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\n"
    "def end(): signal.raise_signal(signal.SIGTERM)\n"
    "consumer = Consumer(servers, topics=[topic], **settings)\nread(consumer)\n",
    "a commit in on_revoked": "consumer = Consumer(servers, **settings)\n"
    "consumer.subscribe([topic], on_revoked=lambda partitions: consumer.commit())\n"
    "read(consumer)\n",
}
CTRL_C = "def end(): signal.raise_signal(signal.SIGINT)\n"
TERMINATED = "def end(): signal.raise_signal(signal.SIGTERM)\n"

ASYNC_HEAD = """
async def handle(count=1):
    global handled
    if handled + count > IN_HAND:
        tell()
        end()
        await asyncio.sleep(100)
    handled += count
"""

ASYNC_READ = {
    "poll": """
async def read(consumer):
    while True:
        for record in await consumer.poll(): await handle()
        is_done()
""",
    "poll_one": """
async def read(consumer):
    while True:
        if await consumer.poll_one(): await handle()
        is_done()
""",
    "iteration": """
async def read(consumer):
    async for record in consumer:
        await handle()
        is_done()
""",
    "poll_arrow": """
async def read(consumer):
    while True:
        await handle((await consumer.poll_arrow(max_records=100)).num_rows)
        is_done()
""",
}

ASYNC_END = {
    "caught": "async def main():\n"
    "    global consumer\n"
    "    consumer = aio.Consumer(servers, topics=[topic], **settings)\n"
    "    with contextlib.suppress(asyncio.CancelledError): await read(consumer)\n"
    "asyncio.run(main())\n",
    "uncaught": "async def main():\n"
    "    global consumer\n"
    "    consumer = aio.Consumer(servers, topics=[topic], **settings)\n"
    "    await read(consumer)\n"
    "asyncio.run(main())\n",
    "dropped": "async def work():\n"
    "    consumer = aio.Consumer(servers, topics=[topic], **settings)\n"
    "    with contextlib.suppress(asyncio.CancelledError): await read(consumer)\n"
    "async def main():\n"
    "    await work()\n"
    "    await asyncio.sleep(0.2)\n"
    "asyncio.run(main())\n",
    "async with": "async def main():\n"
    "    async with aio.Consumer(servers, topics=[topic], **settings) as consumer: await read(consumer)\n"
    "asyncio.run(main())\n",
    "cancelled by SIGTERM": "def end(): os.kill(os.getpid(), signal.SIGTERM)\n"
    "async def main():\n"
    "    global consumer\n"
    "    me = asyncio.current_task()\n"
    "    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, me.cancel)\n"
    "    consumer = aio.Consumer(servers, topics=[topic], **settings)\n"
    "    await read(consumer)\n"
    "asyncio.run(main())\n",
    "a commit in on_revoked": "async def main():\n"
    "    global consumer\n"
    "    consumer = aio.Consumer(servers, **settings)\n"
    "    consumer.subscribe([topic], on_revoked=lambda partitions: consumer.commit())\n"
    "    await read(consumer)\n"
    "asyncio.run(main())\n",
}


@pytest.fixture
def topic(embedded_broker: Any, make_topic: Any) -> str:
    topic = make_topic(embedded_broker)
    with Producer(embedded_broker.bootstrap) as producer:
        for _ in range(RECORDS):
            producer.send(topic, b"v")
    return topic


def committed_by(broker: Any, topic: str, code: str) -> tuple[int | None, dict[str, int]]:
    """The offset, and what the program said of itself last."""
    group = f"group-{topic}"
    process = started(code, broker.bootstrap, topic, group)
    said, _ = process.communicate(timeout=60)
    with Admin(broker.bootstrap) as admin:
        committed = admin.list_group_offsets(group).get(TopicPartition(topic, 0))
    return None if committed is None else committed.offset, json.loads(said.splitlines()[-1])


@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("read", READ)
def test_what_earlier_polls_returned_is_committed_and_nothing_else(
    embedded_broker: Any, topic: str, read: str, end: str
) -> None:
    committed, program = committed_by(embedded_broker, topic, HEAD + CTRL_C + READ[read] + END[end])
    assert committed == program["finished"]
    assert committed is not None
    assert 0 < committed <= program["handled"] <= IN_HAND


@pytest.mark.parametrize("end", ASYNC_END)
@pytest.mark.parametrize("read", ASYNC_READ)
def test_the_same_holds_for_asyncio(embedded_broker: Any, topic: str, read: str, end: str) -> None:
    code = HEAD + ASYNC_HEAD + CTRL_C + ASYNC_READ[read] + ASYNC_END[end]
    committed, program = committed_by(embedded_broker, topic, code)
    assert committed == program["finished"]
    assert committed is not None
    assert 0 < committed <= program["handled"] <= IN_HAND


@pytest.mark.parametrize("read", READ)
def test_a_process_that_sigterm_ends_has_committed_nothing_that_it_had_not_handled(
    embedded_broker: Any, topic: str, read: str
) -> None:
    often = "settings['auto_commit_interval_ms'] = 1\n"
    code = HEAD + TERMINATED + often + READ[read] + END["uncaught"]
    committed, program = committed_by(embedded_broker, topic, code)
    assert (committed or 0) <= program["finished"]


@pytest.mark.parametrize("read", READ)
def test_close_commits_what_was_returned_as_in_java(embedded_broker: Any, topic: str, read: str) -> None:
    end = END["caught"] + "consumer.close()\n"
    committed, program = committed_by(embedded_broker, topic, HEAD + CTRL_C + READ[read] + end)
    assert committed is not None
    assert committed > program["handled"]


def test_the_end_of_a_program_takes_back_no_commit_of_its_own(embedded_broker: Any, topic: str) -> None:
    read = """
def read(consumer):
    while True:
        for record in consumer.poll():
            handle()
            consumer.commit({(topic, 0): record.offset + 1})
"""
    committed, program = committed_by(embedded_broker, topic, HEAD + CTRL_C + read + END["uncaught"])
    assert committed == program["handled"] == IN_HAND


def test_a_call_while_a_record_is_in_hand_does_not_finish_it(embedded_broker: Any, topic: str) -> None:
    read = """
def read(consumer):
    for record in consumer:
        consumer.position((topic, 0))
        handle()
"""
    committed, program = committed_by(embedded_broker, topic, HEAD + CTRL_C + read + END["uncaught"])
    assert committed == program["handled"] == IN_HAND


class Interrupting(ConsumerInterceptor):
    """Ctrl-C comes when the second poll has taken what it is to return."""

    def __init__(self) -> None:
        self.calls = 0

    def on_consume(self, records: list[Record]) -> list[Record]:
        self.calls += 1
        if self.calls == 2:
            raise KeyboardInterrupt
        return records


READERS: dict[str, Callable[[Consumer], list[int]]] = {
    "poll": lambda consumer: [record.offset for record in consumer.poll(5)],
    "poll_one": lambda consumer: [record.offset for _ in range(10) if (record := consumer.poll_one(5))],
    "iteration": lambda consumer: [record.offset for record in islice(consumer, 10)],
}


@pytest.mark.parametrize("read", READERS)
def test_what_an_interrupted_poll_had_taken_is_read_again(
    embedded_broker: Any, topic: str, read: str
) -> None:
    with Consumer(
        embedded_broker.bootstrap,
        topics=[topic],
        group_id=f"group-{topic}",
        auto_offset_reset="earliest",
        max_poll_records=10,
        interceptors=[Interrupting()],
    ) as consumer:
        assert READERS[read](consumer) == list(range(10))
        with pytest.raises(KeyboardInterrupt):
            READERS[read](consumer)
        assert consumer.position((topic, 0)) == 10
        assert READERS[read](consumer) == list(range(10, 20))


PARALLEL = """
lock = threading.Lock()
done = set()
def is_over(record):
    with lock:
        done.add(record.offset)
        finished = min(set(range(len(done) + 1)) - done)
        print(json.dumps({"finished": finished, "handled": len(done)}), flush=True)
"""
PARALLEL_HANDLER = """
def handle(record):
    if record.offset == IN_HAND:
        os.kill(os.getpid(), ENDS_BY)
        time.sleep(0.5)
    is_over(record)
"""
ASYNC_PARALLEL_HANDLER = """
async def handle(record):
    if record.offset == IN_HAND:
        os.kill(os.getpid(), ENDS_BY)
        await asyncio.sleep(0.5)
    is_over(record)
"""
PARALLEL_ENDS = {
    "caught": "try: consumer.run()\nexcept KeyboardInterrupt: pass\n",
    "uncaught": "consumer.run()\n",
    "with": "with consumer: consumer.run()\n",
}
ASYNC_PARALLEL_ENDS = {
    "caught": "    with contextlib.suppress(asyncio.CancelledError): await consumer.run()\n",
    "uncaught": "    await consumer.run()\n",
    "async with": "    async with consumer: await consumer.run()\n",
}


@pytest.mark.parametrize("end", PARALLEL_ENDS)
def test_a_parallel_consumer_commits_what_was_handled(embedded_broker: Any, topic: str, end: str) -> None:
    made = "consumer = ParallelConsumer(servers, handle, topics=[topic], max_concurrency=4, **settings)\n"
    code = HEAD + PARALLEL + "ENDS_BY = signal.SIGINT\n" + PARALLEL_HANDLER + made + PARALLEL_ENDS[end]
    committed, program = committed_by(embedded_broker, topic, code)
    assert committed == program["finished"] > IN_HAND


@pytest.mark.parametrize("end", ASYNC_PARALLEL_ENDS)
def test_a_parallel_consumer_of_asyncios_commits_what_was_handled(
    embedded_broker: Any, topic: str, end: str
) -> None:
    made = (
        "async def main():\n"
        "    global consumer\n"
        "    settings['max_concurrency'] = 4\n"
        "    consumer = aio.ParallelConsumer(servers, handle, topics=[topic], **settings)\n"
    )
    run = ASYNC_PARALLEL_ENDS[end] + "asyncio.run(main())\n"
    code = HEAD + PARALLEL + "ENDS_BY = signal.SIGINT\n" + ASYNC_PARALLEL_HANDLER + made + run
    committed, program = committed_by(embedded_broker, topic, code)
    assert committed == program["finished"] > IN_HAND


@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_a_parallel_consumer_that_sigterm_ends_has_committed_nothing_unhandled(
    embedded_broker: Any, topic: str, kind: str
) -> None:
    often = "settings['auto_commit_interval_ms'] = 10\n"
    if kind == "threads":
        rest = PARALLEL_HANDLER + "ParallelConsumer(servers, handle, topics=[topic], **settings).run()\n"
    else:
        rest = (
            ASYNC_PARALLEL_HANDLER + "async def main():\n"
            "    await aio.ParallelConsumer(servers, handle, topics=[topic], **settings).run()\n"
            "asyncio.run(main())\n"
        )
    code = HEAD + PARALLEL + "ENDS_BY = signal.SIGTERM\n" + often + rest
    committed, program = committed_by(embedded_broker, topic, code)
    assert (committed or 0) <= program["finished"]


def test_a_second_ctrl_c_ends_a_parallel_consumer_whose_handler_takes_long(
    embedded_broker: Any, topic: str
) -> None:
    code = HEAD + (
        "def handle(record):\n"
        "    if record.offset < IN_HAND: return\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    consumer._ends.wait()\n"
        # Nothing wakes the main thread then, as when its wait has all but begun.
        "    signal.pthread_kill(threading.get_ident(), signal.SIGINT)\n"
        "    time.sleep(1000)\n"
        "settings['ordering'] = 'partition'\n"
        "with ParallelConsumer(servers, handle, topics=[topic], **settings) as consumer: consumer.run()\n"
    )
    process = started(code, embedded_broker.bootstrap, topic, f"group-{topic}")
    status, said = ended(process, within=20)
    assert status != 0
    assert said.rstrip().endswith("KeyboardInterrupt")
