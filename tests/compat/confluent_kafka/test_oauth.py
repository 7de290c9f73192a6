"""Tokens of an `oauth_cb`: what the original does not do, or not so soon. Else see the differential suite."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.security.secure_kafka import unsecured_token

from barnabas.compat import confluent_kafka, mapr_streams_python
from barnabas.compat.confluent_kafka.admin import AdminClient, NewTopic
from barnabas.compat.confluent_kafka.aio import AIOConsumer, AIOProducer
from barnabas.testing import ApacheKafka, SecureListeners

NOBODY = {
    "bootstrap.servers": "127.0.0.1:1",
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
}
LIFE_SECONDS = 3.0

MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "Producer": confluent_kafka.Producer,
    "Consumer": lambda conf: confluent_kafka.Consumer({**conf, "group.id": "g"}),
    "AdminClient": AdminClient,
    "mapr Producer": mapr_streams_python.Producer,
    "mapr Consumer": lambda conf: mapr_streams_python.Consumer({**conf, "group.id": "g"}),
}


class Tokens:
    """An `oauth_cb`, and the times at which it was asked. Calls from number `failing_from` on fail."""

    def __init__(self, seconds: float = LIFE_SECONDS, failing_from: int = 10**9, error: Any = None) -> None:
        self.asked: list[float] = []
        self._seconds = seconds
        self._failing_from = failing_from
        self._error = error or RuntimeError("no token")

    def __call__(self, _config: str | None) -> tuple[str, float]:
        self.asked.append(time.monotonic())
        if len(self.asked) >= self._failing_from:
            raise self._error
        return unsecured_token("admin", self._seconds), time.time() + self._seconds

    async def later(self, config: str | None) -> tuple[str, float]:
        await asyncio.sleep(0)
        return self(config)


@pytest.fixture(scope="module")
def kafka() -> Iterator[ApacheKafka]:
    with ApacheKafka(security=SecureListeners()) as started:
        yield started


@pytest.fixture
def conf(kafka: ApacheKafka) -> dict[str, Any]:
    return {**NOBODY, "bootstrap.servers": kafka.bootstrap_for("SASL_PLAINTEXT")}


def ended(client: Any) -> None:
    if hasattr(client, "close"):
        client.close()


@pytest.mark.parametrize("kind", MAKERS)
def test_a_token_is_replaced_before_it_ends_though_no_broker_was_ever_reached(
    kind: str, eventually: Callable[..., Any]
) -> None:
    tokens = Tokens()
    client = MAKERS[kind]({**NOBODY, "oauth_cb": tokens})
    eventually(lambda: len(tokens.asked) >= 3)
    first, second, third = tokens.asked[:3]
    # A machine that stands still delays one of them.
    assert min(second - first, third - second) < LIFE_SECONDS
    ended(client)


@pytest.mark.parametrize("kind", ["Producer", "Consumer"])
@pytest.mark.parametrize("error", [RuntimeError("no token"), SystemExit(1), KeyboardInterrupt()], ids=repr)
def test_a_refresh_that_fails_is_tried_again_every_second(
    kind: str, error: BaseException, eventually: Callable[..., Any]
) -> None:
    tokens = Tokens(1, failing_from=2, error=error)
    client = MAKERS[kind]({**NOBODY, "oauth_cb": tokens})
    eventually(lambda: len(tokens.asked) >= 5)
    gaps = [after - before for before, after in zip(tokens.asked[1:], tokens.asked[2:], strict=False)]
    assert min(gaps) >= 0.9
    ended(client)


def test_a_closed_client_asks_for_no_token() -> None:
    tokens = Tokens(1)
    for make in MAKERS.values():
        ended(make({**NOBODY, "oauth_cb": tokens}))
    gc.collect()
    asked = len(tokens.asked)
    time.sleep(2.5)
    assert len(tokens.asked) == asked


def test_a_token_that_has_not_ended_is_used_while_the_next_one_is_not_to_be_had(
    conf: dict[str, Any], eventually: Callable[..., Any]
) -> None:
    tokens = Tokens(10, failing_from=2)
    errors: list[Any] = []
    producer = confluent_kafka.Producer({**conf, "oauth_cb": tokens, "error_cb": errors.append})
    eventually(lambda: len(tokens.asked) >= 2)
    # A connection of its own asks for the token in hand.
    assert producer.list_topics(timeout=30).brokers
    producer.poll(0)
    assert [error.str() for error in errors] == [
        "Failed to acquire SASL OAUTHBEARER token: OAuth callback raised exception"
    ]
    producer.close()


def test_a_return_of_another_kind_is_told_of_and_tried_again(eventually: Callable[..., Any]) -> None:
    """The original never asks again."""
    asked: list[None] = []

    def oauth_cb(_config: str | None) -> Any:
        asked.append(None)
        return ("token", time.time() + 1) if len(asked) == 1 else "token"

    errors: list[Any] = []
    conf = {**NOBODY, "oauth_cb": oauth_cb, "error_cb": errors.append}
    with confluent_kafka.Producer(conf) as producer:
        eventually(lambda: producer.poll(0.05) and len(asked) >= 4)
    failed = [error for error in errors if error.code() == confluent_kafka.KafkaError._AUTHENTICATION]
    assert [error.str() for error in failed] == [
        "Failed to acquire SASL OAUTHBEARER token: "
        "expect (token_str, expiry_time) or (token_str, expiry_time, principal, extensions)"
    ]


class TestAsyncio:
    """The clients are made on a running event loop."""

    @pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
    def test_clients_are_ready_at_once_and_get_in(
        self, conf: dict[str, Any], is_async: bool, topic_of: Callable[[], str]
    ) -> None:
        tokens = Tokens(3600)
        asked = tokens.later if is_async else tokens

        async def main() -> None:
            begun = time.monotonic()
            producer = AIOProducer({**conf, "oauth_cb": asked})
            consumer = AIOConsumer(
                {**conf, "group.id": topic, "auto.offset.reset": "earliest", "oauth_cb": asked}
            )
            # One that waited for the loop that it holds up would give up after ten.
            assert time.monotonic() - begun < 9
            message = await (await producer.produce(topic, b"v"))
            assert message.error() is None
            await consumer.subscribe([topic])
            read = await consumer.poll(30)
            assert read is not None
            assert read.value() == b"v"
            await consumer.close()
            await producer.close()
            assert len(tokens.asked) == 2

        topic = topic_of()
        asyncio.run(asyncio.wait_for(main(), 60))

    def test_a_coroutine_runs_on_the_loop_each_time(self) -> None:
        where: list[Any] = []
        is_enough = asyncio.Event()

        async def oauth_cb(_config: str | None) -> tuple[str, float]:
            where.append((asyncio.get_running_loop(), threading.get_ident()))
            if len(where) == 3:
                is_enough.set()
            return "token", time.time() + 1

        async def main() -> None:
            producer = AIOProducer({**NOBODY, "oauth_cb": oauth_cb})
            await is_enough.wait()
            assert set(where) == {(asyncio.get_running_loop(), threading.get_ident())}
            await producer.close()

        asyncio.run(asyncio.wait_for(main(), 30))

    def test_a_coroutine_that_fails_is_told_of_and_asked_again(self) -> None:
        tokens = Tokens(failing_from=1)
        told: list[str] = []

        async def error_cb(error: Any) -> None:
            if error.code() == confluent_kafka.KafkaError._AUTHENTICATION:
                told.append(error.str())

        async def main() -> None:
            producer = AIOProducer({**NOBODY, "oauth_cb": tokens.later, "error_cb": error_cb})
            while len(tokens.asked) < 3 or not told:
                await producer.poll(0.05)
            await producer.close()

        asyncio.run(asyncio.wait_for(main(), 30))
        assert told == ["Failed to acquire SASL OAUTHBEARER token: OAuth callback raised exception"]

    @pytest.mark.filterwarnings("error")
    def test_a_client_that_outlives_its_loop_is_not_asked_any_more(self) -> None:
        tokens = Tokens(1)
        kept: list[Any] = []

        async def main() -> None:
            is_asked = asyncio.Event()

            async def oauth_cb(config: str | None) -> tuple[str, float]:
                is_asked.set()
                return tokens(config)

            kept.append(AIOProducer({**NOBODY, "oauth_cb": oauth_cb}))
            await is_asked.wait()

        asyncio.run(main())
        asked = len(tokens.asked)
        time.sleep(2)
        assert len(tokens.asked) == asked
        kept.pop()._producer.close()


@pytest.fixture
def topic_of(kafka: ApacheKafka) -> Callable[[], str]:
    def create() -> str:
        name = f"oauth-{time.monotonic_ns()}"
        admin = AdminClient(
            {
                "bootstrap.servers": kafka.bootstrap_for("SASL_PLAINTEXT"),
                "security.protocol": "sasl_plaintext",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "admin",
                "sasl.password": "admin-secret",
            }
        )
        futures: dict[str, concurrent.futures.Future[None]] = admin.create_topics([NewTopic(name, 1)])
        futures[name].result(30)
        return name

    return create
