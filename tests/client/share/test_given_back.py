"""Records that a share consumer took and could not return come with the next poll. Nobody accepts them."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from types import CodeType

import pytest
from tests.interrupting import RaisedAt, in_modules, traced
from tests.share_groups import begin_at_the_first_record
from tests.waiting import Patience

from barnabas import ShareConsumer, aio
from barnabas.compat import confluent_kafka
from barnabas.testing import EmbeddedBroker

RECORDS = 9
# So many are run through, at least, until records are read.
MOST_LINES = {"poll": 15, "iteration": 21, "confluent_kafka": 79}
IN_MODULES = in_modules("/share/core", "/share/consumer", "/barnabas/sync/share_consumer", "/consume/share_")
MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]


def is_step(code: CodeType) -> bool:
    """Without what takes a lock, as the ledger does: a tracer raises between the last line under a lock and
    its release, where no signal does."""
    return IN_MODULES(code) and code.co_name != "_using"


@pytest.fixture
def topic(embedded_broker: EmbeddedBroker, make_topic: MakeTopic, fill_topic: FillTopic) -> str:
    name = make_topic(embedded_broker)
    fill_topic(embedded_broker, name, [b"%d" % number for number in range(RECORDS)])
    return name


@pytest.fixture
def group(embedded_broker: EmbeddedBroker) -> str:
    name = f"share-{uuid.uuid4().hex[:12]}"
    begin_at_the_first_record(embedded_broker.bootstrap, name)
    return name


@contextlib.contextmanager
def reading(way: str, bootstrap: str, group: str, topic: str) -> Generator[Callable[[], list[bytes | None]]]:
    """Gives what reads some records of the topic, or none; after an exception it is called again."""
    if way == "confluent_kafka":
        with confluent_kafka.ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group}) as theirs:
            theirs.subscribe([topic])
            yield lambda: [message.value() for message in theirs.poll(0.5)]
        return
    with ShareConsumer(bootstrap, group_id=group, topics=[topic]) as consumer:
        if way == "poll":
            yield lambda: [record.value for record in consumer.poll(0.5, 2)]
        else:
            yield lambda: [next(iter(consumer)).value]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("way", ["poll", "iteration", "confluent_kafka"])
def test_records_of_a_poll_that_ctrl_c_ended_at_any_line_come_with_the_next_one(
    embedded_broker: EmbeddedBroker, topic: str, group: str, fill_topic: FillTopic, way: str
) -> None:
    with reading(way, embedded_broker.bootstrap, group, topic) as read:
        returned: Counter[bytes | None] = Counter()
        while len(returned) < RECORDS:
            returned.update(read())
        for line in range(1, MOST_LINES[way]):
            values = [b"%d of %d" % (number, line) for number in range(3)]
            fill_topic(embedded_broker, topic, values)
            raised = RaisedAt(line, KeyboardInterrupt, is_step)
            # A record that is not given back comes again when its lock expires, after 30 s.
            patience = Patience(25)
            while not returned.keys() >= set(values):
                patience.check(raised.place)
                try:
                    with traced(raised):
                        returned.update(read())
                except KeyboardInterrupt:
                    pass
            assert raised.place
        assert set(returned.values()) == {1}


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_records_that_a_program_for_asyncio_never_got_are_another_members(
    embedded_broker: EmbeddedBroker,
    make_topic: MakeTopic,
    fill_topic: FillTopic,
    error: type[BaseException],
) -> None:
    chance = random.Random(error.__name__)

    async def read(group: str, topic: str, returned: list[bytes | None], raised: RaisedAt | None) -> None:
        async with aio.ShareConsumer(embedded_broker.bootstrap, group_id=group, topics=[topic]) as consumer:
            sys.settrace(raised)
            while len(set(returned)) < RECORDS:
                returned += [record.value for record in await consumer.poll(1, 4)]

    for _ in range(8):
        topic, group = make_topic(embedded_broker), f"share-{uuid.uuid4().hex[:12]}"
        begin_at_the_first_record(embedded_broker.bootstrap, group)
        fill_topic(embedded_broker, topic, [b"%d" % number for number in range(RECORDS)])
        returned: list[bytes | None] = []
        raised = RaisedAt(chance.randrange(1, 700), error, is_step)
        try:
            asyncio.run(read(group, topic, returned, raised))
        except error:
            assert raised.place
        finally:
            sys.settrace(None)
        asyncio.run(asyncio.wait_for(read(group, topic, returned, None), 20))
        assert set(returned) == {b"%d" % number for number in range(RECORDS)}, raised.place


class Gate:
    """A lock whose first release is followed by Ctrl-C."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_over = False

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if not self._is_over:
            self._is_over = True
            raise KeyboardInterrupt


def test_a_share_consumer_is_free_for_other_threads_after_ctrl_c_in_the_first_steps_of_a_call(
    embedded_broker: EmbeddedBroker, topic: str, group: str
) -> None:
    settings = {"bootstrap.servers": embedded_broker.bootstrap, "group.id": group}
    with confluent_kafka.ShareConsumer(settings) as consumer, ThreadPoolExecutor(1) as other:
        consumer.subscribe([topic])
        consumer._gate = Gate()  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        with pytest.raises(KeyboardInterrupt):
            consumer.subscription()
        assert other.submit(consumer.subscription).result(60) == [topic]
