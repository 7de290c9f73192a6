"""A broker's settings on Apache Kafka and on the embedded broker, started with the same ones: the same names,
types, defaults and texts, and the same changes are taken, or refused in the same words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.waiting import wait_for_async

from barnabas.broker.configs.broker_meanings import BEGINS_WITH
from barnabas.net.connection import Connection
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

TIMEOUT_MS = 30_000
BROKER = 4
SET, DELETE, APPEND, SUBTRACT = range(4)
STATIC = 4
NODE, ALL = "1", ""
OF_THE_MACHINE = ("advertised.listeners", "listeners", "log.dirs")
"""They differ, since the brokers are two, and since the embedded one has no listener for a controller. All
else that differs in what is described is `BEGINS_WITH`."""
WITHOUT_DEFAULT = ("controller.listener.names", "process.roles")
"""Kafka answers with an unknown error where words are added to them or taken away."""
VALUES = ("", " ", "x", "-1", "0", "1", "1.5", "-3", "1048576", "3000000000", "TRUE", "a,a", "none")
OTHERS = (
    *("no.such.setting", "super.users", "follower.replication.throttled.rate"),
    "share.coordinator.state.topic.prune.interval.ms",
    *(
        f"listener.name.{name}"
        for name in (
            *("plaintext.ssl.keystore.location", "plaintext.max.connections", "plaintext.ssl.client.auth"),
            *("foo.sasl.enabled.mechanisms", "plaintext.plain.sasl.jaas.config", "plaintext.num.partitions"),
            *("plaintext.no.such", "plaintext.max.connection.creation.rate", "foo.max.connections"),
            *("plaintext.connections.max.reauth.ms", "plaintext.num.network.threads"),
        )
    ),
)


class Described(NamedTuple):
    value: str | None
    source: int
    type: int
    is_read_only: bool
    is_secret: bool
    synonyms: list[tuple[str, str | None, int]]
    documentation: str | None


class Session:
    """One broker, asked about its settings."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def _send(self, request: Any) -> Any:
        return await self._connection.submit(request, timeout_ms=TIMEOUT_MS)

    async def described(self, where: str, *names: str, with_all: bool = True) -> dict[str, Described]:
        asked = DescribeConfigsRequest.DescribeConfigsResource(BROKER, where, list(names) or None)
        request = DescribeConfigsRequest([asked], include_synonyms=with_all, include_documentation=with_all)
        [result] = (await self._send(request)).results
        if result.error_code:
            return {result.error_message: Described(None, result.error_code, 0, False, False, [], None)}
        return {
            config.name: Described(
                *(config.value, config.config_source, config.config_type),
                *(config.read_only, config.is_sensitive),
                [(each.name, each.value, each.source) for each in config.synonyms],
                config.documentation,
            )
            for config in result.configs
        }

    async def change(
        self, where: str, *changes: tuple[str, int, str | None], only_check: bool = True
    ) -> tuple[int, str | None]:
        configs = [IncrementalAlterConfigsRequest.AlterableConfig(*each) for each in changes]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(BROKER, where, configs)
        request = IncrementalAlterConfigsRequest([resource], validate_only=only_check)
        [result] = (await self._send(request)).responses
        return result.error_code, _sorted(result.error_message)

    async def replace(
        self, where: str, settings: dict[str, str | None], *, only_check: bool = True
    ) -> tuple[int, str | None]:
        configs = [AlterConfigsRequest.AlterableConfig(*each) for each in settings.items()]
        resource = AlterConfigsRequest.AlterConfigsResource(BROKER, where, configs)
        [result] = (await self._send(AlterConfigsRequest([resource], validate_only=only_check))).responses
        return result.error_code, _sorted(result.error_message)


def _sorted(message: str | None) -> str | None:
    """Kafka lists names in whichever order."""
    if message is None or not message.startswith(("Cannot update", "These security")):
        return message
    words, _, names = message.partition("[")
    return f"{words}{sorted(names.removesuffix(']').split(', '))}"


