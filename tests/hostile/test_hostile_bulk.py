"""A broker whose large answers are harmed on their way while they are fetched in bulk: each record comes once
and in order."""

from __future__ import annotations

import asyncio
import random
import struct
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas import Admin, Consumer, NewTopic, Producer
from barnabas.errors import BrokenProtocolError, CorruptBatchError

from . import proxy
from .proxy import Harm, HostileProxy

COUNT = 20_000
LARGE_BYTES = 65_536
TIMEOUT = 120.0
SEED = 5
FIRST_HARMED = 3
"""The broker's third large answer, and others after it."""
SETTINGS: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "max_partition_fetch_bytes": 200_000,
    "queued_max_bytes": 1_000_000,
    "request_timeout_ms": 2000,
    "retry_backoff_ms": 10,
    "reconnect_backoff_ms": 10,
    "reconnect_backoff_max_ms": 20,
}


@pytest.fixture(scope="module")
def topic(broker: Any) -> str:
    name = f"hostile-{uuid.uuid4().hex[:12]}"
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 2, 1)])
    with Producer(broker.bootstrap, compression="none", batch_size=50_000) as producer:
        for number in range(COUNT):
            for partition in range(2):
                producer.send(name, b"%06d" % number + b"x" * 200, partition=partition)
    return name


def throttled(rng: random.Random, answer: bytes) -> bytes:
    """Behind the correlation id and no tags."""
    return proxy.framed(answer[:5] + struct.pack(">i", 20) + answer[9:])


def refused(rng: random.Random, answer: bytes) -> bytes:
    """The broker has forgotten the session."""
    return proxy.framed(answer[:9] + struct.pack(">hi", 70, 0) + b"\x01\x00")


def claim_far_too_much(rng: random.Random, answer: bytes) -> bytes:
    """Less than the greatest frame that is received in bulk."""
    return struct.pack(">i", 200 << 20) + answer


HARMS: dict[Harm, int] = {
    proxy.cut_short: 5,
    proxy.pad: 5,
    proxy.twice: 5,
    proxy.claim_nothing: 5,
    proxy.claim_two_gibibytes: 5,
    proxy.claim_negative_length: 5,
    proxy.random_frame: 5,
    proxy.random_bytes: 5,
    proxy.other_correlation_id: 5,
    throttled: 5,
    refused: 5,
    # Those that the client has to wait for.
    proxy.say_nothing: 10,
    proxy.claim_almost_the_limit: 10,
    claim_far_too_much: 10,
}
"""Of so many large answers one is harmed so."""


@contextmanager
def running(hostile: HostileProxy) -> Iterator[None]:
    """With an event loop of its own: a sync consumer waits in this thread."""
    is_ready, is_done = threading.Event(), asyncio.Event()

    async def serve() -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        async with hostile:
            is_ready.set()
            await is_done.wait()

    loop: asyncio.AbstractEventLoop | None = None
    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert is_ready.wait(30)
    assert loop is not None
    try:
        yield
    finally:
        loop.call_soon_threadsafe(is_done.set)
        thread.join()


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_every_record_comes_once_in_order(broker: Any, topic: str, harm: Harm) -> None:
    def harm_large(rng: random.Random, answer: bytes) -> bytes | None:
        nonlocal large
        large += len(answer) >= LARGE_BYTES
        # By count, not by chance: how many small answers come between is the broker's affair.
        if len(answer) < LARGE_BYTES or large % HARMS[harm] != FIRST_HARMED:
            return proxy.framed(answer)
        return harm(rng, answer)

    hostile = HostileProxy(broker.bootstrap, harm_large, seed=SEED)
    was_in_bulk, large = False, 0
    with running(hostile), Consumer(hostile.bootstrap, **SETTINGS) as consumer:
        consumer.assign([(topic, 0), (topic, 1)])
        numbers: dict[int, list[int]] = {0: [], 1: []}
        patience = Patience(TIMEOUT)
        while sum(map(len, numbers.values())) < 2 * COUNT:
            patience.check()
            with suppress(BrokenProtocolError):
                for record in consumer.poll(1):
                    numbers[record.partition].append(int(record.value[:6]))
            direct = consumer._core._fetcher._direct
            was_in_bulk |= direct is not None and any(lent.is_in_bulk for lent in direct.lent)
    assert numbers == {0: list(range(COUNT)), 1: list(range(COUNT))}
    assert was_in_bulk
    assert large >= FIRST_HARMED


def test_a_partition_that_stops_at_a_corrupt_batch_does_not_hold_up_the_other(
    broker: Any, topic: str
) -> None:
    is_harmed = False

    def harm_fourth(rng: random.Random, answer: bytes) -> bytes:
        nonlocal is_harmed, large
        large += len(answer) >= LARGE_BYTES
        if large == 4 and not is_harmed:
            is_harmed = True
            at = answer.index(b"x" * 100)
            answer = answer[:at] + b"y" + answer[at + 1 :]
        return proxy.framed(answer)

    large = 0
    hostile = HostileProxy(broker.bootstrap, harm_fourth, seed=SEED)
    with running(hostile), Consumer(hostile.bootstrap, **SETTINGS) as consumer:
        consumer.assign([(topic, 0), (topic, 1)])
        numbers: dict[int, list[int]] = {0: [], 1: []}
        patience = Patience(TIMEOUT)
        while min(map(len, numbers.values())) < COUNT:
            patience.check()
            # It was harmed on its way only: the partition goes on.
            with suppress(CorruptBatchError):
                for record in consumer.poll(1, 200):
                    numbers[record.partition].append(int(record.value[:6]))
        assert numbers == {0: list(range(COUNT)), 1: list(range(COUNT))}
        assert is_harmed
