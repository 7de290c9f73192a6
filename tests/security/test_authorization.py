"""What a user may not do is refused by a name that says what it was: the topic, the group, the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from barnabas import AclOperation, AclResourceType, Admin, Consumer, NewTopic, Producer, aio
from barnabas.broker_errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
)

from .secure_kafka import SecureKafka

SECONDS = 60


def test_writing_without_a_permission_names_the_topic(secure: SecureKafka, new_topic: str) -> None:
    with (
        Producer(secure.server("SASL_SSL"), **secure.as_user("bob")) as producer,
        pytest.raises(TopicAuthorizationFailedError, match=new_topic),
    ):
        producer.send(new_topic, b"1").result(SECONDS)


def test_writing_to_a_topic_that_may_only_be_seen_names_the_topic(
    secure: SecureKafka, new_topic: str
) -> None:
    secure.allow("bob", AclResourceType.TOPIC, new_topic, AclOperation.DESCRIBE)
    settings = secure.as_user("bob", enable_idempotence=False)
    with Producer(secure.server("SASL_SSL"), **settings) as producer:
        delivery = producer.send(new_topic, b"1")
        with pytest.raises(TopicAuthorizationFailedError, match=new_topic):
            delivery.result(SECONDS)


def test_an_idempotent_producer_that_may_write_nowhere_is_told_what_it_lacks(
    secure: SecureKafka, new_topic: str
) -> None:
    secure.allow("bob", AclResourceType.TOPIC, new_topic, AclOperation.DESCRIBE)
    with Producer(secure.server("SASL_SSL"), **secure.as_user("bob")) as producer:
        delivery = producer.send(new_topic, b"1")
        with pytest.raises(ClusterAuthorizationFailedError, match="enable_idempotence"):
            delivery.result(SECONDS)


def test_reading_without_a_permission_names_the_topic(secure: SecureKafka, new_topic: str) -> None:
    settings = secure.as_user("bob", mechanism="PLAIN")
    with (
        Consumer(secure.server("SASL_SSL"), topics=[new_topic], **settings) as consumer,
        pytest.raises(TopicAuthorizationFailedError, match=new_topic),
    ):
        consumer.poll(SECONDS)


def test_fetching_from_a_topic_that_may_only_be_seen_names_the_topic(
    secure: SecureKafka, new_topic: str
) -> None:
    secure.allow("bob", AclResourceType.TOPIC, new_topic, AclOperation.DESCRIBE)
    with Consumer(secure.server("SASL_SSL"), **secure.as_user("bob")) as consumer:
        consumer.assign([(new_topic, 0)])
        consumer.seek((new_topic, 0), 0)
        with pytest.raises(TopicAuthorizationFailedError, match=new_topic):
            consumer.poll(SECONDS)


def test_joining_a_group_without_a_permission_names_the_group(
    secure: SecureKafka, new_topic: str, topic: Callable[[], str]
) -> None:
    secure.allow("bob", AclResourceType.TOPIC, new_topic, AclOperation.READ, AclOperation.DESCRIBE)
    group = topic()
    settings = secure.as_user("bob", mechanism="OAUTHBEARER")
    with (
        Consumer(secure.server("SASL_SSL"), topics=[new_topic], group_id=group, **settings) as consumer,
        pytest.raises(GroupAuthorizationFailedError, match=group),
    ):
        consumer.poll(SECONDS)


def test_an_asyncio_consumer_is_told_alike(
    secure: SecureKafka, new_topic: str, topic: Callable[[], str]
) -> None:
    secure.allow("alice", AclResourceType.TOPIC, new_topic, AclOperation.READ, AclOperation.DESCRIBE)
    group = topic()

    async def main() -> None:
        server, settings = secure.server("SASL_SSL"), secure.as_user("alice")
        async with aio.Consumer(server, topics=[new_topic], group_id=group, **settings) as consumer:
            with pytest.raises(GroupAuthorizationFailedError, match=group):
                await consumer.poll(SECONDS)

    asyncio.run(main())


def test_creating_a_topic_without_a_permission_is_refused(
    secure: SecureKafka, topic: Callable[[], str]
) -> None:
    name = topic()
    with (
        Admin(secure.server("SASL_SSL"), **secure.as_user("bob")) as admin,
        pytest.raises(TopicAuthorizationFailedError, match=name),
    ):
        admin.create_topics([NewTopic(name)])


def test_a_permission_opens_the_topic_and_the_group(
    secure: SecureKafka, new_topic: str, topic: Callable[[], str]
) -> None:
    group = topic()
    secure.allow("alice", AclResourceType.TOPIC, new_topic, AclOperation.READ, AclOperation.WRITE)
    secure.allow("alice", AclResourceType.GROUP, group, AclOperation.READ)
    server, settings = secure.server("SASL_SSL"), secure.as_user("alice", mechanism="SCRAM-SHA-512")
    with Producer(server, **settings) as producer:
        producer.send(new_topic, b"1").result(SECONDS)
    with Consumer(
        server, topics=[new_topic], group_id=group, auto_offset_reset="earliest", **settings
    ) as consumer:
        record = consumer.poll_one(SECONDS)
        assert record is not None
        assert record.value == b"1"
        consumer.commit()