class Brokers(NamedTuple):
    kafka: Session
    embedded: Session


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def brokers(apache_kafka: ApacheKafka, runner: asyncio.Runner) -> Iterator[Brokers]:
    connections: list[Connection] = []

    def session(bootstrap: str) -> Session:
        host, _, port = bootstrap.rpartition(":")
        connections.append(runner.run(Connection.open(host, int(port), client_id="test")))
        return Session(connections[-1])

    kafka = session(apache_kafka.bootstrap)
    given = {
        name: found.value
        for name, found in runner.run(kafka.described(NODE)).items()
        if found.source == STATIC and name not in OF_THE_MACHINE and found.value is not None
    }
    with EmbeddedBroker(config=given) as broker:
        yield Brokers(kafka, session(broker.bootstrap))
        for connection in connections:
            connection.close()


def without_own(name: str, described: Described) -> Described:
    """Of settings with which the embedded broker begins otherwise, what they are but for that."""
    if name not in (*BEGINS_WITH, *OF_THE_MACHINE):
        return described
    defaults = [each for each in described.synonyms if each[2] != STATIC]
    return described._replace(value=None, source=STATIC, synonyms=defaults)


@pytest.mark.parametrize("with_all", [True, False], ids=["with-synonyms-and-texts", "without"])
def test_all_settings_are_described_as_kafkas_are(
    brokers: Brokers, runner: asyncio.Runner, with_all: bool
) -> None:
    for where in (NODE, ALL):
        theirs = runner.run(brokers.kafka.described(where, with_all=with_all))
        ours = runner.run(brokers.embedded.described(where, with_all=with_all))
        assert ours.keys() == theirs.keys()
        differing = {
            name: (theirs[name], ours[name])
            for name in theirs
            if without_own(name, ours[name]) != without_own(name, theirs[name])
        }
        assert not differing


def test_kafka_lists_this_many(brokers: Brokers, runner: asyncio.Runner) -> None:
    """340, and one of Kafka's own for tests that it is started with."""
    assert len(runner.run(brokers.embedded.described(NODE))) == 341


def test_what_cannot_be_changed_is_named(brokers: Brokers, runner: asyncio.Runner) -> None:
    described = runner.run(brokers.kafka.described(NODE))
    fixed = [(name, SET, "1") for name, found in described.items() if found.is_read_only]
    secrets = [(name, SET, "1") for name in described if name.startswith(("ssl.key", "ssl.trust"))]
    for where in (NODE, ALL):
        for changes in (fixed, secrets, [(name, DELETE, None) for name, _, _ in fixed]):
            theirs = runner.run(brokers.kafka.change(where, *changes))
            assert runner.run(brokers.embedded.change(where, *changes)) == theirs


def test_the_same_values_are_refused_in_the_same_words(brokers: Brokers, runner: asyncio.Runner) -> None:
    async def told(session: Session, names: list[str]) -> dict[Any, Any]:
        asked = [(NODE, name, SET, value) for name in names for value in VALUES]
        asked += [(ALL, name, SET, value) for name in names for value in VALUES[:6:2]]
        asked += [(where, name, DELETE, None) for name in names for where in (NODE, ALL)]
        asked += [(NODE, name, operation, "x") for name in names for operation in (APPEND, SUBTRACT)]
        return {(where, *change): await session.change(where, tuple(change)) for where, *change in asked}

    described = runner.run(brokers.kafka.described(NODE))
    names = [name for name, found in described.items() if not found.is_read_only]
    theirs = runner.run(told(brokers.kafka, [*names, *OTHERS]))
    ours = runner.run(told(brokers.embedded, [*names, *OTHERS]))
    differing = {
        asked: (theirs[asked], ours[asked])
        for asked in theirs
        if theirs[asked] != ours[asked]
        if asked[1] not in ("listeners", "listener.security.protocol.map")
    }
    assert not differing


def test_words_are_added_to_lists_alone(brokers: Brokers, runner: asyncio.Runner) -> None:
    described = runner.run(brokers.kafka.described(NODE))
    fixed = [name for name, found in described.items() if found.is_read_only and name not in WITHOUT_DEFAULT]

    async def told(session: Session) -> list[Any]:
        return [await session.change(NODE, (name, APPEND, "x")) for name in fixed]

    assert runner.run(told(brokers.embedded)) == runner.run(told(brokers.kafka))


