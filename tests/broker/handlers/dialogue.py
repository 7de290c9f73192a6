"""One scenario of requests on Apache Kafka and on the embedded broker, and whole answers in words that are
the same for every broker: ids of topics are their names, and addresses are left out.

Lists are sorted, since the order of Kafka's is often that of a hash.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Set
from typing import Any

from tests.waiting import wait_for_async

from barnabas.broker_errors import ErrorCode
from barnabas.net.connection import Connection
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.schema import ZERO_UUID, MessageType, fields_of
from barnabas.testing import ApacheKafka, EmbeddedBroker

TIMEOUT_MS = 60_000
_NOW = re.compile(r"\[\d{13}, \d{13}\]")
OWN_WORDS = {"host", "port", "cluster_id", "configs"}
"""Addresses, and settings, which tests of their own compare."""


class Dialogue:
    """`said` is what was answered so far."""

    def __init__(self, connection: Connection, label: str) -> None:
        self._connection = connection
        self._label = label
        self._ids: dict[str, uuid.UUID] = {}
        self.said: list[Any] = []

    def name(self, word: str) -> str:
        """A name that no other test has."""
        return f"{word}-{self._label}"

    def id_of(self, topic: str) -> uuid.UUID:
        return self._ids[topic]

    async def ask(self, request: Any, version: int | None = None, *, but: str = "") -> None:
        """`but`: a field of the answer that is not compared."""
        answer = await self.send(request, version)
        self.said.append((type(request).NAME, version, self._words(answer, {*OWN_WORDS, but})))

    async def send(self, request: Any, version: int | None = None) -> Any:
        return await self._connection.submit(request, timeout_ms=TIMEOUT_MS, max_version=version)

    async def create_topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        topic = CreateTopicsRequest.CreatableTopic(
            name,
            partitions,
            1,
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(key.replace("_", "."), value)
                for key, value in configs.items()
            ],
        )
        answer = await self.send(CreateTopicsRequest(topics=[topic]))
        assert answer.topics[0].error_code == 0, answer.topics[0].error_message
        await self.until_there(name, partitions)

    async def until_there(self, name: str, partitions: int) -> None:
        """Kafka's brokers hear later of what the controller did."""

        async def is_so() -> bool:
            found = await self._metadata(name)
            self._ids[name] = found.topic_id
            return len(found.partitions) == partitions and all(
                partition.error_code == 0 for partition in found.partitions
            )

        await wait_for_async(is_so)

    async def until_gone(self, name: str) -> None:
        async def is_so() -> bool:
            return (await self._metadata(name)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

        await wait_for_async(is_so)

    async def _metadata(self, name: str) -> MetadataResponse.MetadataResponseTopic:
        asked = [MetadataRequest.MetadataRequestTopic(name=name)]
        return (await self.send(MetadataRequest(asked, allow_auto_topic_creation=False))).topics[0]

    def _words(self, value: Any, without: Set[str]) -> Any:
        if isinstance(value, list):
            return sorted((self._words(each, without) for each in value), key=str)
        if isinstance(type(value), MessageType):
            return {
                field.name: _error(getattr(value, field.name))
                if field.name.endswith("error_code")
                else self._words(getattr(value, field.name), without)
                for field in fields_of(type(value))
                if field.name not in without
            }
        if isinstance(value, uuid.UUID):
            names = {topic_id: name for name, topic_id in self._ids.items()}
            return names.get(value, "none" if value == ZERO_UUID else "an id")
        if isinstance(value, str):
            return _NOW.sub("[now]", value)
        return bytes(value) if isinstance(value, memoryview) else value


def _error(code: int) -> str:
    return ErrorCode(code).name


Scenario = Callable[[Dialogue], Awaitable[None]]


def play(scenario: Scenario, *brokers: ApacheKafka | EmbeddedBroker) -> list[list[Any]]:
    """What each of the brokers says."""
    label = uuid.uuid4().hex[:8]

    async def main(broker: ApacheKafka | EmbeddedBroker) -> list[Any]:
        host, port = broker.bootstrap.split(":")
        connection = await Connection.open(host, int(port), client_id="dialogue")
        dialogue = Dialogue(connection, label)
        try:
            await scenario(dialogue)
        finally:
            connection.close()
        return dialogue.said

    return [asyncio.run(main(broker)) for broker in brokers]
