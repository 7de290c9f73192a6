from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from tests.waiting import NEVER_MS

from barnabas import NewTopic, Node, OffsetAndMetadata, TopicPartition, aio
from barnabas.broker_errors import (
    GroupIdNotFoundError,
    InvalidConfigError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    OffsetOutOfRangeError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from barnabas.client.admin.types import ConfigResource, ConfigSource, ResourceType
from barnabas.errors import BootstrapError, MisuseError


def with_admin(broker: Any, work: Any, **settings: Any) -> Any:
    async def main() -> Any:
        async with aio.Admin(broker.bootstrap, **settings) as admin:
            return await work(admin)

    return asyncio.run(main())


@pytest.mark.integration
def test_a_topic_is_created_described_enlarged_and_deleted(
    broker: Any, topic: Any, eventually_async: Any
) -> None:
    name = topic()

    async def work(admin: Any) -> None:
        async def is_listed() -> bool:
            return name in await admin.list_topics()

        async def is_gone() -> bool:
            return name not in await admin.list_topics()

        async def has_five_partitions() -> bool:
            return len((await admin.describe_topics([name]))[name].partitions) == 5

        created = await admin.create_topics([NewTopic(name, 2, 1, {"retention.ms": "12345"})])
        assert created[name].num_partitions == 2
        assert created[name].configs["retention.ms"] == "12345"
        await eventually_async(is_listed)
        description = (await admin.describe_topics([name]))[name]
        assert description.topic_id == created[name].topic_id
        assert [(p.partition, p.leader, p.replicas) for p in description.partitions] == [
            (0, 1, (1,)),
            (1, 1, (1,)),
        ]
        await admin.create_partitions({name: 5})
        await eventually_async(has_five_partitions)
        with pytest.raises(InvalidPartitionsError, match=name):
            await admin.create_partitions({name: 3})
        await admin.delete_topics([name])
        await eventually_async(is_gone)

    with_admin(broker, work)


def test_of_several_topics_the_first_that_fails_is_raised_and_the_others_are_created(
    broker: Any, topic: Any, eventually_async: Any
) -> None:
    existing, new = topic(), topic()

    async def work(admin: Any) -> None:
        async def is_listed() -> bool:
            return new in await admin.list_topics()

        await admin.create_topics([NewTopic(existing, 1)])
        with pytest.raises(TopicAlreadyExistsError, match=existing):
            await admin.create_topics([NewTopic(existing, 1), NewTopic(new, 1)])
        await eventually_async(is_listed)

    with_admin(broker, work)


def test_a_topic_that_is_only_validated_is_not_created(broker: Any, topic: Any) -> None:
    name = topic()

    async def work(admin: Any) -> None:
        await admin.create_topics([NewTopic(name, 1)], validate_only=True)
        assert name not in await admin.list_topics()
        with pytest.raises(InvalidReplicationFactorError, match=name):
            await admin.create_topics([NewTopic(name, 1, 3)], validate_only=True)

    with_admin(broker, work)


def test_what_does_not_exist_is_named_soon(broker: Any) -> None:
    async def work(admin: Any) -> None:
        for call in (
            admin.describe_topics(["missing"]),
            admin.delete_topics(["missing"]),
            admin.list_offsets({("missing", 0): "latest"}),
            admin.describe_configs([ConfigResource(ResourceType.TOPIC, "missing")]),
        ):
            with pytest.raises(UnknownTopicOrPartitionError, match="missing"):
                await call
        with pytest.raises(GroupIdNotFoundError, match="missing"):
            await admin.delete_groups(["missing"])
        assert (await admin.describe_groups(["missing"]))["missing"].state == "Dead"

    with_admin(broker, work, default_api_timeout_ms=NEVER_MS)


def test_offsets_of_a_topic_that_brokers_have_yet_to_hear_of_are_waited_for(broker: Any, topic: Any) -> None:
    name = topic()

    async def work(admin: Any) -> None:
        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            offsets = tasks.create_task(admin.list_offsets({(name, 0): "latest"}))
            await asyncio.sleep(0)
            tasks.create_task(admin.create_topics([NewTopic(name, 1)]))
        assert offsets.result()[name, 0].offset == 0

    with_admin(broker, work)


def test_settings_of_a_topic_are_described_set_and_brought_back(
    broker: Any, make_topic: Any, eventually_async: Any
) -> None:
    resource = ConfigResource(ResourceType.TOPIC, make_topic(broker))

    async def work(admin: Any) -> None:
        async def described() -> Any:
            return (await admin.describe_configs([resource]))[resource]

        async def is_compacted() -> bool:
            return (await described())["cleanup.policy"].value == "compact"

        async def is_as_before() -> bool:
            return (await described())["cleanup.policy"] == before["cleanup.policy"]

        before = await described()
        assert before["cleanup.policy"].is_default
        await admin.alter_configs({resource: {"cleanup.policy": "compact", "max.message.bytes": "5000"}})
        await eventually_async(is_compacted)
        assert (await described())["cleanup.policy"].source is ConfigSource.DYNAMIC_TOPIC_CONFIG
        await admin.alter_configs({resource: {"cleanup.policy": None}})
        await eventually_async(is_as_before)
        assert (await described())["max.message.bytes"].value == "5000"
        with pytest.raises(InvalidConfigError, match=resource.name):
            await admin.alter_configs({resource: {"no.such.setting": "1"}})

    with_admin(broker, work)


def test_settings_of_a_broker_are_described(broker: Any) -> None:
    resource = ConfigResource(ResourceType.BROKER, "1")

    async def work(admin: Any) -> None:
        assert (await admin.describe_configs([resource]))[resource]["num.partitions"].value == "1"

    with_admin(broker, work)


def test_the_cluster_is_described(broker: Any) -> None:
    async def work(admin: Any) -> None:
        cluster = await admin.describe_cluster()
        node = Node(1, "127.0.0.1", broker.port)
        assert (cluster.nodes, cluster.controller) == ((node,), node)
        assert cluster.cluster_id

    with_admin(broker, work)


def test_offsets_are_listed_by_end_and_by_time_and_records_are_deleted(broker: Any, make_topic: Any) -> None:
    name = make_topic(broker, partitions=2)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap) as producer, aio.Admin(broker.bootstrap) as admin:
            for number in range(100):
                await producer.send(name, b"v", partition=0, timestamp=1_700_000_000_000 + number)
            await producer.flush()

            async def offset(partition: int, spec: Any) -> int:
                partition_key = TopicPartition(name, partition)
                return (await admin.list_offsets({partition_key: spec}))[partition_key].offset

            assert await offset(0, "earliest") == 0
            assert await offset(0, "latest") == 100
            assert await offset(1, "latest") == 0
            assert await offset(0, 1_700_000_000_040) == 40
            assert await offset(0, 1_800_000_000_000) == -1
            assert await offset(0, "max_timestamp") == 99
            assert await admin.delete_records({(name, 0): 60}) == {(name, 0): 60}
            assert await offset(0, "earliest") == 60
            with pytest.raises(OffsetOutOfRangeError, match=f"{name}-0, offset 1000"):
                await admin.delete_records({(name, 0): 1000})
            assert await admin.delete_records({(name, 0): -1}) == {(name, 0): 100}
            with pytest.raises(MisuseError, match="'newest'"):
                await offset(0, "newest")

    asyncio.run(main())


