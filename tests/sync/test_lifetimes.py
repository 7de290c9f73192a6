"""Clients that nobody closes: dropped ones, those of a process that ends, and Ctrl-C meanwhile. Most programs
are a process of their own, since its end is what matters."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.programs import ended, record_count, started
from tests.waiting import Patience

import barnabas
from barnabas import Admin, Consumer, Producer, aio

AWAY = "127.0.0.1:9"
STUCK = (
    "def stuck(**settings):\n"
    f"    producer = Producer({AWAY!r}, **settings)\n"
    "    producer._core.accumulator.set_partition_count('topic', 1)\n"
    "    for n in range(7): producer.send('topic', b'v')\n"
    "    return producer\n"
    "def flush(producer):\n"
    "    flush = producer._core.flush\n"
    "    async def flush_and_say(timeout):\n"
    "        print('ready', flush=True)\n"
    "        await flush(timeout)\n"
    "    producer._core.flush = flush_and_say\n"
    "    producer.flush()\n"
)
HEAD = "import sys\nfrom barnabas import Admin, Consumer, Producer, ShareConsumer\n" + STUCK


@pytest.fixture
def topic(broker: Any, make_topic: Any) -> str:
    return make_topic(broker)


def collected(work: Callable[[], object]) -> None:
    """Does the work, and collects what it has dropped."""
    work()
    gc.collect()


@pytest.mark.parametrize("count", [1, 1_000, 200_000])
def test_what_a_dropped_producer_took_is_delivered(broker: Any, topic: str, count: int) -> None:
    code = (
        "def work():\n"
        "    producer = Producer(sys.argv[1])\n"
        f"    for n in range({count}): producer.send(sys.argv[2], b'v')\n"
        "work()\n"
    )
    status, said = ended(started(HEAD + code, broker.bootstrap, topic))
    assert status == 0
    assert "ResourceWarning: unclosed producer 'barnabas'" in said
    assert record_count(broker, topic) == count


def test_a_dropped_producer_delivers_while_the_process_goes_on(
    broker: Any, topic: str, eventually: Any
) -> None:
    def work() -> None:
        producer = Producer(broker.bootstrap, linger_ms=60_000)
        for _ in range(10):
            producer.send(topic, b"v")

    with pytest.warns(ResourceWarning, match="unclosed producer"):
        collected(work)
    eventually(lambda: record_count(broker, topic) == 10)


def test_what_a_dropped_producer_cannot_deliver_is_an_error_with_its_count() -> None:
    code = "stuck(delivery_timeout_ms=1_500, request_timeout_ms=1_000, linger_ms=0)\n"
    status, said = ended(started(HEAD + code))
    assert status == 0
    assert "the producer was not closed, and 7 records were not delivered" in said


def test_the_end_of_a_process_says_what_it_waits_for_and_ctrl_c_gives_up_only_that(
    broker: Any, topic: str
) -> None:
    code = (
        "import logging; logging.basicConfig(level='WARNING', format='%(message)s')\n"
        "away = stuck(client_id='away')\n"
        "there = Producer(sys.argv[1], linger_ms=60_000)\n"
        "for n in range(100): there.send(sys.argv[2], b'v')\n"
    )
    process = started(HEAD + code, broker.bootstrap, topic)
    assert process.stderr is not None
    lines = iter(process.stderr.readline, "")
    line = next(line for line in lines if "which waits for" in line)
    assert "producer 'away'" in line
    assert f"7 records to be delivered to {AWAY}, for at most 1" in line
    assert record_count(broker, topic) == 100
    process.send_signal(signal.SIGINT)
    status, said = ended(process, within=20)
    assert status == -signal.SIGINT
    assert "7 records were not delivered" in said


def test_ctrl_c_while_the_first_second_runs_loses_nothing_that_can_be_delivered(
    broker: Any, topic: str
) -> None:
    code = (
        "away = stuck(client_id='away')\n"
        "there = Producer(sys.argv[1], linger_ms=60_000)\n"
        "for n in range(1000): there.send(sys.argv[2], b'v')\n"
        # Ctrl-C within `print` would end that alone: what is seen of a signal in there, nobody else hears of.
        "import atexit, os; atexit.register(os.write, 1, b'ending\\n')\n"
    )
    process = started(HEAD + code, broker.bootstrap, topic)
    assert process.stdout is not None
    assert process.stdout.readline() == "ending\n"
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == -signal.SIGINT
    assert record_count(broker, topic) == 1_000


@pytest.mark.parametrize("line", range(1, 75, 6))
def test_ctrl_c_at_any_line_of_the_end_loses_nothing_that_can_be_delivered(
    broker: Any, topic: str, line: int
) -> None:
    """As an exception it would end a closing that had just begun, with all that the client still held."""
    code = (
        "import atexit, signal\n"
        "there = Producer(sys.argv[1], linger_ms=60_000)\n"
        "for n in range(1000): there.send(sys.argv[2], b'v')\n"
        "left = int(sys.argv[3])\n"
        "def trace(frame, event, _):\n"
        "    global left\n"
        "    if '/barnabas/' not in frame.f_code.co_filename: return None\n"
        "    left -= event == 'line'\n"
        "    if left == 0:\n"
        "        sys.settrace(None)\n"
        "        frame.f_trace = None\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return trace\n"
        "atexit.register(sys.settrace, trace)\n"
    )
    status, said = ended(started(HEAD + code, broker.bootstrap, topic, str(line)))
    assert status == -signal.SIGINT
    assert "was not closed" not in said
    assert record_count(broker, topic) == 1_000


def test_ctrl_c_between_two_of_atexits_calls_loses_nothing_that_can_be_delivered(
    broker: Any, topic: str
) -> None:
    """It ends the call that closes the clients before that has begun."""
    code = (
        "import atexit\n"
        "from barnabas.client.cluster import lifetimes\n"
        "there = Producer(sys.argv[1], linger_ms=60_000)\n"
        "for n in range(1000): there.send(sys.argv[2], b'v')\n"
        "atexit.unregister(lifetimes._close_all)\n"
        "def interrupted(): raise KeyboardInterrupt\n"
        "atexit.register(interrupted)\n"
    )
    assert ended(started(HEAD + code, broker.bootstrap, topic))[0] == -signal.SIGINT
    assert record_count(broker, topic) == 1_000


def test_an_interrupted_end_leaves_time_for_all_that_python_does_at_its_end(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    code = (
        "import atexit, os\n"
        "file = open(sys.argv[1], 'w')\n"
        "file.write('not flushed yet')\n"
        "print('not flushed either', end='')\n"
        "away = stuck(client_id='away')\n"
        "atexit.register(os.write, 2, b'ending\\n')\n"
    )
    process = started(
        "import atexit, os; atexit.register(os.write, 2, b'last\\n')\n" + HEAD + code, str(kept)
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "ending\n"
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert "last\n" in said
    assert printed == "not flushed either"
    assert kept.read_text() == "not flushed yet"


def test_producers_whose_broker_does_not_answer_are_waited_for_side_by_side(broker: Any, topic: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        code = (
            "def stuck(number):\n"
            "    producer = Producer('127.0.0.1:' + sys.argv[3], delivery_timeout_ms=4_000,\n"
            "        request_timeout_ms=3_000, linger_ms=0, client_id=f'away-{number}')\n"
            "    producer._core.accumulator.set_partition_count('topic', 1)\n"
            "    producer.send('topic', b'v')\n"
            "    return producer\n"
            "away = [stuck(number) for number in range(4)]\n"
            "there = Producer(sys.argv[1], linger_ms=60_000)\n"
            "for n in range(100): there.send(sys.argv[2], b'v')\n"
        )
        port = str(silent.getsockname()[1])
        status, said = ended(started(HEAD + code, broker.bootstrap, topic, port), within=12)
    assert status == 0
    assert said.count("the producer was not closed, and 1 record was not delivered") == 4
    assert record_count(broker, topic) == 100


@pytest.mark.parametrize(
    "code",
    [
        "producer = stuck()\nflush(producer)\n",
        "with stuck() as producer:\n    flush(producer)\n",
        "producer = stuck()\ntry:\n    flush(producer)\nfinally:\n    producer.close()\n",
        "producer = stuck()\ntry:\n    flush(producer)\nexcept KeyboardInterrupt:\n    pass\n",
        "producer = stuck()\nprint('ready', flush=True)\nimport time\ntime.sleep(100)\n",
    ],
    ids=["plain", "with", "finally", "caught", "elsewhere"],
)
def test_one_ctrl_c_ends_a_program_whose_broker_is_away(code: str) -> None:
    process = started(HEAD + code)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, said = ended(process, within=20)
    assert "7 records were not delivered" in said


def test_a_dropped_consumer_leaves_its_group(broker: Any, topic: str) -> None:
    with Producer(broker.bootstrap) as producer:
        producer.send(topic, b"v").result(30)
    # Who leaves without a word would be missed only when its session has ended.
    session: dict[str, Any] = {"session_timeout_ms": 1_800_000}
    settings: dict[str, Any] = {
        "group_id": f"g-{topic}",
        "topics": [topic],
        "auto_offset_reset": "earliest",
        **session,
    }

    def work() -> None:
        consumer = Consumer(broker.bootstrap, **settings)
        while not consumer.poll(1):
            pass

    def work_with_callbacks() -> None:
        consumer = Consumer(broker.bootstrap, group_id=f"g-{topic}", auto_offset_reset="earliest", **session)
        consumer.subscribe([topic], on_revoked=lambda partitions: consumer.commit())
        while not consumer.poll(1):
            pass

    for each in (work, work_with_callbacks):
        with pytest.warns(ResourceWarning, match="unclosed consumer"):
            collected(each)
    with Consumer(broker.bootstrap, **settings) as following:
        patience = Patience()
        while not following.poll(1):
            patience.check()


MADE = {
    "Producer": "Producer(servers).send(topic, b'v').result(30)",
    "Consumer": "Consumer(servers, topics=[topic], group_id='g').poll(0.2)",
    "ShareConsumer": "ShareConsumer(servers, topics=[topic], group_id='s').poll(0.2)",
    "ParallelConsumer": "ParallelConsumer(servers, print, topics=[topic], group_id='p')._consumer.poll(0.2)",
    "Admin": "Admin(servers).list_topics()",
}


@pytest.mark.parametrize("kind", MADE)
def test_dropped_clients_leave_no_descriptors(broker: Any, topic: str, kind: str) -> None:
    code = (
        "import contextlib, gc, os, time\n"
        "from barnabas import ParallelConsumer\n"
        "from barnabas.errors import NoCommonVersionError\n"
        "servers, topic = sys.argv[1:]\n"
        "def count(): return gc.collect() * 0 + len(os.listdir('/proc/self/fd'))\n"
        "Admin(servers).close()\n"
        "before = count()\n"
        "for _ in range(12):\n"
        "    with contextlib.suppress(NoCommonVersionError):\n"
        f"        {MADE[kind]}\n"
        "until = time.monotonic() + 20\n"
        "while count() > before and time.monotonic() < until: time.sleep(0.05)\n"
        "print(count() - before)\n"
    )
    process = started(HEAD + code, broker.bootstrap, topic)
    left, said = process.communicate(timeout=100)
    assert left == "0\n"
    assert said.count("ResourceWarning: unclosed") == 12


def test_a_client_that_was_not_made_is_not_missed() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for make in (Producer, Consumer, Admin):
            with pytest.raises(Exception, match="no_such_setting"):
                make(AWAY, no_such_setting=1)  # type: ignore[call-arg]
        gc.collect()
    assert not [each for each in caught if "use `with`" in str(each.message)]


def test_the_child_of_a_fork_drops_its_parents_clients_without_a_word(broker: Any, topic: str) -> None:
    code = (
        "import gc, os\n"
        "producer = Producer(sys.argv[1])\n"
        "producer.send(sys.argv[2], b'v').result(30)\n"
        "if os.fork() == 0:\n"
        "    del producer\n"
        "    gc.collect()\n"
        "    sys.exit(0)\n"
        "assert os.wait()[1] == 0\n"
        "producer.close()\n"
    )
    status, said = ended(started(HEAD + code, broker.bootstrap, topic))
    assert (status, said.replace("DeprecationWarning", "")) == (0, said)


CHILD = """
import multiprocessing, sys
from barnabas import Producer

