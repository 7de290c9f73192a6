"""What objects say of themselves, in a debugger, a log or a failed test."""

from __future__ import annotations

import asyncio

import pytest

from barnabas import Admin, Consumer, ParallelConsumer, Producer, Registry, ShareConsumer, aio
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry


def test_a_producer_says_how_many_records_it_has_to_deliver(embedded_broker: EmbeddedBroker) -> None:
    at = embedded_broker.bootstrap
    with Producer(at, client_id="shop", linger_ms=60_000) as producer:
        assert repr(producer) == f"<Producer 'shop' of {at}: 0 records to deliver>"
        producer.send("reprs", b"a")
        assert repr(producer) == f"<Producer 'shop' of {at}: 1 record to deliver>"
    assert repr(producer) == f"<Producer 'shop' of {at}: closed>"


def test_a_producer_of_transactions_says_which(embedded_broker: EmbeddedBroker) -> None:
    with Producer(embedded_broker.bootstrap, transactional_id="copy-1") as producer:
        assert "transactional id 'copy-1', 0 records" in repr(producer)


def test_a_consumer_says_what_it_is_assigned(embedded_broker: EmbeddedBroker) -> None:
    at = embedded_broker.bootstrap
    with Consumer(at, client_id="shop", group_id="report") as consumer:
        consumer.assign([("reprs", 0)])
        assert repr(consumer) == f"<Consumer 'shop' of {at}: in group 'report', 1 partition assigned>"
    assert repr(consumer) == f"<Consumer 'shop' of {at}: closed>"


def test_members_of_share_groups_and_parallel_consumers_say_what_they_do(
    embedded_broker: EmbeddedBroker,
) -> None:
    at = embedded_broker.bootstrap
    with ShareConsumer(at, group_id="work", topics=["b", "a"]) as member:
        assert repr(member) == f"<ShareConsumer 'barnabas' of {at}: in share group 'work', reads a, b>"
    with ParallelConsumer(at, print, group_id="work", topics=["a"]) as parallel:
        assert repr(parallel).startswith("<ParallelConsumer 0 records to handle, by <Consumer 'barnabas' of ")


def test_clients_for_asyncio_say_the_same(embedded_broker: EmbeddedBroker) -> None:
    at = embedded_broker.bootstrap

    async def main() -> list[str]:
        async with aio.Producer(at) as producer, aio.Consumer(at) as consumer, aio.Admin(at) as admin:
            return [repr(client) for client in (producer, consumer, admin)]

    assert asyncio.run(main()) == [
        f"<Producer 'barnabas' of {at}: 0 records to deliver>",
        f"<Consumer 'barnabas' of {at}: 0 partitions assigned>",
        f"<Admin 'barnabas' of {at}: open>",
    ]


def test_an_admin_says_where_it_is(embedded_broker: EmbeddedBroker) -> None:
    with Admin(embedded_broker.bootstrap) as admin:
        assert repr(admin) == f"<Admin 'barnabas' of {embedded_broker.bootstrap}: open>"


@pytest.mark.integration
def test_servers_for_tests_say_where_they_are() -> None:
    with EmbeddedBroker(storage="memory") as broker, EmbeddedRegistry() as registry:
        assert repr(broker) == f"<EmbeddedBroker {broker.bootstrap}>"
        assert repr(registry) == f"<EmbeddedRegistry {registry.url}>"
    assert repr(broker) == "<EmbeddedBroker not running>"
    assert repr(EmbeddedRegistry()) == "<EmbeddedRegistry not started>"


def test_a_registry_shows_no_password() -> None:
    with Registry("http://user:secret@registry:8081") as registry:
        assert repr(registry) == "<Registry http://registry:8081>"