def test_offsets_of_a_group_are_committed_listed_and_forgotten(broker: Any, make_topic: Any) -> None:
    name, group = make_topic(broker, partitions=3), f"group-{uuid.uuid4().hex}"
    first, second = TopicPartition(name, 0), TopicPartition(name, 1)

    async def work(admin: Any) -> None:
        await admin.alter_group_offsets(group, {first: 5, second: OffsetAndMetadata(7, "note")})
        assert await admin.list_group_offsets(group) == {
            first: OffsetAndMetadata(5),
            second: OffsetAndMetadata(7, "note"),
        }
        assert await admin.list_group_offsets(group, [(name, 1), (name, 2)]) == {
            second: OffsetAndMetadata(7, "note")
        }
        assert group in [listing.group_id for listing in await admin.list_groups()]
        described = (await admin.describe_groups([group]))[group]
        assert (described.state, described.members) == ("Empty", ())
        assert described.coordinator == Node(1, "127.0.0.1", broker.port)
        await admin.delete_group_offsets(group, [first])
        assert list(await admin.list_group_offsets(group)) == [second]
        await admin.delete_groups([group])
        assert await admin.list_group_offsets(group) == {}

    with_admin(broker, work)


def test_members_of_a_group_are_described_with_their_partitions(
    broker: Any, make_topic: Any, eventually_async: Any
) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    name, group = make_topic(broker, partitions=2), f"group-{uuid.uuid4().hex}"
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": group, "client.id": "member-one"}
    )
    consumer.subscribe([name])

    async def work(admin: Any) -> None:
        async def stable() -> Any:
            consumer.poll(0)
            described = (await admin.describe_groups([group]))[group]
            # librdkafka's close() may wait for ever for an assignment that no poll has served.
            return described if described.state == "Stable" and consumer.assignment() else None

        described = await eventually_async(stable, timeout=30.0)
        (member,) = described.members
        assert member.client_id == "member-one"
        assert sorted(member.assignment) == [TopicPartition(name, 0), TopicPartition(name, 1)]
        assert described.protocol_type == "consumer"
        assert described.assignor == "range"

    try:
        with_admin(broker, work)
    finally:
        consumer.close()


