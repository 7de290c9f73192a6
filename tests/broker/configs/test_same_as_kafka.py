"""The same configuration requests to Apache Kafka and to the embedded broker, about groups, clients' metrics
and loggers: the answers say the same.

What differs on purpose: which loggers there are, how often heartbeats are to come, and how long a new Streams
group waits for more members.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas.net.connection import Connection
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

TIMEOUT_MS = 30_000
LOGGER, METRICS, GROUP, NOTHING = 8, 16, 32, 64
SET, DELETE, APPEND, SUBTRACT = range(4)
STATIC, DEFAULT = 4, 5
DIFFER = ("assignment.interval.ms", "heartbeat.interval.ms", "streams.initial.rebalance.delay.ms")
OURS = "named-by-the-test"
"""Of a group, and of a subscription."""
API, ROOT = "kafka.server.KafkaApis", "root"


class Session:
    """One broker, and what it answered."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.told: list[Any] = []

    async def send(self, request: Any) -> Any:
        return await self.connection.submit(request, timeout_ms=TIMEOUT_MS)

    async def change(self, kind: int, name: str, *changes: tuple[str, int, str | None]) -> None:
        configs = [IncrementalAlterConfigsRequest.AlterableConfig(*each) for each in changes]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, configs)
        await self._tell(IncrementalAlterConfigsRequest([resource]), kind, name, *changes)

    async def check(self, kind: int, name: str, *changes: tuple[str, int, str | None]) -> None:
        configs = [IncrementalAlterConfigsRequest.AlterableConfig(*each) for each in changes]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, configs)
        await self._tell(IncrementalAlterConfigsRequest([resource], validate_only=True), kind, name, *changes)

    async def replace(self, kind: int, name: str, **settings: str) -> None:
        configs = [
            AlterConfigsRequest.AlterableConfig(key.replace("_", "."), value)
            for key, value in settings.items()
        ]
        resource = AlterConfigsRequest.AlterConfigsResource(kind, name, configs)
        await self._tell(AlterConfigsRequest([resource]), kind, name, settings)

    async def _tell(self, request: Any, *asked: Any) -> None:
        result = (await self.send(request)).responses[0]
        self.told.append((*asked, result.error_code, result.error_message))

    async def describe(
        self, kind: int, name: str, *keys: str, until: Callable[[dict[str, str]], bool] = lambda _: True
    ) -> None:
        """What it says once it knows of a change: Kafka's controller answers before its brokers hear."""
        resource = DescribeConfigsRequest.DescribeConfigsResource(kind, name, list(keys) or None)
        patience = Patience()
        while True:
            request = DescribeConfigsRequest([resource], include_synonyms=True)
            result = (await self.send(request)).results[0]
            if until({config.name: config.value for config in result.configs}):
                break
            await patience.pause_async()
        configs = sorted(
            (
                config.name,
                None if config.name.endswith(DIFFER) else config.value,
                DEFAULT if config.config_source == STATIC else config.config_source,
                config.config_type,
                config.read_only,
                [
                    (synonym.name, synonym.value, synonym.source)
                    for synonym in config.synonyms
                    if not config.name.endswith(DIFFER)
                ],
            )
            for config in result.configs
        )
        self.told.append((kind, name, result.error_code, result.error_message, configs))

    async def names(self, *kinds: int, until: Callable[[list[str]], bool] = lambda _: True) -> None:
        """As `describe`: what describes a resource and what lists it hear of a change one by one."""
        patience = Patience()
        while True:
            answer = await self.send(ListConfigResourcesRequest(list(kinds)))
            found = sorted(
                (each.resource_type, each.resource_name)
                for each in answer.config_resources
                if each.resource_name in (OURS, "1")
            )
            if until([name for _, name in found]):
                break
            await patience.pause_async()
        self.told.append((answer.error_code, found))


Scenario = Callable[[Session], Awaitable[None]]


async def groups_have_settings(on: Session) -> None:
    await on.describe(GROUP, OURS)
    await on.change(GROUP, OURS, ("share.auto.offset.reset", SET, "earliest"))
    await on.describe(GROUP, OURS, until=lambda found: found["share.auto.offset.reset"] == "earliest")
    await on.names(GROUP, until=lambda names: OURS in names)
    lock = "share.record.lock.duration.ms"
    await on.change(GROUP, OURS, (lock, SET, "20000"), ("share.auto.offset.reset", DELETE, None))
    await on.check(GROUP, "other", ("share.auto.offset.reset", SET, "earliest"))
    await on.describe(GROUP, OURS, until=lambda found: found[lock] == "20000")
    await on.describe(GROUP, OURS, "share.auto.offset.reset", "unknown")
    await on.describe(GROUP, "")
    await on.names(GROUP)
    await on.replace(GROUP, OURS, consumer_session_timeout_ms="50000", share_isolation_level="read_committed")
    await on.describe(GROUP, OURS, until=lambda found: found["consumer.session.timeout.ms"] == "50000")
    await on.replace(GROUP, OURS)
    await on.describe(GROUP, OURS, until=lambda found: found["consumer.session.timeout.ms"] == "45000")
    await on.names(GROUP)


