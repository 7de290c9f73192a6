"""A topic's settings on Apache Kafka and on the embedded broker: the same names, types and defaults, and the
same values are refused in the same words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import Admin, NewTopic
from barnabas.net.connection import Connection
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

TIMEOUT_MS = 30_000
TOPIC, SET = 2, 0
DEFAULT = 5
NAME = "topic-settings"
VALUES = (
    "",
    " ",
    "x",
    "-1",
    "0",
    "1",
    "1.5",
    "-3",
    "99",
    "1048575",
    "-2147483649",
    "3000000000",
    "true",
    "yes",
)
WORDS = (
    "compact",
    "delete",
    "compact,delete",
    "compact,compact",
    "compact, x",
    "gzip",
    "1:2",
    "1:x",
    "*",
    "none",
)


class Session:
    """One broker, asked about the topic."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def described(self, *names: str) -> dict[str, tuple[Any, ...]]:
        """Each setting: what it is by default, its type, what may be done with it, where it comes from."""
        asked = DescribeConfigsRequest.DescribeConfigsResource(TOPIC, NAME, list(names) or None)
        request = DescribeConfigsRequest([asked], include_synonyms=True)
        [result] = (await self._connection.submit(request, timeout_ms=TIMEOUT_MS)).results
        return {
            config.name: (
                *(config.config_type, config.read_only, config.is_sensitive),
                None if config.synonyms else config.value,
                [(each.name, each.value, each.source) for each in config.synonyms if each.source == DEFAULT],
            )
            for config in result.configs
        }

    async def told_of(self, *changes: tuple[str, str]) -> tuple[int, str | None]:
        """What would be said if the settings were made, which they are not."""
        configs = [
            IncrementalAlterConfigsRequest.AlterableConfig(name, SET, value) for name, value in changes
        ]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(TOPIC, NAME, configs)
        request = IncrementalAlterConfigsRequest([resource], validate_only=True)
        [result] = (await self._connection.submit(request, timeout_ms=TIMEOUT_MS)).responses
        return result.error_code, result.error_message


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def sessions(
    apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker, runner: asyncio.Runner
) -> Iterator[tuple[Session, Session]]:
    """Kafka's, then ours."""
    connections: list[Connection] = []
    for bootstrap in (apache_kafka.bootstrap, embedded_broker.bootstrap):
        with Admin(bootstrap) as admin:
            admin.create_topics([NewTopic(NAME, 1, 1)])
        host, _, port = bootstrap.rpartition(":")
        connections.append(runner.run(Connection.open(host, int(port), client_id="test")))
    theirs, ours = connections
    yield Session(theirs), Session(ours)
    for connection in connections:
        connection.close()


def test_names_types_and_defaults_are_kafkas(
    sessions: tuple[Session, Session], runner: asyncio.Runner
) -> None:
    kafka, embedded = sessions
    assert runner.run(embedded.described()) == runner.run(kafka.described())


def test_the_same_values_are_refused_in_the_same_words(
    sessions: tuple[Session, Session], runner: asyncio.Runner
) -> None:
    async def told(session: Session, names: list[str]) -> dict[tuple[str, str], Any]:
        return {
            (name, value): await session.told_of((name, value))
            for name in [*names, "internal.segment.bytes", "no.such.setting"]
            for value in VALUES + WORDS
        }

    kafka, embedded = sessions
    names = list(runner.run(kafka.described()))
    theirs, ours = runner.run(told(kafka, names)), runner.run(told(embedded, names))
    differing = {key: (theirs[key], ours[key]) for key in theirs if theirs[key] != ours[key]}
    assert not differing


COMBINED: tuple[tuple[tuple[str, str], ...], ...] = (
    (("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")),
    (("remote.storage.enable", "true"), ("cleanup.policy", "compact")),
    (("remote.storage.enable", "false"), ("local.retention.ms", "100"), ("retention.ms", "10")),
    (("local.retention.bytes", "100"), ("retention.bytes", "10")),
    (("segment.bytes", "1048576"), ("max.message.bytes", "2000000")),
    (("cleanup.policy", ""), ("remote.log.copy.disable", "true")),
    (("remote.log.delete.on.disable", "true"),),
    (("internal.segment.bytes", "1"),),
    (("compression.type", "zstd"), ("compression.gzip.level", "9"), ("compression.zstd.level", "-131072")),
)


@pytest.mark.parametrize("changes", COMBINED, ids=lambda changes: changes[0][0])
def test_settings_are_held_against_each_other_as_kafka_does(
    sessions: tuple[Session, Session], runner: asyncio.Runner, changes: tuple[tuple[str, str], ...]
) -> None:
    kafka, embedded = sessions
    assert runner.run(embedded.told_of(*changes)) == runner.run(kafka.told_of(*changes))
