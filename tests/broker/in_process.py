"""A broker on the test's own event loop, and requests to it in any version."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from tests.virtual.loop import VirtualWorld

from barnabas.broker.server import Broker
from barnabas.net.connection import Connection
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse

TIMEOUT_MS = 60_000
Scenario = Callable[["Client"], Awaitable[None]]


class Client:
    """A connection to the broker under test; more of them with `another`."""

    def __init__(self, broker: Broker, connection: Connection) -> None:
        self.broker = broker
        self.connection = connection

    @classmethod
    async def connect(cls, broker: Broker) -> Client:
        return cls(broker, await Connection.open("127.0.0.1", broker.port, client_id="test"))

    async def another(self) -> Client:
        return await self.connect(self.broker)

    def start(self, request: Any, *, version: int | None = None) -> asyncio.Future[Any]:
        return self.connection.submit(request, timeout_ms=TIMEOUT_MS, max_version=version)

    async def send(self, request: Any, *, version: int | None = None) -> Any:
        return await self.start(request, version=version)

    async def create_topic(self, name: str, partitions: int = 1, **configs: str) -> Any:
        topic = CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(key.replace("_", "."), value)
                for key, value in configs.items()
            ],
        )
        response = await self.send(CreateTopicsRequest(topics=[topic]))
        assert response.topics[0].error_code == 0, response.topics[0].error_message
        return response.topics[0]

    async def produce(
        self, topic: str, batch: bytes, *, partition: int = 0, acks: int = -1, version: int = 12
    ) -> ProduceResponse.PartitionProduceResponse:
        response = await self.send(
            produce_request(topic, batch, partition=partition, acks=acks), version=version
        )
        return response.responses[0].partition_responses[0]

    async def fetch(self, topic: str, offset: int, **options: int) -> FetchResponse.PartitionData:
        response = await self.send(fetch_request(topic, offset, **options), version=12)
        return response.responses[0].partitions[0]


def produce_request(topic: str, batch: bytes, *, partition: int = 0, acks: int = -1) -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(index=partition, records=batch)
    topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=topics)


def fetch_request(
    topic: str,
    offset: int,
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    **partition: int,
) -> FetchRequest:
    wanted = FetchRequest.FetchPartition(
        **{"partition": 0, "fetch_offset": offset, "partition_max_bytes": max_bytes, **partition}
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[wanted])],
    )


def run(
    directory: Path,
    scenario: Scenario,
    *,
    config: Mapping[str, str] | None = None,
    as_version: str | None = None,
) -> None:
    """Runs a scenario with a client of a broker on `directory`, which is stopped in good order afterwards."""

    async def main() -> None:
        broker = Broker(directory, config=config, as_version=as_version)
        await broker.start()
        try:
            client = await Client.connect(broker)
            await asyncio.wait_for(scenario(client), 60)
            client.connection.close()
        finally:
            await broker.stop()

    VirtualWorld(seed=0).run(main)
