"""Whatever a server answers: no call outlives its deadline, nothing but errors of Barnabas comes out, no task
and no memory is left over, and the log stays short."""

from __future__ import annotations

import asyncio
import logging
import resource
import time
import uuid
from collections.abc import Awaitable
from typing import Any

import pytest

from barnabas import Admin, NewTopic, Producer, aio
from barnabas.errors import BarnabasError

from . import proxy
from .proxy import Harm, HostileProxy

DEADLINE_MS = 1500
SLACK_SECONDS = 15.0
"""A busy machine may be late; a call that hangs is later still."""

SETTINGS: dict[str, Any] = {
    "request_timeout_ms": 800,
    "default_api_timeout_ms": DEADLINE_MS,
    "socket_connection_setup_timeout_ms": 800,
    "socket_connection_setup_timeout_max_ms": 800,
}

HARMS: dict[str, list[Harm]] = {
    "bits and numbers": [proxy.flip_bits, proxy.overwrite_numbers, proxy.random_frame, proxy.random_bytes],
    "wrong sizes": [proxy.cut_short, proxy.pad, proxy.twice, proxy.claim_nothing],
    "impossible lengths": [
        proxy.claim_two_gibibytes,
        proxy.claim_almost_the_limit,
        proxy.claim_negative_length,
    ],
    "answers to others, and none": [proxy.other_correlation_id, proxy.say_nothing],
}


@pytest.fixture(scope="module")
def topic(broker: Any) -> str:
    """A topic with records, which the brokers' answers hold."""
    name = f"hostile-{uuid.uuid4().hex[:12]}"
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 2, 1)])
    with Producer(broker.bootstrap, compression="lz4") as producer:
        for number in range(200):
            producer.send(name, b"value %d" % number, key=b"key", headers=[("header", b"x")])
    return name


async def bounded(what: str, call: Awaitable[Any], seconds: float = DEADLINE_MS / 1000) -> None:
    """`call` ends in time, whatever it ends with that is an error of ours."""
    try:
        async with asyncio.timeout(seconds + SLACK_SECONDS):
            await call
    except BarnabasError:
        pass
    except TimeoutError:
        pytest.fail(f"{what} took more than {seconds + SLACK_SECONDS} s")


async def produce(bootstrap: str, topic: str) -> None:
    producer = aio.Producer(
        bootstrap, max_block_ms=DEADLINE_MS, delivery_timeout_ms=DEADLINE_MS, linger_ms=0, **SETTINGS
    )

    async def send() -> None:
        delivery = await producer.send(topic, b"x" * 100, key=b"k")
        await delivery

    for _ in range(2):
        await bounded("producing", send(), 2 * DEADLINE_MS / 1000)
    await bounded("closing a producer", producer.close(1))


async def consume(bootstrap: str, topic: str, group_id: str | None) -> None:
    consumer = aio.Consumer(
        bootstrap,
        group_id=group_id,
        topics=[topic],
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
        **SETTINGS,
    )
    end = time.monotonic() + 2
    while time.monotonic() < end:
        await bounded("polling", consumer.poll(0.5))
        await asyncio.sleep(0)
    await bounded("looking up offsets", consumer.end_offsets([(topic, 0)]))
    await bounded("closing a consumer", consumer.close(1), 2)


async def share(bootstrap: str, topic: str) -> None:
    consumer = aio.ShareConsumer(
        bootstrap, group_id=f"share-{uuid.uuid4().hex}", topics=[topic], fetch_max_wait_ms=100, **SETTINGS
    )
    end = time.monotonic() + 2
    while time.monotonic() < end:
        await bounded("polling for a share", consumer.poll(0.5))
        await asyncio.sleep(0)
    await bounded("closing a share consumer", consumer.close(1), 2)


async def administer(bootstrap: str, topic: str) -> None:
    admin = aio.Admin(bootstrap, **SETTINGS)
    await bounded("listing topics", admin.list_topics())
    await bounded("describing a topic", admin.describe_topics([topic]))
    await bounded("listing groups", admin.list_groups())
    await bounded("closing an admin", admin.close())


def run(topic: str, proxies: list[HostileProxy], caplog: pytest.LogCaptureFixture) -> None:
    unhandled: list[dict[str, Any]] = []

    async def use(hostile: HostileProxy) -> None:
        async with hostile:
            # A slow machine has few answers in one round, of which the first ones are spared.
            while not hostile.harmed:
                await asyncio.gather(
                    produce(hostile.bootstrap, topic),
                    consume(hostile.bootstrap, topic, None),
                    consume(hostile.bootstrap, topic, f"group-{uuid.uuid4().hex}"),
                    share(hostile.bootstrap, topic),
                    administer(hostile.bootstrap, topic),
                )

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
        own = asyncio.all_tasks()
        await asyncio.gather(*(use(hostile) for hostile in proxies))
        assert asyncio.all_tasks() == own

    memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with caplog.at_level(logging.WARNING, "barnabas"):
        asyncio.run(main())
    assert unhandled == []
    ours = [record for record in caplog.records if record.name.startswith("barnabas")]
    unexpected = [record for record in ours if record.exc_info]
    assert unexpected == [], "something failed in a way that nobody thought of"
    assert len(ours) < 60 * len(proxies), [record.getMessage() for record in ours]
    grown_kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_before
    assert grown_kibibytes < 300_000, f"memory grew by {grown_kibibytes} KiB"


@pytest.mark.parametrize("kind", HARMS)
def test_clients_live_through_a_server_whose_every_answer_is_harmed(
    broker: Any, topic: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    run(topic, [HostileProxy(broker.bootstrap, harm, seed=1) for harm in HARMS[kind]], caplog)


@pytest.mark.parametrize("kind", HARMS)
def test_clients_live_through_a_server_that_harms_one_answer_in_three_later_on(
    broker: Any, topic: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    proxies = [HostileProxy(broker.bootstrap, harm, seed=2, spared=2, share=0.34) for harm in HARMS[kind]]
    run(topic, proxies, caplog)


def test_bits_that_flip_in_any_answer_of_many_harm_only_those_who_asked(
    broker: Any, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    proxies = [
        HostileProxy(broker.bootstrap, proxy.flip_bits, seed=seed, spared=seed % 5, share=0.2)
        for seed in range(10, 20)
    ]
    run(topic, proxies, caplog)


def test_clients_live_through_a_server_that_sends_a_byte_at_a_time_and_hangs_up(
    broker: Any, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    proxies = [
        HostileProxy(
            broker.bootstrap,
            harm,
            seed=3,
            spared=spared,
            share=0.5,
            dribble_seconds=0.01,
            closes=True,
        )
        for harm, spared in [(proxy.cut_short, 0), (proxy.flip_bits, 2)]
    ]
    run(topic, proxies, caplog)
