"""Connections that authenticate themselves anew under load, while the broker ends every session in 6 s."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas import Admin, Consumer, Delivery, NewTopic, OAuthBearerToken, Producer, aio
from barnabas.errors import CredentialsError, SaslAuthenticationError
from barnabas.events import BrokerConnected, BrokerDisconnected, Event

from .kerberos import Kerberos
from .secure_kafka import SecureKafka, secure_kafka, unsecured_token

SESSION_MS = 6_000
"""A connection authenticates anew 0.3 s before that at the latest, and sooner as a rule."""


@pytest.fixture(scope="module", params=["apache", "embedded"])
def strict(request: pytest.FixtureRequest, kerberos: Kerberos) -> Iterator[SecureKafka]:
    with secure_kafka(
        kerberos, kind=request.param, **{"connections.max.reauth.ms": str(SESSION_MS)}
    ) as kafka:
        yield kafka


@pytest.fixture
def new_topic(strict: SecureKafka, topic: Callable[[], str], eventually: Callable[..., Any]) -> str:
    name = topic()
    with Admin(strict.server("SASL_SSL"), **strict.as_user()) as admin:
        admin.create_topics([NewTopic(name, 2)])
        eventually(lambda: name in admin.list_topics())
    return name


def authentications(client: Any) -> int:
    """How often any connection of a client has authenticated itself."""
    counts = [monitor.requests_by_api for monitor in client.kafka_client.brokers.all()]
    return sum(count.get("SaslHandshake", 0) for count in counts)


def renewals(client: Any, events: list[Event]) -> int:
    """How often connections have authenticated anew."""
    connected = sum(isinstance(event, BrokerConnected) for event in events)
    return authentications(client) - connected


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI"])
def test_no_record_is_lost_or_doubled_while_connections_authenticate_anew(
    strict: SecureKafka, new_topic: str, mechanism: str
) -> None:
    server, settings = strict.server("SASL_SSL"), strict.as_user(mechanism=mechanism)
    seen: list[int] = []
    sent: list[int] = []
    events: list[Event] = []
    is_all_sent = threading.Event()

    def read() -> None:
        reading = {"group_id": f"{new_topic}-readers", "auto_offset_reset": "earliest"}
        with Consumer(server, topics=[new_topic], **reading, **settings) as consumer:
            patience = Patience()
            while not is_all_sent.is_set() or len(seen) < len(sent):
                patience.check()
                seen.extend(int(record.value or b"") for record in consumer.poll(0.2))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with Producer(server, linger_ms=1, **settings) as producer:
            deliveries: list[Delivery] = []
            producer.add_event_listener(events.append)
            patience = Patience()
            while renewals(producer, events) < 2:
                patience.check()
                deliveries.append(producer.send(new_topic, b"%d" % len(deliveries)))
                patience.pause()
            sent += range(len(deliveries))
            for delivery in deliveries:
                delivery.result(30)
            assert not [event for event in events if isinstance(event, BrokerDisconnected)]
    finally:
        is_all_sent.set()
        reader.join(60)
    assert sorted(seen) == sent


def test_a_connection_that_was_idle_beyond_its_session_authenticates_anew(strict: SecureKafka) -> None:
    async def main() -> None:
        async with aio.Admin(strict.server("SASL_SSL"), **strict.as_user()) as admin:
            before = await admin.describe_cluster()
            await asyncio.sleep(SESSION_MS / 1000 + 0.5)
            assert await admin.describe_cluster() == before
            assert authentications(admin) == 2

    asyncio.run(main())


def test_new_credentials_of_another_user_open_a_new_connection(strict: SecureKafka) -> None:
    with Admin(strict.server("SASL_SSL"), **strict.as_user("bob", mechanism="PLAIN")) as admin:
        before = admin.describe_cluster()
        admin.set_sasl_credentials("alice", "alice-secret")
        time.sleep(SESSION_MS / 1000)
        assert admin.describe_cluster() == before


def test_credentials_that_went_bad_show_at_once_when_they_are_needed_again(
    strict: SecureKafka, new_topic: str
) -> None:
    with Producer(strict.server("SASL_SSL"), **strict.as_user()) as producer:
        producer.send(new_topic, b"1").result(30)
        producer.set_sasl_credentials("admin", "wrong")
        time.sleep(SESSION_MS / 1000)
        with pytest.raises(SaslAuthenticationError):
            producer.send(new_topic, b"2").result(30)


def test_a_session_ends_with_its_token_where_brokers_set_no_limit(
    secure: SecureKafka, eventually: Callable[..., Any]
) -> None:
    def token() -> OAuthBearerToken:
        return unsecured_token("admin", lifetime_seconds=4)

    settings = secure.as_user(mechanism="OAUTHBEARER", sasl_oauthbearer_token_callback=token)
    events: list[Event] = []
    with Admin(secure.server("SASL_SSL"), **settings) as admin:
        admin.add_event_listener(events.append)

        def has_renewed() -> bool:
            admin.describe_cluster()
            return renewals(admin, events) > 0

        eventually(has_renewed)


def test_a_consumer_hears_of_a_token_that_is_not_renewed(strict: SecureKafka, new_topic: str) -> None:
    tokens = iter([unsecured_token("admin", lifetime_seconds=8)])
    settings = strict.as_user(mechanism="OAUTHBEARER", sasl_oauthbearer_token_callback=lambda: next(tokens))
    with Consumer(strict.server("SASL_SSL"), topics=[new_topic], **settings) as consumer:
        consumer.poll(0.5)
        # The broker says it where the token ends on the way there.
        told = (CredentialsError, SaslAuthenticationError)
        with pytest.raises(told, match=r"token_callback raised StopIteration|invalid_token"):
            consumer.poll(60)