def test_an_unreachable_cluster_is_an_error_at_the_deadline() -> None:
    async def main() -> None:
        async with aio.Admin("127.0.0.1:9", default_api_timeout_ms=NEVER_MS) as admin:
            with pytest.raises(BootstrapError, match=r"127\.0\.0\.1:9: Connection refused"):
                await admin.list_topics(timeout=0.3)

    asyncio.run(main())


def test_one_name_in_place_of_a_list_is_refused(broker: Any) -> None:
    async def work(admin: Any) -> None:
        with pytest.raises(MisuseError, match=r"\['flights'\]"):
            await admin.delete_topics("flights")

    with_admin(broker, work)


def metadata_requests(admin: aio.Admin) -> int:
    return sum(broker.requests_by_api.get("Metadata", 0) for broker in admin.stats().brokers)


def test_leaders_that_are_known_are_not_asked_for_again(broker: Any, make_topic: Any) -> None:
    name = make_topic(broker, partitions=2)

    async def work(admin: aio.Admin) -> None:
        specs: Any = {TopicPartition(name, number): "latest" for number in range(2)}
        await admin.list_offsets(specs)
        before = metadata_requests(admin)
        for _ in range(3):
            await admin.list_offsets(specs)
        assert metadata_requests(admin) == before
        await admin.create_partitions({name: 3})
        assert (await admin.list_offsets({TopicPartition(name, 2): "latest"}))[name, 2].offset == 0

    with_admin(broker, work)


def test_a_partition_that_is_gone_since_its_leader_was_known_is_told_as_such(
    broker: Any, make_topic: Any
) -> None:
    gone, there = make_topic(broker), make_topic(broker)

    async def work(admin: aio.Admin) -> None:
        specs: Any = {TopicPartition(gone, 0): "latest", TopicPartition(there, 0): "latest"}
        await admin.list_offsets(specs)
        await admin.delete_topics([gone])
        # The controller answers for the topic's end before the broker has heard of it.
        while gone in await admin.list_topics():
            pass
        with pytest.raises(UnknownTopicOrPartitionError, match=gone) as caught:
            await admin.list_offsets(specs)
        assert [partition.topic for partition in caught.value.outcome.results] == [there]

    with_admin(broker, work, default_api_timeout_ms=NEVER_MS)
