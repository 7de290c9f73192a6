"""What is of a wrong type is told in one line that says what was expected."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from barnabas import Admin, Consumer, NewTopic, Producer, ShareConsumer, aio
from barnabas.client.admin.types import (
    ClientQuotaEntity,
    ConfigResource,
    ResourceType,
    TopicPartitionReplica,
)
from barnabas.errors import KafkaTimeoutError, MisuseError
from barnabas.testing import EmbeddedBroker

ALICE = ClientQuotaEntity({"user": "alice"})
TOPIC = ConfigResource(ResourceType.TOPIC, "t")
BROKER = ConfigResource(ResourceType.BROKER, "first")


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda c: c.poll("1"), "expected a number of seconds for timeout, got '1'"),
        (lambda c: c.poll(0, max_records="5"), "expected an int for max_records, got '5'"),
        (lambda c: c.poll_arrow(0, max_records=1.5), "expected an int for max_records, got 1.5"),
        (lambda c: c.subscribe([1]), "expected a str for each of topics, got 1"),
        (
            lambda c: c.seek(("t", 0), "3"),
            "expected an int or OffsetAndMetadata for the offset of t-0, got '3'",
        ),
        (
            lambda c: c.commit({("t", 0): "3"}),
            "expected an int or OffsetAndMetadata for the offset of t-0, got '3'",
        ),
        (lambda c: c.commit([1]), "expected offsets as a mapping {(topic, number): offset}, got [1]"),
    ],
)
def test_a_consumers_argument_of_a_wrong_type_is_named(
    embedded_broker: EmbeddedBroker, call: Callable[[Any], object], complaint: str
) -> None:
    with Consumer(embedded_broker.bootstrap, group_id="arguments") as consumer:
        with pytest.raises(TypeError) as raised:
            call(consumer)
        assert str(raised.value) == complaint


@pytest.mark.parametrize("side", ["key", "value"])
def test_what_is_no_format_is_refused_with_an_example_of_one(
    embedded_broker: EmbeddedBroker, topic: Callable[[], str], side: str
) -> None:
    given: Any = {side: pa.int64()}
    complaint = (
        rf"^expected a RegistryFormat or a format of barnabas\.formats for {side}, got DataType\(int64\): "
        r"such as barnabas\.formats\.text\(\)$"
    )
    name, bootstrap, rows = topic(), embedded_broker.bootstrap, pa.table({side: [1]})

    async def in_loop() -> None:
        async with aio.Consumer(bootstrap, topics=[name]) as consumer, aio.Producer(bootstrap) as producer:
            with pytest.raises(TypeError, match=complaint):
                await consumer.poll_arrow(0, **given)
            with pytest.raises(TypeError, match=complaint):
                await producer.send_arrow(name, rows, **given)

    asyncio.run(in_loop())
    with Consumer(bootstrap, topics=[name]) as consumer, Producer(bootstrap) as producer:
        with pytest.raises(TypeError, match=complaint):
            consumer.poll_arrow(0, **given)
        with pytest.raises(TypeError, match=complaint):
            producer.send_arrow(name, rows, **given)


@pytest.mark.parametrize("timeout", [-1, -0.001, math.nan, -math.inf])
def test_a_producer_that_could_not_wait_says_so_and_goes_on(
    embedded_broker: EmbeddedBroker, topic: Callable[[], str], timeout: float
) -> None:
    complaint = f"^timeout is {timeout}: give a number of seconds from 0 on$"
    name = topic()

    async def in_loop() -> None:
        async with aio.Producer(embedded_broker.bootstrap) as producer:
            for call in (producer.flush, producer.close):
                with pytest.raises(MisuseError, match=complaint):
                    await call(timeout)
            await producer.send(name, b"a")
            await producer.flush(60)

    with Producer(embedded_broker.bootstrap) as producer:
        for call in (producer.flush, producer.close):
            with pytest.raises(MisuseError, match=complaint):
                call(timeout)
        producer.send(name, b"a").result(60)
    asyncio.run(in_loop())


@pytest.mark.parametrize("timeout", [-1, -0.001, math.nan, -math.inf])
def test_a_poll_that_could_not_wait_is_refused_as_javas(
    embedded_broker: EmbeddedBroker, timeout: float
) -> None:
    complaint = f"^timeout is {timeout}: give a number of seconds from 0 on$"

    async def poll_in_loop() -> None:
        async with aio.Consumer(embedded_broker.bootstrap) as consumer:
            for poll in (consumer.poll, consumer.poll_one, consumer.poll_arrow):
                with pytest.raises(MisuseError, match=complaint):
                    await poll(timeout)
        async with aio.ShareConsumer(embedded_broker.bootstrap, group_id="arguments") as consumer:
            with pytest.raises(MisuseError, match=complaint):
                await consumer.poll(timeout)

    with Consumer(embedded_broker.bootstrap) as consumer:
        for poll in (consumer.poll, consumer.poll_one, consumer.poll_arrow):
            with pytest.raises(MisuseError, match=complaint):
                poll(timeout)
        with pytest.raises(MisuseError, match=complaint):
            consumer.topics(timeout=timeout)
    with (
        ShareConsumer(embedded_broker.bootstrap, group_id="arguments") as consumer,
        pytest.raises(MisuseError, match=complaint),
    ):
        consumer.poll(timeout)
    asyncio.run(poll_in_loop())


def test_an_asyncio_poll_says_what_its_timeout_has_to_be(embedded_broker: EmbeddedBroker) -> None:
    async def main() -> None:
        async with aio.Consumer(embedded_broker.bootstrap) as consumer:
            timeout: Any = "1"
            with pytest.raises(TypeError, match=r"^expected a number of seconds for timeout, got '1'$"):
                await consumer.poll(timeout)

    asyncio.run(main())


def test_a_poll_without_end_gives_the_records_that_come(embedded_broker: EmbeddedBroker) -> None:
    with Producer(embedded_broker.bootstrap) as producer, Consumer(embedded_broker.bootstrap) as consumer:
        producer.send("endless", b"v").result(30)
        consumer.assign([("endless", 0)])
        consumer.seek_to_beginning()
        assert [record.value for record in consumer.poll(math.inf)] == [b"v"]


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (
            lambda a: a.create_topics(["t"]),
            "expected a NewTopic for each of topics, got 't': give NewTopic(name)",
        ),
        (
            lambda a: a.create_topics("orders"),
            "expected topics as a list, got 'orders': give [NewTopic('orders')]",
        ),
        (lambda a: a.describe_topics([1]), "expected a str for each of topics, got 1"),
        (lambda a: a.delete_groups([b"g"]), "expected a str for each of groups, got b'g'"),
        (
            lambda a: a.list_offsets([("t", 0)]),
            "expected specs as a mapping {(topic, number): 'earliest'}, got [('t', 0)]",
        ),
        (
            lambda a: a.alter_configs({"t": {}}),
            "expected a ConfigResource for each of changes, got 't': "
            "give ConfigResource(ResourceType.TOPIC, 'orders')",
        ),
        (
            lambda a: a.alter_configs({TOPIC: {"retention.ms": 5}}),
            "expected a str, a ListChange or None for retention.ms of topic 't', got 5",
        ),
        (
            lambda a: a.alter_configs({TOPIC: "retention.ms=5"}),
            "expected changes of topic 't' as a mapping {'retention.ms': '86400000'}, got 'retention.ms=5'",
        ),
        (
            lambda a: a.replace_configs({TOPIC: {"retention.ms": None}}),
            "expected a str for retention.ms of topic 't', got None",
        ),
        (
            lambda a: a.describe_configs(ConfigResource(ResourceType.GROUP, "g")),
            "expected resources as a list, with a ConfigResource for each, "
            "got ConfigResource(type=<ResourceType.GROUP: 32>, name='g')",
        ),
        (
            lambda a: a.create_topics([NewTopic("t", 1, configs={"retention.ms": 5})]),
            "expected a str for retention.ms of topic 't', got 5",
        ),
        (
            lambda a: a.create_partitions({"t": "3"}),
            "expected an int for the number of partitions of topic 't', got '3'",
        ),
        (lambda a: a.delete_records({("t", 0): "5"}), "expected an int for the offset of t-0, got '5'"),
        (
            lambda a: a.remove_members("g", "member"),
            "expected a MemberToRemove for each of members, got 'm': give MemberToRemove(member_id=...)",
        ),
        (
            lambda a: a.list_offsets_of_groups(["g"]),
            "expected groups as a mapping {group_id: [(topic, number)]}, got ['g']",
        ),
        (lambda a: a.create_acls(["x"]), "expected an AclBinding for each of acls, got 'x'"),
        (lambda a: a.delete_acls(["x"]), "expected an AclBindingFilter for each of filters, got 'x'"),
        (
            lambda a: a.alter_client_quotas({ALICE: {"producer_byte_rate": "1"}}),
            "expected an int, a float or None for producer_byte_rate in the quotas of {'user': 'alice'}, "
            "got '1'",
        ),
        (
            lambda a: a.alter_partition_reassignments({("t", 0): 1}),
            "expected the node ids of t-0 as a list, with an int for each, got 1",
        ),
        (
            lambda a: a.update_features({"metadata.version": 20}),
            "expected a FeatureUpdate for feature 'metadata.version', got 20",
        ),
        (lambda a: a.describe_log_dirs(["1"]), "expected an int for each of node_ids, got '1'"),
        (lambda a: a.list_topics(timeout="5"), "expected a number of seconds for timeout, got '5'"),
    ],
)
def test_an_admins_argument_of_a_wrong_type_is_named(
    embedded_broker: EmbeddedBroker, call: Callable[[Any], object], complaint: str
) -> None:
    with Admin(embedded_broker.bootstrap) as admin, pytest.raises(TypeError) as raised:
        call(admin)
    assert str(raised.value) == complaint


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda a: a.delete_records({"t": 5}), "'t' is not a partition: give (topic, number)"),
        (lambda a: a.describe_producers(("t", 0)), "'t' is not a partition: give (topic, number)"),
        (
            lambda a: a.describe_replica_log_dirs([("t", 0)]),
            "('t', 0) is not a replica: give (topic, number, node_id)",
        ),
        (
            lambda a: a.describe_configs([BROKER]),
            "broker 'first': a broker is named by its node id, such as '1', all of them by ''",
        ),
        (lambda a: a.alter_group_offsets("g", {("t", 0): -1}), "t-0: the offset -1 is negative"),
        (
            lambda a: a.list_offsets({("t", 0): "newest"}),
            "t-0: 'newest' is not one of earliest, latest, max_timestamp, earliest_local, latest_tiered, "
            "earliest_pending_upload, nor a time in milliseconds",
        ),
        (
            lambda a: a.list_offsets({("t", 0): "latest"}, isolation_level="committed"),
            "isolation_level is 'committed': give read_uncommitted or read_committed",
        ),
        (lambda a: a.list_topics(timeout=-1), "timeout is -1: give a number of seconds from 0 on"),
    ],
)
def test_what_no_cluster_could_do_for_an_admin_is_told_before_it_is_asked(
    embedded_broker: EmbeddedBroker, call: Callable[[Any], object], complaint: str
) -> None:
    with Admin(embedded_broker.bootstrap) as admin, pytest.raises(MisuseError) as raised:
        call(admin)
    assert str(raised.value) == complaint


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.describe_configs([ConfigResource(ResourceType.BROKER, "77")]),
        lambda a: a.alter_configs({ConfigResource(ResourceType.BROKER, "77"): {"log.retention.ms": "1"}}),
        lambda a: a.describe_log_dirs([77]),
        lambda a: a.alter_replica_log_dirs({TopicPartitionReplica("t", 0, 77): "/data"}),
        lambda a: a.describe_producers([("t", 0)], node_id=77),
        lambda a: a.describe_features(node_id=77),
        lambda a: a.describe_api_versions(node_id=77),
    ],
)
def test_a_broker_that_the_cluster_does_not_have_is_waited_for_and_named(
    embedded_broker: EmbeddedBroker, call: Callable[[Any], object]
) -> None:
    with (
        Admin(embedded_broker.bootstrap, default_api_timeout_ms=1_500, request_timeout_ms=1_000) as admin,
        pytest.raises(KafkaTimeoutError) as raised,
    ):
        call(admin)
    assert "within default_api_timeout_ms=1500" in str(raised.value)
    assert str(raised.value).endswith("the last error was: node 77 is none of the cluster's, 1")