def work(bootstrap, topic):
    global producer
    producer = Producer(bootstrap, linger_ms=60_000)
    for number in range(7):
        producer.send(topic, b"value")

if __name__ == "__main__":
    child = multiprocessing.get_context(sys.argv[3]).Process(target=work, args=sys.argv[1:3])
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_the_end_of_a_child_of_multiprocessing_delivers_what_its_producer_took(
    broker: Any, topic: str, method: str, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(CHILD)
    subprocess.run([sys.executable, program, broker.bootstrap, topic, method], check=True, timeout=120)
    assert record_count(broker, topic) == 7


def test_in_the_child_of_a_fork_close_leaves_all_to_the_parent(broker: Any, topic: str) -> None:
    code = (
        "import asyncio, os\n"
        "from barnabas import ParallelConsumer, aio\n"
        "servers, topic = sys.argv[1:]\n"
        "clients = [Producer(servers), Consumer(servers), Admin(servers)]\n"
        "clients.append(ShareConsumer(servers, group_id='s'))\n"
        "clients.append(ParallelConsumer(servers, print, group_id='p', topics=[topic]))\n"
        "async def main():\n"
        "    async with aio.Producer(servers) as producer:\n"
        "        if os.fork() == 0:\n"
        "            await producer.close()\n"
        "            for client in clients: client.close()\n"
        "            for client in clients:\n"
        "                with client: pass\n"
        "            os._exit(7)\n"
        "        assert os.waitstatus_to_exitcode(os.wait()[1]) == 7\n"
        "        await (await producer.send(topic, b'v'))\n"
        "asyncio.run(main())\n"
        "clients[0].send(topic, b'v').result(30)\n"
        "clients[2].list_topics()\n"
        "for client in clients: client.close()\n"
    )
    status, said = ended(started(HEAD + code, broker.bootstrap, topic, warn="ignore"))
    assert (status, said) == (0, "")


@pytest.mark.parametrize("kind", ["Admin", "Consumer", "ParallelConsumer", "Producer", "ShareConsumer"])
@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_client_is_neither_pickled_nor_copied(kind: str, duplicate: Callable[[object], object]) -> None:
    arguments: dict[str, Any] = {}
    if kind in ("ParallelConsumer", "ShareConsumer"):
        arguments = {"group_id": "g", "topics": ["topic"]}
    handlers = [print] if kind == "ParallelConsumer" else []
    refused = f"a {kind} cannot be pickled or copied: its connections are of this process"
    client = getattr(barnabas, kind)(AWAY, *handlers, **arguments)
    try:
        with pytest.raises(TypeError, match=refused):
            duplicate(client)
    finally:
        client.close(0) if kind != "Admin" else client.close()

    async def main() -> None:
        client = getattr(aio, kind)(AWAY, *handlers, **arguments)
        try:
            with pytest.raises(TypeError, match=refused):
                duplicate(client)
        finally:
            await (client.close(0) if kind != "Admin" else client.close())

    asyncio.run(main())


def test_a_delivery_is_not_waited_for_in_a_callback(broker: Any, topic: str) -> None:
    code = (
        "import threading\n"
        "from barnabas.errors import MisuseError\n"
        "producer = Producer(sys.argv[1], linger_ms=0)\n"
        "told = threading.Event()\n"
        "def on_delivery(error, metadata):\n"
        "    try:\n"
        "        producer.send(sys.argv[2], b'again').result()\n"
        "    except MisuseError as misuse:\n"
        "        print(misuse, flush=True)\n"
        "    told.set()\n"
        "producer.send(sys.argv[2], b'v', on_delivery=on_delivery)\n"
        "told.wait(20) or __import__('os')._exit(5)\n"
        "producer.close()\n"
    )
    process = started(HEAD + code, broker.bootstrap, topic)
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    assert "would be waited for on the thread that delivers it" in said