HELD_AGAINST_EACH_OTHER: tuple[tuple[str, dict[str, str | None]], ...] = (
    (NODE, {"log.retention.ms": "1000", "log.local.retention.ms": "5000"}),
    (NODE, {"log.retention.bytes": "1000", "log.local.retention.bytes": "5000"}),
    (NODE, {"log.retention.bytes": "1000", "log.local.retention.bytes": "-1"}),
    (NODE, {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"}),
    (NODE, {"log.cleaner.threads": "9", "log.cleaner.dedupe.buffer.size": "134217728"}),
    (NODE, {"listener.name.plaintext.sasl.jaas.config": "x", "max.connections": "50"}),
    (NODE, {"listener.name.plaintext.sasl.jaas.config": "x"}),
    (NODE, {"listener.name.foo.sasl.jaas.config": "x", "max.connections": "50"}),
    (NODE, {"metric.reporters": "org.apache.kafka.common.metrics.JmxReporter"}),
    (NODE, {"principal.builder.class": "org.apache.kafka.no.such"}),
    (NODE, {"listener.security.protocol.map": ":"}),
    (NODE, {"listener.security.protocol.map": "SSL:FOO"}),
    (NODE, {"listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT"}),
    (NODE, {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,EXTRA:SSL"}),
    (NODE, {"listeners": "PLAINTEXT"}),
    (NODE, {"min.insync.replicas": "2"}),
    (ALL, {"min.insync.replicas": "2"}),
    (ALL, {"min.insync.replicas": "2", "ssl.protocol": "x", "listeners": "y"}),
    (ALL, {}),
    (NODE, {}),
    (NODE, {"log.retention.ms": None}),
    ("2", {"log.retention.ms": "1"}),
    ("x", {"log.retention.ms": "1"}),
    *(
        (NODE, {"max.connections.per.ip.overrides": words})
        for words in ("a:x", "[::1]:4", "a:1,b", " a:1 , ", ":5", "a:-1")
    ),
)


@pytest.mark.parametrize(("where", "settings"), HELD_AGAINST_EACH_OTHER, ids=str)
def test_settings_are_held_against_each_other_as_kafka_does(
    brokers: Brokers, runner: asyncio.Runner, where: str, settings: dict[str, str | None]
) -> None:
    async def told(session: Session) -> list[Any]:
        return [
            await session.replace(where, settings),
            await session.change(where, *((name, SET, value) for name, value in settings.items())),
            await session.described(where, "log.dir"),
        ]

    assert runner.run(told(brokers.embedded)) == runner.run(told(brokers.kafka))


OWN = {
    "listener.name.foo.bar": "x",
    "listener.name.foo.sasl.jaas.config": "x",
    "log.retention.ms": "600000000",
    "log.cleanup.policy": "delete, compact",
    "no.such.setting": "x",
    "unclean.leader.election.enable": "FALSE",
    "follower.replication.throttled.rate": "5",
}
OF_ALL = {"log.roll.ms": "500000000", "no.such.either": "x", "background.threads": "3"}


async def changed(session: Session) -> list[Any]:
    """What is told of settings that were changed of one broker and of all, and were given back."""

    async def arrived(where: str, name: str, value: str | None) -> bool:
        found = await session.described(where, name)
        return (found[name].synonyms[0][2] if found and found[name].synonyms else None) == value

    names = [*OWN, *OF_ALL, "log.roll.hours", "log.retention.hours"]
    told: list[Any] = []
    own = [(name, SET, value) for name, value in OWN.items()]
    of_all = [(name, SET, value) for name, value in OF_ALL.items()]
    told.append(await session.change(NODE, *own, only_check=False))
    told.append(await session.change(ALL, *of_all, only_check=False))
    await wait_for_async(lambda: arrived(NODE, "log.retention.ms", 2))
    await wait_for_async(lambda: arrived(NODE, "log.roll.ms", 3))
    told += [await session.described(where, *names) for where in (NODE, ALL)]
    told.append(await session.replace(NODE, {}, only_check=False))
    back = [(name, DELETE, None) for name in OF_ALL]
    told.append(await session.change(ALL, *back, only_check=False))
    await wait_for_async(lambda: arrived(NODE, "log.retention.ms", None))
    await wait_for_async(lambda: arrived(NODE, "log.roll.ms", None))
    told += [await session.described(where, *names) for where in (NODE, ALL)]
    return told


def test_changes_are_told_of_as_kafka_does(brokers: Brokers, runner: asyncio.Runner) -> None:
    theirs, ours = runner.run(changed(brokers.kafka)), runner.run(changed(brokers.embedded))
    for their, our in zip(theirs, ours, strict=True):
        assert our == their
