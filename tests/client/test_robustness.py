"""Brokers that move, hang, go away, or ask for silence: what a client does then, and what it says of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.waiting import NEVER_MS

from barnabas import ClientQuotaEntity, ClientQuotaFilter, NewTopic, QuotaMatch, aio
from barnabas.broker_errors import ProducerFencedError, RebootstrapRequiredError
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import BarnabasError, KafkaConnectionError, KafkaTimeoutError
from barnabas.events import (
    AllBrokersDown,
    BrokerConnected,
    BrokerDisconnected,
    ClusterChanged,
    ConnectFailed,
    FatalError,
    LeaderChanged,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsRevoked,
    Throttled,
)
from barnabas.net.addresses import canonical_names
from barnabas.net.server import KafkaServer
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.settings.table import CommonConfig, load
from barnabas.types import OffsetAndMetadata, TopicPartition

SPOKEN = {ApiVersionsRequest.API_KEY: (0, 4), MetadataRequest.API_KEY: (0, 13)}
REBOOTSTRAP_REQUIRED = 129


@contextlib.asynccontextmanager
async def connected(bootstrap: str, **settings: Any) -> AsyncIterator[KafkaClient]:
    client = KafkaClient(load(CommonConfig, {"bootstrap_servers": bootstrap, **settings}))
    try:
        yield client
    finally:
        await client.close()


class Teller:
    """A server that tells what metadata it is told to tell, for what no real broker says on demand."""

    def __init__(self, tell: Callable[[], MetadataResponse | None]) -> None:
        self.tell = tell
        self.asked = 0
        self.port = 0
        self._server = KafkaServer(self._answer, SPOKEN)

    async def _answer(self, context: Any, header: Any, request: Any) -> Any:
        if isinstance(request, ApiVersionsRequest):
            keys = [ApiVersionsResponse.ApiVersion(key, *spoken) for key, spoken in SPOKEN.items()]
            return ApiVersionsResponse(api_keys=keys)
        self.asked += 1
        return self.tell()

    async def __aenter__(self) -> Teller:
        self.port = await self._server.start("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        await self._server.stop()


def cluster(
    *ports: int, cluster_id: str = "one", error_code: int = 0, leader: int = 1, epoch: int = 1
) -> MetadataResponse:
    """Brokers 1, 2, ... on these ports of this host, and the topic `told` with one partition."""
    partition = MetadataResponse.MetadataResponsePartition(
        partition_index=0, leader_id=leader, leader_epoch=epoch, replica_nodes=[1], isr_nodes=[1]
    )
    return MetadataResponse(
        error_code=error_code,
        brokers=[
            MetadataResponse.MetadataResponseBroker(node_id=number, host="127.0.0.1", port=port)
            for number, port in enumerate(ports, 1)
        ],
        cluster_id=cluster_id,
        controller_id=1,
        topics=[MetadataResponse.MetadataResponseTopic(name="told", partitions=[partition])],
    )


def test_brokers_that_all_moved_are_found_again_by_bootstrap_servers() -> None:
    async def main() -> None:
        told: list[MetadataResponse] = []
        async with (
            Teller(lambda: told[-1]) as bootstrap,
            Teller(lambda: told[-1]) as new,
            Teller(lambda: told[-1]) as old,
        ):
            told.append(cluster(old.port))
            async with connected(f"127.0.0.1:{bootstrap.port}") as client:
                await client.refresh_metadata()
                assert client.metadata.nodes[1].port == old.port
                await client.refresh_metadata()
                assert (bootstrap.asked, old.asked) == (1, 1)
                await old.stop()
                told.append(cluster(new.port))
                await client.refresh_metadata(timeout_ms=5_000)
                assert client.metadata.nodes[1].port == new.port
                # Under its new address the broker is not made to pay for the failures under the old one.
                await client.send(1, MetadataRequest(topics=[]), timeout_ms=1_000)
                assert new.asked == 1

    asyncio.run(main())


def test_without_recovery_bootstrap_servers_are_asked_only_once() -> None:
    async def main() -> None:
        told: list[MetadataResponse] = []
        async with Teller(lambda: told[-1]) as bootstrap, Teller(lambda: told[-1]) as old:
            told.append(cluster(old.port))
            servers = f"127.0.0.1:{bootstrap.port}"
            async with connected(servers, metadata_recovery_strategy="none") as client:
                await client.refresh_metadata()
                await old.stop()
                with pytest.raises(KafkaTimeoutError, match=r"no metadata within 400 ms.*refused"):
                    await client.refresh_metadata(timeout_ms=400)
                assert bootstrap.asked == 1

    asyncio.run(main())


def test_a_broker_that_demands_it_sends_the_client_back_to_bootstrap_servers() -> None:
    async def main() -> None:
        told: list[MetadataResponse] = []
        async with (
            Teller(lambda: told[-1]) as bootstrap,
            Teller(lambda: cluster(error_code=REBOOTSTRAP_REQUIRED)) as broker,
        ):
            told.append(cluster(broker.port))
            async with connected(f"127.0.0.1:{bootstrap.port}") as client:
                await client.refresh_metadata()
                await client.refresh_metadata(timeout_ms=5_000)
                assert (bootstrap.asked, broker.asked) == (2, 1)
            servers = f"127.0.0.1:{bootstrap.port}"
            async with connected(servers, metadata_recovery_strategy="none") as client:
                await client.refresh_metadata()
                with pytest.raises(RebootstrapRequiredError):
                    await client.refresh_metadata(timeout_ms=5_000)

    asyncio.run(main())


def test_known_brokers_that_stay_silent_are_given_up_after_the_trigger() -> None:
    async def main() -> None:
        silence = asyncio.Event()
        told: list[MetadataResponse] = []
        async with Teller(lambda: told[-1]) as bootstrap:

            async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await silence.wait()
                writer.close()

            silent = await asyncio.start_server(hold, "127.0.0.1", 0)
            told.append(cluster(silent.sockets[0].getsockname()[1]))
            servers = f"127.0.0.1:{bootstrap.port}"
            async with connected(servers, metadata_recovery_rebootstrap_trigger_ms=300) as client:
                await client.refresh_metadata()
                started = time.monotonic()
                await client.refresh_metadata(timeout_ms=NEVER_MS)
                assert time.monotonic() - started > 0.25
                assert bootstrap.asked == 2
            silence.set()
            silent.close()
            await silent.wait_closed()

    asyncio.run(main())


def test_another_cluster_behind_the_same_address_is_noticed_and_its_leaders_are_believed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        told = [cluster(1, epoch=9)]
        async with Teller(lambda: told[-1]) as broker:
            told[-1].brokers[0].port = broker.port
            async with connected(f"127.0.0.1:{broker.port}") as client:
                events: list[Any] = []
                client.events.add(events.append)
                await client.refresh_metadata(["told"])
                told.append(cluster(broker.port, epoch=8, leader=-1))
                await client.refresh_metadata()
                # The same cluster: an older epoch is old news (KIP-320).
                assert client.metadata.leader_epoch(TopicPartition("told", 0)) == 9
                told.append(cluster(broker.port, epoch=2, cluster_id="two"))
                await client.refresh_metadata()
                assert client.metadata.leader_epoch(TopicPartition("told", 0)) == 2
                assert [e for e in events if isinstance(e, ClusterChanged)] == [
                    ClusterChanged("barnabas", "one", "two")
                ]

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "cluster two now, before it was one" in caplog.text


def test_a_new_leader_is_an_event() -> None:
    async def main() -> None:
        told = [cluster(1, 2)]
        async with Teller(lambda: told[-1]) as broker:
            told[-1].brokers[0].port = broker.port
            async with connected(f"127.0.0.1:{broker.port}") as client:
                events: list[Any] = []
                client.events.add(events.append)
                await client.refresh_metadata(["told"])
                told.append(cluster(broker.port, 2, leader=2, epoch=2))
                await client.refresh_metadata()
                changes = [e for e in events if isinstance(e, LeaderChanged)]
                assert changes == [LeaderChanged("barnabas", TopicPartition("told", 0), 1, 2, 2)]

    asyncio.run(main())


def test_a_listener_that_fails_is_logged_and_does_no_harm(
    broker: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: Any) -> None:
        raise RuntimeError("a listener's own fault")

    async def main() -> list[Any]:
        events: list[Any] = []
        async with connected(broker.bootstrap) as client:
            client.events.add(fail)
            client.events.add(events.append)
            await client.refresh_metadata()
            client.events.remove(events.append)
        return events

    events = asyncio.run(main())
    assert [type(event) for event in events] == [BrokerConnected]
    assert "a listener's own fault" in caplog.text


def test_the_time_out_of_connecting_doubles_up_to_its_limit() -> None:
    with socket.socket() as full, contextlib.ExitStack() as stack:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())

        async def main() -> list[int]:
            told = cluster(1, full.getsockname()[1])
            async with Teller(lambda: told) as bootstrap:
                told.brokers[0].port = bootstrap.port
                async with connected(
                    f"127.0.0.1:{bootstrap.port}",
                    socket_connection_setup_timeout_ms=50,
                    socket_connection_setup_timeout_max_ms=150,
                    reconnect_backoff_ms=0,
                    reconnect_backoff_max_ms=0,
                ) as client:
                    await client.refresh_metadata()
                    given: list[int] = []
                    for _ in range(4):
                        started = time.monotonic()
                        with pytest.raises(KafkaConnectionError) as caught:
                            await client.connect(2)
                        (milliseconds,) = re.findall(r"no connection within (\d+) ms", str(caught.value))
                        assert time.monotonic() - started >= int(milliseconds) / 1000 - 0.002
                        given.append(int(milliseconds))
                    return given

        first, second, third, fourth = asyncio.run(main())
        # Each with a jitter of a fifth.
        assert 40 <= first <= 60
        assert 80 <= second <= 120
        assert 120 <= third <= 180
        assert 120 <= fourth <= 180


def test_a_broker_that_is_away_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = unused.getsockname()[1]

        async def main() -> list[Any]:
            told = cluster(1, dead)
            events: list[Any] = []
            async with Teller(lambda: told) as bootstrap:
                told.brokers[0].port = bootstrap.port
                async with connected(
                    f"127.0.0.1:{bootstrap.port}", reconnect_backoff_max_ms=50, client_id="mine"
                ) as client:
                    client.events.add(events.append)
                    await client.refresh_metadata()
                    with pytest.raises(KafkaTimeoutError, match="Connection refused"):
                        await client.retry(lambda: client.connect(2), what="trying", timeout_ms=8_000)
            return events

        with caplog.at_level(logging.INFO):
            events = asyncio.run(main())
    assert len([e for e in events if isinstance(e, ConnectFailed)]) > 3
    # Clients that other tests keep, on the thread of plain clients, may say something meanwhile.
    records = [record for record in caplog.records if "client mine" in record.getMessage()]
    assert [record.levelname for record in records] == ["WARNING"]
    assert f"cannot connect to 127.0.0.1:{dead} (node 2), attempt 1: " in records[0].getMessage()


def test_the_names_of_all_addresses_of_a_bootstrap_server_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    real_addresses, real_name = socket.getaddrinfo, socket.getnameinfo
    names = {"127.0.0.8": "dead.cluster.test", "127.0.0.1": "live.cluster.test"}
    tcp = (socket.AF_INET, socket.SOCK_STREAM, 6, "")

    def addresses(host: str, port: int, *args: Any, **kwargs: Any) -> Any:
        found = (
            list(names) if host == "all.cluster.test" else [a for a, name in names.items() if name == host]
        )
        if not found:
            return real_addresses(host, port, *args, **kwargs)
        if kwargs.get("flags", 0) & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "not a number")
        return [(*tcp, (address, port)) for address in found]

    def name(sockaddr: Any, flags: int) -> Any:
        known = names.get(sockaddr[0])
        return (known, str(sockaddr[1])) if known else real_name(sockaddr, flags)

    monkeypatch.setattr(socket, "getaddrinfo", addresses)
    monkeypatch.setattr(socket, "getnameinfo", name)

    async def main() -> None:
        assert await canonical_names("all.cluster.test", 9092, 5) == list(names.values())
        told = cluster(1)
        async with Teller(lambda: told) as broker:
            told.brokers[0].port = broker.port
            lookup = "resolve_canonical_bootstrap_servers_only"
            async with connected(f"all.cluster.test:{broker.port}", client_dns_lookup=lookup) as client:
                events: list[Any] = []
                client.events.add(events.append)
                # Both are tried first at some time.
                while not any(isinstance(e, ConnectFailed) for e in events):
                    client._upkeep.metadata = type(client.metadata)()
                    await client.refresh_metadata(timeout_ms=5_000)
                hosts = {e.host for e in events if isinstance(e, (BrokerConnected, ConnectFailed))}
                assert hosts == set(names.values())

    asyncio.run(main())


def test_idle_connections_are_closed_and_a_waiting_request_is_not(
    broker: Any, make_topic: Any, eventually_async: Any
) -> None:
    topic = make_topic(broker)

    async def main() -> None:
        consumer = aio.Consumer(
            broker.bootstrap,
            group_id=topic,
            topics=[topic],
            connections_max_idle_ms=150,
            fetch_max_wait_ms=600,
        )
        async with consumer:
            events: list[Any] = []
            consumer.add_event_listener(events.append)

            async def is_assigned() -> bool:
                await consumer.poll(timeout=0.01)
                return bool(consumer.assignment())

            await eventually_async(is_assigned)
            # A fetch without data waits at the broker four times as long as a connection may be idle.
            closed: list[BrokerDisconnected] = []
            begun = time.monotonic()
            while not closed or time.monotonic() < begun + 2:
                await consumer.poll(timeout=0.1)
                closed = [e for e in events if isinstance(e, BrokerDisconnected)]
            assert [e.error for e in closed if e.error is not None] == []
            async with aio.Producer(broker.bootstrap) as producer:
                await (await producer.send(topic, b"after"))
            records = await eventually_async(lambda: consumer.poll(timeout=0.5))
            assert [record.value for record in records] == [b"after"]

    asyncio.run(main())


def test_a_broker_that_hangs_is_given_up_at_the_request_time_out(
    own_broker: Any, eventually_async: Any
) -> None:
    async def main() -> None:
        async with connected(own_broker.bootstrap, request_timeout_ms=500) as client:
            events: list[Any] = []
            client.events.add(events.append)
            await client.refresh_metadata()
            events.clear()
            own_broker.pause()
            try:
                with pytest.raises(
                    KafkaTimeoutError, match="did not answer Metadata within request_timeout_ms=500"
                ):
                    await client.send(1, MetadataRequest(topics=[]))
                # The request's own time begins a moment after the call's.
                await eventually_async(lambda: any(isinstance(e, BrokerDisconnected) for e in events))
                assert len([e for e in events if isinstance(e, BrokerDisconnected)]) == 1
                with pytest.raises(BarnabasError):
                    await client.refresh_metadata(timeout_ms=3_000)
                assert len([e for e in events if isinstance(e, AllBrokersDown)]) == 1
            finally:
                own_broker.resume()
            await client.send_to_any(MetadataRequest(topics=[]), timeout_ms=10_000)

    asyncio.run(main())


def test_a_record_for_a_broker_that_hangs_before_the_first_one_fails_in_time(
    own_broker: Any, make_topic: Any
) -> None:
    topic = make_topic(own_broker)

    async def main() -> None:
        async with aio.Producer(
            own_broker.bootstrap, request_timeout_ms=300, delivery_timeout_ms=900, linger_ms=0
        ) as producer:
            await producer.partitions_for(topic)
            own_broker.pause()
            try:
                delivery = await producer.send(topic, b"value")
                async with asyncio.timeout(25):
                    with pytest.raises(KafkaTimeoutError, match="delivery_timeout_ms=900"):
                        await delivery
            finally:
                own_broker.resume()

    asyncio.run(main())


def test_what_a_group_does_to_a_consumer_is_told(broker: Any, make_topic: Any, fill_topic: Any) -> None:
    topic = make_topic(broker)
    fill_topic(broker, topic, [b"value"])
    partition = TopicPartition(topic, 0)

    async def main() -> list[Any]:
        events: list[Any] = []
        async with aio.Consumer(
            broker.bootstrap,
            topics=[topic],
            group_id=topic,
            client_id="told",
            auto_offset_reset="earliest",
            auto_commit_interval_ms=600_000,
        ) as consumer:
            consumer.add_event_listener(events.append)
            while not await consumer.poll(timeout=1.0):
                pass
            await consumer.commit()
            with pytest.raises(KafkaTimeoutError):
                await consumer.commit({("no-such-topic", 0): 1}, timeout=0.5)
        return [e for e in events if isinstance(e, PartitionsAssigned | PartitionsRevoked | OffsetsCommitted)]

    assigned, committed, refused, at_close, revoked = asyncio.run(main())
    assert assigned == PartitionsAssigned("told", topic, (partition,))
    assert committed == OffsetsCommitted("told", topic, {partition: OffsetAndMetadata(1, "", 0)}, None)
    assert isinstance(refused.error, KafkaTimeoutError)
    assert at_close == committed
    assert revoked == PartitionsRevoked("told", topic, (partition,))


def test_a_fenced_producer_tells_once_that_it_cannot_go_on(broker: Any, make_topic: Any) -> None:
    topic = make_topic(broker)

    async def main() -> None:
        events: list[Any] = []
        async with aio.Producer(broker.bootstrap, transactional_id=topic, client_id="old") as old:
            old.add_event_listener(lambda e: events.append(e) if isinstance(e, FatalError) else None)
            await old.init_transactions()
            await old.begin_transaction()
            await (await old.send(topic, b"value"))
            async with aio.Producer(broker.bootstrap, transactional_id=topic) as new:
                await new.init_transactions()
            for _ in range(2):
                with pytest.raises(ProducerFencedError):
                    await old.commit_transaction()
        assert [(e.client_id, type(e.error)) for e in events] == [("old", ProducerFencedError)]

    asyncio.run(main())


@contextlib.asynccontextmanager
async def limited(
    bootstrap: str, client_id: str, quotas: dict[str, float | None], eventually_async: Any
) -> AsyncIterator[None]:
    """Begins when the broker goes by the quotas: the controller answers before brokers have heard."""
    entity = ClientQuotaEntity({"client-id": client_id})
    exactly = [ClientQuotaFilter("client-id", QuotaMatch.EXACT, client_id)]
    async with aio.Admin(bootstrap) as admin:
        await admin.alter_client_quotas({entity: quotas})
        try:
            await eventually_async(lambda: admin.describe_client_quotas(exactly))
            yield
        finally:
            await admin.alter_client_quotas({entity: dict.fromkeys(quotas)})


def test_a_quota_is_kept_to_and_told(broker: Any, make_topic: Any, topic: Any, eventually_async: Any) -> None:
    name, client_id = make_topic(broker), topic()

    async def main() -> None:
        quotas: dict[str, float | None] = {"producer_byte_rate": 40_000.0}
        async with (
            limited(broker.bootstrap, client_id, quotas, eventually_async),
            aio.Producer(broker.bootstrap, client_id=client_id, linger_ms=0, batch_size=20_000) as producer,
        ):
            events: list[Throttled] = []
            told_at: list[float] = []

            def listen(event: Any) -> None:
                if isinstance(event, Throttled):
                    events.append(event)
                    told_at.append(time.monotonic())

            producer.add_event_listener(listen)
            sent = 0
            while sum(e.throttle_time_ms for e in events) < 1_000:
                await (await producer.send(name, b"x" * 19_000))
                sent += 1
                assert sent < 200
            assert {(e.client_id, e.node_id, e.api) for e in events} == {(client_id, 1, "Produce")}
            until = told_at[-1] + events[-1].throttle_time_ms / 1000
            await (await producer.send(name, b"last"))
            assert time.monotonic() >= until - 0.1

    asyncio.run(main())


def test_a_quota_on_reading_is_kept_to_and_counted(
    broker: Any, make_topic: Any, fill_topic: Any, topic: Any, eventually_async: Any
) -> None:
    name, client_id = make_topic(broker), topic()
    fill_topic(broker, name, [b"x" * 10_000] * 40)

    async def main() -> None:
        quotas: dict[str, float | None] = {"consumer_byte_rate": 30_000.0}
        async with (
            limited(broker.bootstrap, client_id, quotas, eventually_async),
            aio.Consumer(
                broker.bootstrap, topics=[name], client_id=client_id, auto_offset_reset="earliest"
            ) as consumer,
        ):
            events: list[Throttled] = []
            told_at: list[float] = []

            def listen(event: Any) -> None:
                if isinstance(event, Throttled):
                    events.append(event)
                    told_at.append(time.monotonic())

            consumer.add_event_listener(listen)
            while sum(e.throttle_time_ms for e in events) < 1_000:
                await consumer.poll(timeout=0.2)
            (node,) = [b for b in consumer.stats().client.brokers if b.throttled]
            assert node.throttled == len(events)
            assert node.throttle_time_ms.sum == sum(e.throttle_time_ms for e in events)
            assert {e.api for e in events} == {"Fetch"}
            # The next fetch is held back until the time is over.
            known, until = node.requests_by_api["Fetch"], told_at[-1] + events[-1].throttle_time_ms / 1000
            while consumer.stats().client.brokers[0].requests_by_api["Fetch"] == known:
                await consumer.poll(timeout=0.01)
            assert time.monotonic() >= until - 0.1

    asyncio.run(main())


def test_a_killed_broker_is_a_few_lines_in_the_log_not_a_storm(
    own_cluster: Any, topic: Any, caplog: pytest.LogCaptureFixture
) -> None:
    name = topic()

    async def main() -> None:
        async with aio.Admin(own_cluster.bootstrap) as admin:
            await admin.create_topics([NewTopic(name, 6, 3)])
        async with (
            aio.Producer(own_cluster.bootstrap, client_id="producer") as producer,
            aio.Consumer(
                own_cluster.bootstrap,
                topics=[name],
                group_id=name,
                client_id="consumer",
                auto_offset_reset="earliest",
            ) as consumer,
        ):
            sent: list[Any] = []
            taken = 0

            async def go_on(seconds: float) -> None:
                nonlocal taken
                deadline = time.monotonic() + seconds
                while time.monotonic() < deadline:
                    sent.append(await producer.send(name, b"%d" % len(sent), partition=len(sent) % 6))
                    taken += len(await consumer.poll(timeout=0.01))

            await go_on(2)
            caplog.clear()
            own_cluster.node(3).kill()
            await go_on(5)
            said = [r.getMessage() for r in caplog.records if r.name.startswith("barnabas")]
            # A client without a name of its own is another test's.
            lines = [line for line in said if not line.startswith("client barnabas:")]
            own_cluster.node(3).start()
            for delivery in sent:
                await delivery
            while taken < len(sent):
                taken += len(await consumer.poll(timeout=1.0))
            assert taken == len(sent)
        # Of each client: the broker is away; of the group, if that was its coordinator: what it does then.
        assert len(lines) <= 10, lines

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
