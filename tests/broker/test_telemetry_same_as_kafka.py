"""The same requests for client telemetry (KIP-714) to Apache Kafka and to the embedded broker: the same
answers, but for ids.

That Kafka has a plugin for telemetry, without which it does not offer it.
"""

from __future__ import annotations

import asyncio
import base64
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.telemetry_receiver import CLIENT_METRICS, DELETE, SET, Receiver
from tests.waiting import Patience

from barnabas import _kernel
from barnabas.net.connection import Connection
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest
from barnabas.testing import EmbeddedBroker

TIMEOUT_MS = 30_000
NOBODY = uuid.UUID(int=0)
UNCOMPRESSED, GZIP, UNKNOWN_CODEC = 0, 1, 9
MAX_BYTES = 1 << 20
TELEMETRY_APIS = (71, 72)


class Session:
    """One broker, and what it answered, without what may differ: ids."""

    def __init__(self, bootstrap: str, run: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._address = host, int(port)
        self.run = run
        self.told: list[Any] = []
        self._connections: list[Connection] = []
        self._subscriptions: set[str] = set()

    async def client(self, name: str) -> Connection:
        connection = await Connection.open(*self._address, client_id=f"{self.run}-{name}")
        self._connections.append(connection)
        return connection

    async def close(self) -> None:
        for name in sorted(self._subscriptions):
            await self.subscribe(name, metrics=None, interval_ms=None, match=None)
        for connection in self._connections:
            connection.close()

    async def subscribe(self, name: str, **settings: str | None) -> None:
        configs = [
            IncrementalAlterConfigsRequest.AlterableConfig(
                key.replace("_", "."), DELETE if value is None else SET, value
            )
            for key, value in settings.items()
        ]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
            CLIENT_METRICS, f"{self.run}-{name}", configs
        )
        request = IncrementalAlterConfigsRequest([resource])
        operator = await self.client("operator")
        answer = await operator.submit(request, timeout_ms=TIMEOUT_MS)
        assert answer.responses[0].error_code == 0
        self._subscriptions.add(name)

    async def get(self, client: Connection, instance_id: uuid.UUID = NOBODY) -> Any:
        answer = await client.submit(
            GetTelemetrySubscriptionsRequest(client_instance_id=instance_id), timeout_ms=TIMEOUT_MS
        )
        self.told.append(
            (
                *("get", answer.error_code, answer.throttle_time_ms, sorted(answer.requested_metrics)),
                *(answer.push_interval_ms, answer.accepted_compression_types, answer.telemetry_max_bytes),
                *(answer.delta_temporality, answer.client_instance_id in (NOBODY, instance_id)),
            )
        )
        return answer

    async def get_once(
        self, client: Connection, interval_ms: int, *metrics: str, instance_id: uuid.UUID | None = None
    ) -> Any:
        """The answer once the broker has heard of the subscription; by a new instance each time."""
        patience = Patience()
        while True:
            known, asking = len(self.told), uuid.uuid4() if instance_id is None else instance_id
            answer = await self.get(client, asking)
            if (answer.push_interval_ms, sorted(answer.requested_metrics)) == (interval_ms, sorted(metrics)):
                return answer
            del self.told[known:]
            await patience.pause_async()

    async def push(
        self,
        client: Connection,
        subscribed: Any,
        metrics: bytes = b"",
        *,
        compression: int = UNCOMPRESSED,
        terminating: bool = False,
        subscription_id: int | None = None,
    ) -> int:
        request = PushTelemetryRequest(
            client_instance_id=subscribed.client_instance_id,
            subscription_id=subscribed.subscription_id if subscription_id is None else subscription_id,
            terminating=terminating,
            compression_type=compression,
            metrics=metrics,
        )
        answer = await client.submit(request, timeout_ms=TIMEOUT_MS)
        self.told.append(("push", answer.error_code, answer.throttle_time_ms))
        return answer.error_code


Scenario = Callable[[Session], Awaitable[None]]


async def clients_are_asked_for_what_subscriptions_match_them(on: Session) -> None:
    await on.subscribe("one", metrics="org.apache.,x", interval_ms="60000", match=f"client_id={on.run}-(a|b)")
    a, b, c = [await on.client(name) for name in "abc"]
    await on.get_once(a, 60_000, "org.apache.", "x")
    await on.get(b)
    await on.get(c)
    await on.subscribe("two", metrics="y,x", interval_ms="30000", match=f"client_id={on.run}-b")
    await on.get_once(b, 30_000, "org.apache.", "x", "y")
    await on.get(a)
    await on.subscribe("three", metrics="*", match=f"client_id={on.run}-b")
    await on.get_once(b, 30_000, "*")
    await on.get(b)
    await on.subscribe("four", metrics="", interval_ms="3600000", match=f"client_id={on.run}-c")
    await on.subscribe("five", interval_ms="1000", match=f"client_id={on.run}-c")
    await on.get_once(c, 1_000)


async def subscriptions_match_by_each_thing_that_is_known_of_a_client(on: Session) -> None:
    own_id = uuid.uuid4()
    text = base64.urlsafe_b64encode(own_id.bytes).decode().rstrip("=")
    for interval_ms, also in (
        ("1000", f"client_instance_id={text}"),
        ("1001", "client_software_name=barnabas,client_software_version=[0-9].*"),
        ("1002", "client_source_address=127[.].*,client_source_port=[0-9]+"),
    ):
        match = f"client_id={on.run}-a,{also}"
        await on.subscribe("one", metrics="x", interval_ms=interval_ms, match=match)
        await on.get_once(await on.client("a"), int(interval_ms), "x", instance_id=own_id)
    # All of it has to match, and all of each.
    never = f"client_id={on.run}-a,client_source_address=127"
    await on.subscribe("two", metrics="y", match=never)
    await on.subscribe("three", metrics="z", match=f"client_id={on.run}-b")
    await on.get_once(await on.client("b"), 300_000, "z")
    await on.get(await on.client("a"))