async def groups_settings_are_checked(on: Session) -> None:
    for reset in (
        "sometimes",
        "by_duration:PT1H",
        "by_duration:P1DT0.5S",
        "by_duration:-PT1H",
        "by_duration:P",
    ):
        await on.check(GROUP, OURS, ("share.auto.offset.reset", SET, reset))
    for name, *values in (
        ("share.isolation.level", "x"),
        ("share.renew.acknowledge.enable", "perhaps"),
        ("share.record.lock.duration.ms", "1", "1000", "70000", "x", None),
        ("share.delivery.count.limit", "1", "11"),
        ("share.partition.max.record.locks", "99", "4001"),
        ("share.session.timeout.ms", "1", "60001", "60000"),
        ("share.heartbeat.interval.ms", "0", "1", "60000"),
        ("consumer.session.timeout.ms", "1", "60001"),
        ("consumer.heartbeat.interval.ms", "1", "60000"),
        ("consumer.assignment.interval.ms", "-1", "60000"),
        ("streams.num.standby.replicas", "-1", "3"),
        ("streams.session.timeout.ms", "1"),
        ("streams.initial.rebalance.delay.ms", "-1"),
        ("no.such", "1"),
    ):
        for value in values:
            await on.check(GROUP, OURS, (name, SET, value))
    await on.check(GROUP, OURS, ("share.auto.offset.reset", APPEND, "earliest"))
    await on.check(GROUP, "", ("share.auto.offset.reset", SET, "earliest"))
    twice = ("share.auto.offset.reset", SET, "earliest")
    await on.check(GROUP, OURS, twice, twice)


async def clients_metrics_are_subscribed_to(on: Session) -> None:
    await on.describe(METRICS, OURS)
    await on.change(
        *(METRICS, OURS, ("metrics", SET, "org.apache.kafka.,x")),
        *(("interval.ms", SET, "1000"), ("match", SET, "client_id=a.*")),
    )
    await on.describe(METRICS, OURS, until=lambda found: found["interval.ms"] == "1000")
    await on.names(METRICS, until=lambda names: OURS in names)
    await on.names()
    for value in ("10", "3600001", "x"):
        await on.check(METRICS, OURS, ("interval.ms", SET, value))
    for value in ("nothing", "no=a", "client_id=("):
        await on.check(METRICS, OURS, ("match", SET, value))
    await on.check(METRICS, OURS, ("nothing", SET, "1"))
    await on.check(METRICS, OURS, ("metrics", APPEND, "y"))
    await on.check(METRICS, OURS, ("match", SUBTRACT, "client_id=a.*"))
    await on.check(METRICS, "", ("interval.ms", SET, "1000"))
    await on.describe(METRICS, "")
    await on.change(METRICS, OURS, ("metrics", DELETE, None), ("match", DELETE, None))
    await on.describe(METRICS, OURS, until=lambda found: not found["match"])
    await on.replace(METRICS, OURS)
    await on.describe(METRICS, OURS, until=lambda found: not found or found["interval.ms"] == "300000")
    await on.names(METRICS, until=lambda names: OURS not in names)


async def loggers_have_levels(on: Session) -> None:
    await on.change(LOGGER, "1", (ROOT, SET, "INFO"))
    await on.change(LOGGER, "1", (API, SET, "DEBUG"))
    await on.describe(LOGGER, "1", API, ROOT)
    await on.change(LOGGER, "1", (API, SET, "LOUD"))
    await on.change(LOGGER, "1", ("no.such.Logger", SET, "DEBUG"))
    await on.change(LOGGER, "1", (API, DELETE, ""))
    await on.describe(LOGGER, "1", API, ROOT)
    await on.change(LOGGER, "1", (ROOT, DELETE, ""))
    await on.change(LOGGER, "1", (ROOT, APPEND, "DEBUG"))
    for name in ("2", "", "x"):
        await on.change(LOGGER, name, (ROOT, SET, "DEBUG"))
        await on.describe(LOGGER, name)
    await on.replace(LOGGER, "1", root="DEBUG")
    await on.names(LOGGER)
    await on.change(NOTHING, "x", ("a", SET, "b"))


SCENARIOS: tuple[Scenario, ...] = (
    groups_have_settings,
    groups_settings_are_checked,
    clients_metrics_are_subscribed_to,
    loggers_have_levels,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_answers_are_kafkas(
    apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker, scenario: Scenario
) -> None:
    async def play(bootstrap: str) -> list[Any]:
        host, _, port = bootstrap.rpartition(":")
        session = Session(await Connection.open(host, int(port), client_id="test"))
        await scenario(session)
        session.connection.close()
        return session.told

    theirs, ours = asyncio.run(play(apache_kafka.bootstrap)), asyncio.run(play(embedded_broker.bootstrap))
    for their, our in zip(theirs, ours, strict=True):
        assert our == their
