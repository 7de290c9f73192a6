from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from barnabas.broker_errors import (
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from barnabas.client.cluster import metadata_source
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import BootstrapError, ClosedError, KafkaConnectionError, KafkaTimeoutError
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.settings.table import CommonConfig, load


@contextlib.asynccontextmanager
async def connected(bootstrap: str, **settings: Any) -> AsyncIterator[KafkaClient]:
    client = KafkaClient(load(CommonConfig, {"bootstrap_servers": bootstrap, **settings}))
    try:
        yield client
    finally:
        await client.close()


def test_one_reachable_server_among_dead_ones_is_enough(broker: Any) -> None:
    async def main() -> None:
        servers = f"127.0.0.1:9,{broker.bootstrap},127.0.0.1:11,no-such-host.invalid:9092"
        async with connected(servers) as client:
            metadata = await client.refresh_metadata(timeout_ms=60_000)
            assert list(metadata.nodes) == [1]
            assert metadata.nodes[1].port == broker.port

    asyncio.run(main())


def test_a_silent_server_does_not_keep_the_others_from_being_asked(
    broker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata_source, "STAGGER_SECONDS", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(5)

        async def main() -> None:
            # In whichever order they are tried.
            for _ in range(3):
                servers = f"127.0.0.1:{silent.getsockname()[1]},{broker.bootstrap}"
                async with connected(servers) as client:
                    await client.refresh_metadata(timeout_ms=60_000)

        asyncio.run(main())


@pytest.mark.integration
def test_when_no_server_answers_each_is_named_with_its_reason_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata_source, "STAGGER_SECONDS", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(5)
        silent_server = f"127.0.0.1:{silent.getsockname()[1]}"

        async def main() -> str:
            async with connected(f"127.0.0.1:9,{silent_server},no-such-host.invalid:9092") as client:
                started = time.monotonic()
                with pytest.raises(BootstrapError) as caught:
                    await client.refresh_metadata(timeout_ms=3_000)
                assert time.monotonic() - started > 2.9
                return str(caught.value)

        text = asyncio.run(main())
    assert "127.0.0.1:9: Connection refused" in text
    assert f"{silent_server}: no answer yet" in text
    assert "within 3000 ms" in text


@pytest.mark.integration
def test_the_first_failure_to_connect_is_a_warning_and_the_next_ones_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with connected("127.0.0.1:9", retry_backoff_ms=1, retry_backoff_max_ms=2) as client:
            with pytest.raises(BootstrapError):
                await client.refresh_metadata(timeout_ms=300)

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    # Clients of other tests may be on their way out.
    assert sum("127.0.0.1:9:" in record.getMessage() for record in caplog.records) == 1


def test_updates_that_are_asked_for_together_are_one_request(broker: Any) -> None:
    async def main() -> None:
        async with connected(broker.bootstrap) as client:
            await client.refresh_metadata()
            snapshots: list[Any] = []
            client.add_metadata_listener(snapshots.append)
            await asyncio.gather(*[client.refresh_metadata() for _ in range(50)])
            assert len(snapshots) == 1

    asyncio.run(main())


def test_metadata_is_refreshed_when_it_has_become_old(broker: Any, eventually_async: Any) -> None:
    async def main() -> None:
        async with connected(broker.bootstrap, metadata_max_age_ms=50) as client:
            snapshots: list[Any] = []
            client.add_metadata_listener(snapshots.append)
            await client.refresh_metadata()
            await eventually_async(lambda: len(snapshots) >= 4)

    asyncio.run(main())


def test_topics_are_waited_for_until_they_exist(broker: Any, topic: Any, make_topic: Any) -> None:
    async def main() -> None:
        async with connected(broker.bootstrap) as client:
            name = make_topic(broker, partitions=3)
            await client.wait_for_topics([name], time.monotonic() + 60)
            assert len(client.metadata.partitions_for(name)) == 3
            started = time.monotonic()
            with pytest.raises(UnknownTopicOrPartitionError, match="'not-there'"):
                await client.wait_for_topics([name, "not-there"], time.monotonic() + 0.4)
            assert time.monotonic() - started > 0.3

    asyncio.run(main())


def test_all_topics_are_tracked_when_asked_for(broker: Any, make_topic: Any) -> None:
    async def main() -> None:
        names = [make_topic(broker) for _ in range(2)]
        async with connected(broker.bootstrap) as client:
            await client.refresh_metadata([names[0]])
            assert client.metadata.topics == names[:1]
            client.track_topics(None)
            await client.refresh_metadata()
            assert set(names) <= set(client.metadata.topics)

    asyncio.run(main())


def test_a_coordinator_is_found_reached_over_a_connection_of_its_own_and_remembered(broker: Any) -> None:
    async def main() -> None:
        async with connected(broker.bootstrap) as client:
            coordinator = await client.coordinators.find(GROUP_COORDINATOR, "group")
            assert await client.coordinators.find(GROUP_COORDINATOR, "group") == coordinator
            assert client.node(coordinator) == client.metadata.nodes[1]
            await client.send(coordinator, ApiVersionsRequest())
            await client.send(1, ApiVersionsRequest())
            assert client.ready_connection(coordinator) is not client.ready_connection(1)
            client.coordinators.forget(GROUP_COORDINATOR, "group")
            assert await client.coordinators.find(GROUP_COORDINATOR, "group") == coordinator

    asyncio.run(main())


def test_a_request_in_a_hurry_leaves_the_connection_to_the_others(own_broker: Any) -> None:
    async def main() -> None:
        async with connected(own_broker.bootstrap) as client:
            await client.refresh_metadata()
            own_broker.pause()
            try:
                # A request or two may still be answered before the broker stands still.
                hurried = [client.send(1, MetadataRequest(topics=[]), timeout_ms=100) for _ in range(50)]
                errors = await asyncio.gather(*hurried, return_exceptions=True)
                assert isinstance(errors[-1], KafkaTimeoutError)
                assert "did not answer Metadata within 100 ms" in str(errors[-1])
                patient = asyncio.create_task(client.send(1, MetadataRequest(topics=[]), timeout_ms=20_000))
            finally:
                own_broker.resume()
            assert (await patient).controller_id == 1

    asyncio.run(main())


def test_a_client_finds_its_way_back_after_the_broker_restarts(own_broker: Any) -> None:
    async def main() -> None:
        async with connected(own_broker.bootstrap) as client:
            await client.refresh_metadata()
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, own_broker.kill)
            with pytest.raises((KafkaConnectionError, KafkaTimeoutError)):
                await client.send_to_any(MetadataRequest(topics=[]), timeout_ms=300)
            await loop.run_in_executor(None, own_broker.start)
            response = await client.send_to_any(MetadataRequest(topics=[]), timeout_ms=20_000)
            assert [b.node_id for b in response.brokers] == [1]

    asyncio.run(main())


def test_a_node_that_nobody_knows_is_an_error_that_names_it(broker: Any) -> None:
    async def main() -> None:
        async with connected(broker.bootstrap) as client:
            await client.refresh_metadata()
            with pytest.raises(KafkaConnectionError, match="node 77"):
                await client.send(77, MetadataRequest(topics=[]))

    asyncio.run(main())


def test_retriable_errors_are_tried_again_and_others_are_not() -> None:
    async def main() -> None:
        async with connected("127.0.0.1:9", retry_backoff_ms=1, retry_backoff_max_ms=5) as client:
            tries = 0

            async def succeed_at_the_third() -> str:
                nonlocal tries
                tries += 1
                if tries < 3:
                    raise CoordinatorNotAvailableError("not yet")
                return "done"

            assert await client.retry(succeed_at_the_third, what="the work") == "done"

            async def refuse() -> None:
                raise GroupAuthorizationFailedError("group 'g'")

            with pytest.raises(GroupAuthorizationFailedError):
                await client.retry(refuse, what="the work")

    asyncio.run(main())


def test_idle_connections_are_closed(broker: Any, eventually_async: Any) -> None:
    async def main() -> None:
        async with connected(broker.bootstrap, connections_max_idle_ms=100) as client:
            await client.refresh_metadata()
            assert client.ready_connection(1) is not None
            await eventually_async(lambda: client.ready_connection(1) is None)
            await client.send(1, MetadataRequest(topics=[]))

    asyncio.run(main())


def test_close_wakes_whoever_waits_and_later_calls_are_refused() -> None:
    async def main() -> None:
        async with connected("127.0.0.1:9") as client:
            waiting = asyncio.create_task(client.refresh_metadata())
            await asyncio.sleep(0)
            await client.close()
            with pytest.raises(ClosedError):
                await waiting
            with pytest.raises(ClosedError):
                await client.refresh_metadata()
            client.request_metadata_update()

    asyncio.run(main())