async def asking_or_pushing_too_soon_is_throttled(on: Session) -> None:
    await on.subscribe("one", metrics="x", interval_ms="600000", match=f"client_id={on.run}-a")
    client = await on.client("a")
    subscribed = await on.get_once(client, 300_000, "x")
    own_id = subscribed.client_instance_id
    await on.get(client, own_id)
    await on.push(client, subscribed, b"first")
    await on.push(client, subscribed, b"second")
    await on.get(client, own_id)
    await on.push(client, subscribed, b"last", terminating=True)
    await on.push(client, subscribed, b"more", terminating=True)
    await on.push(client, subscribed, b"more")
    await on.push(client, subscribed, b"more")
    await on.get(client, own_id)
    # A subscription that changed is told at once.
    await on.subscribe("one", metrics="y")
    changed = await on.get_once(client, 300_000, "y", instance_id=own_id)
    on.told.append(changed.subscription_id != subscribed.subscription_id)
    await on.push(client, subscribed, b"old")
    await on.push(client, changed, b"new")
    await on.get(client, own_id)


async def a_short_interval_passes(on: Session) -> None:
    await on.subscribe("one", metrics="x", interval_ms="100", match=f"client_id={on.run}-a")
    client = await on.client("a")
    subscribed = await on.get_once(client, 100, "x")
    await on.push(client, subscribed, b"first")
    known = len(on.told)
    while await on.push(client, subscribed, b"next"):
        pass
    del on.told[known:-1]


async def what_is_pushed_is_judged(on: Session) -> None:
    await on.subscribe("one", metrics="x", match=f"client_id={on.run}-a")
    client = await on.client("a")

    async def pushed(metrics: bytes, **options: Any) -> Any:
        subscribed = await on.get_once(client, 300_000, "x")
        await on.push(client, subscribed, metrics, **options)
        return subscribed

    for compression, codec in enumerate(("gzip", "snappy", "lz4", "zstd"), start=1):
        await pushed(_kernel.compress(codec, b"metrics"), compression=compression)
        await pushed(b"not compressed", compression=compression)
        await pushed(b"", compression=compression)
    await pushed(b"")
    await pushed(b"x", compression=UNKNOWN_CODEC)
    await pushed(b"x", compression=-1)
    await pushed(bytes(MAX_BYTES))
    await pushed(bytes(MAX_BYTES + 1))
    await pushed(bytes(MAX_BYTES + 1), compression=UNKNOWN_CODEC)
    await pushed(bytes(MAX_BYTES + 1), compression=UNKNOWN_CODEC, subscription_id=1)
    subscribed = await pushed(b"x", subscription_id=1)
    await on.push(client, subscribed, b"x")
    await on.get(client, subscribed.client_instance_id)
    for reserved in (0, 1):
        subscribed.client_instance_id = uuid.UUID(int=reserved)
        await on.push(client, subscribed)
    # It has never asked what is wanted.
    subscribed.client_instance_id = uuid.uuid4()
    await on.push(client, subscribed)


async def a_client_is_known_as_long_as_its_connection_lasts(on: Session) -> None:
    await on.subscribe("one", metrics="x", match=f"client_id={on.run}-a")
    client, other = await on.client("a"), await on.client("a")
    subscribed = await on.get_once(client, 300_000, "x")
    again = await on.get(other, subscribed.client_instance_id)
    await on.push(other, subscribed, b"x")
    client.close()
    known = len(on.told)
    while again.error_code:
        again = await on.get(other, subscribed.client_instance_id)
    del on.told[known:-1]
    on.told.append(again.subscription_id == subscribed.subscription_id)


SCENARIOS: tuple[Scenario, ...] = (
    clients_are_asked_for_what_subscriptions_match_them,
    subscriptions_match_by_each_thing_that_is_known_of_a_client,
    asking_or_pushing_too_soon_is_throttled,
    a_short_interval_passes,
    what_is_pushed_is_judged,
    a_client_is_known_as_long_as_its_connection_lasts,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_answers_are_kafkas(
    telemetry_receiver: Receiver, embedded_broker: EmbeddedBroker, scenario: Scenario
) -> None:
    async def play(bootstrap: str) -> list[Any]:
        session = Session(bootstrap, f"r{uuid.uuid4().hex}")
        try:
            await scenario(session)
        finally:
            await session.close()
        return session.told

    theirs = asyncio.run(play(telemetry_receiver.bootstrap))
    ours = asyncio.run(play(embedded_broker.bootstrap))
    for their, our in zip(theirs, ours, strict=True):
        assert our == their


def test_telemetry_is_offered_while_there_is_a_subscription(embedded_broker: EmbeddedBroker) -> None:
    async def offered(on: Session) -> set[int]:
        client = await on.client("a")
        answer = await client.submit(ApiVersionsRequest("test", "1"), timeout_ms=TIMEOUT_MS)
        return {each.api_key for each in answer.api_keys}

    async def main() -> None:
        session = Session(embedded_broker.bootstrap, f"r{uuid.uuid4().hex}")
        assert not await offered(session) & {*TELEMETRY_APIS}
        await session.subscribe("one", metrics="x")
        assert await offered(session) >= {*TELEMETRY_APIS}
        await session.close()
        session = Session(embedded_broker.bootstrap, "after")
        assert not await offered(session) & {*TELEMETRY_APIS}
        await session.close()

    asyncio.run(main())
