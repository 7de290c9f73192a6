"""Clients, clusters and brokers: what they know, what they are asked, what is raised."""

from __future__ import annotations

from typing import Any

from tests.compat.pykafka.differential.played.script import on_kafka, on_zookeeper, script


@script()
def a_client_without_brokers_says_so(pykafka: Any, stage: Any) -> None:
    stage.attempt("by a broker", pykafka.KafkaClient, hosts=stage.bootstrap)
    stage.attempt("of a newer release", pykafka.KafkaClient, hosts=stage.bootstrap, broker_version="0.10.1")


@script()
def a_client_of_hosts_that_are_none(pykafka: Any, stage: Any) -> None:
    stage.raised("no port", pykafka.KafkaClient, hosts="localhost")
    stage.raised("no number", pykafka.KafkaClient, hosts="localhost:kafka")


@on_kafka()
def a_client_finds_the_cluster_by_one_of_its_brokers(pykafka: Any, stage: Any) -> None:
    client = stage.client(hosts=f"127.0.0.1:1,{stage.bootstrap}")
    stage.record("brokers", [(each.id, each.host, each.port) for each in client.brokers.values()])
    stage.record("connected", [each.connected for each in client.brokers.values()])
    stage.record("the same", client.brokers is client.cluster.brokers)
    stage.record("topics", client.topics is client.cluster.topics)


@on_kafka()
def internal_topics_are_left_out(pykafka: Any, stage: Any) -> None:
    # A group makes them.
    stage.ask("commit", stage.group(), stage.topic(), 0, 0)
    internal = b"__consumer_offsets"
    stage.record("left out", internal in stage.client().topics)
    stage.record("shown", internal in stage.client(exclude_internal_topics=False).topics)


@on_kafka()
def a_controller_is_known_of_newer_brokers(pykafka: Any, stage: Any) -> None:
    versions = stage.module("utils").VERSIONS_CACHE
    for version in ("0.9.0", "0.10.1"):
        versions.clear()
        controller = stage.client(broker_version=version).cluster.controller_broker
        stage.record(version, None if controller is None else controller.id)


@on_kafka()
def a_broker_tells_of_topics(pykafka: Any, stage: Any) -> None:
    name = stage.topic(partitions=2)
    client = stage.client()
    (broker,) = client.brokers.values()
    found = stage.within("asked", broker.request_metadata, [name.encode()])
    stage.record("topics", sorted(found.topics))
    topic = found.topics[name.encode()]
    stage.record("partitions", sorted(topic.partitions))
    stage.record("one", (topic.partitions[0].leader, topic.partitions[0].replicas, topic.partitions[0].isr))
    stage.record("brokers", [(each.id, each.port) for each in found.brokers.values()])


@on_kafka()
def a_broker_gives_messages(pykafka: Any, stage: Any) -> None:
    protocol = stage.module("protocol")
    name = stage.filled_topic(b"a", b"b", b"c")
    client = stage.client()
    (broker,) = client.brokers.values()
    for offset in (0, 2):
        request = protocol.PartitionFetchRequest(name.encode(), 0, offset, 10000)
        found = stage.within("asked", broker.fetch_messages, [request], 100, 1)
        each = found.topics[name.encode()][0]
        stage.record("end", (each.max_offset, each.err))
        messages = [(one.offset, one.value) for one in each.messages if one.offset >= offset]
        stage.record("messages", messages)


@on_kafka()
def a_broker_tells_of_offsets(pykafka: Any, stage: Any) -> None:
    protocol, common = stage.module("protocol"), stage.module("common")
    name = stage.filled_topic(b"a", b"b")
    client = stage.client()
    (broker,) = client.brokers.values()
    for kind in ("EARLIEST", "LATEST"):
        request = protocol.PartitionOffsetRequest(name.encode(), 0, getattr(common.OffsetType, kind), 1)
        found = stage.within("asked", broker.request_offset_limits, [request])
        stage.record(kind, found.topics[name.encode()][0].offset)


@on_kafka()
def a_broker_keeps_offsets_of_groups(pykafka: Any, stage: Any) -> None:
    protocol = stage.module("protocol")
    name, group = stage.filled_topic(b"a", b"b", b"c"), stage.group()
    client = stage.client()
    coordinator = client.cluster.get_group_coordinator(group.encode())
    stage.record("coordinator", coordinator.id)
    commit = protocol.PartitionOffsetCommitRequest(name.encode(), 0, 2, 0, b"metadata")
    stage.within("committed", coordinator.commit_consumer_group_offsets, group.encode(), -1, b"", [commit])
    stage.record("on the broker", stage.ask("committed", group, name, 0))
    fetch = protocol.PartitionOffsetFetchRequest(name.encode(), 0)
    found = coordinator.fetch_consumer_group_offsets(group.encode(), [fetch])
    each = found.topics[name.encode()][0]
    stage.record("fetched", (each.offset, each.metadata, each.err))


@on_kafka()
def a_broker_makes_and_deletes_topics(pykafka: Any, stage: Any) -> None:
    stage.module("utils").VERSIONS_CACHE.clear()
    protocol = stage.module("protocol")
    name = stage.name("topic")
    client = stage.client(broker_version="0.10.1")
    broker = client.cluster.controller_broker
    request = protocol.CreateTopicRequest(name.encode(), 2, 1, [], [(b"retention.ms", b"60000")])
    stage.within("made", broker.create_topics, [request], 5000)
    stage.until(lambda: name.encode() in stage.client().topics)
    stage.record("partitions", len(stage.topic_of(name).partitions))
    stage.within("deleted", broker.delete_topics, [name.encode()], 5000)
    stage.until(lambda: name.encode() not in stage.client().topics)
    stage.module("utils").VERSIONS_CACHE.clear()


@on_kafka()
def a_broker_knows_no_groups_where_there_are_none(pykafka: Any, stage: Any) -> None:
    client = stage.client()
    (broker,) = client.brokers.values()
    group = stage.group()
    described = stage.within("asked", broker.describe_groups, [group.encode()]).groups
    each = described[group.encode()]
    stage.record("described", (each.state, each.protocol_type, each.protocol, each.members, each.error_code))


@on_kafka()
def representations_name_what_they_are_of(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    client = stage.client()
    topic = client.topics[name.encode()]
    (broker,) = client.brokers.values()
    for each in (client, client.cluster, topic, topic.partitions[0], broker):
        stage.record(type(each).__name__, repr(each))


@on_zookeeper()
def a_client_finds_brokers_in_zookeeper(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    client = pykafka.KafkaClient(zookeeper_hosts=stage.zookeeper)
    stage.record("brokers", [(each.id, each.port) for each in client.brokers.values()])
    stage.record("has the topic", name.encode() in client.topics)
    stage.record("says", repr(client))


@on_zookeeper()
def a_client_of_a_chroot_that_is_wrong(pykafka: Any, stage: Any) -> None:
    stage.raised("asked", pykafka.KafkaClient, zookeeper_hosts=f"{stage.zookeeper}/nothing/there")


@script(limit_seconds=120)
def a_client_of_a_zookeeper_that_is_away(pykafka: Any, stage: Any) -> None:
    stage.raised("asked", pykafka.KafkaClient, zookeeper_hosts=stage.bootstrap, socket_timeout_ms=1000)


@on_kafka()
def a_client_that_nobody_keeps(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(b"a", partitions=2)

    def topic() -> Any:
        return pykafka.KafkaClient(hosts=stage.bootstrap).topics[name.encode()]

    topics = stage.within("topics", lambda: pykafka.KafkaClient(hosts=stage.bootstrap).topics)
    stage.raised("a topic of a dictionary whose client has gone", lambda: topics[name.encode()].name)
    stage.raised("another", lambda: topics[b"nothing-of-the-kind"])
    found = stage.within("topic", topic)
    stage.record("kind", type(found).__name__)
    if found is None:
        return
    stage.attempt("name", lambda: found.name)
    stage.attempt("partitions", lambda: sorted(found.partitions))
    stage.raised("limits", found.latest_available_offsets)
    stage.raised("producer", found.get_sync_producer)
    stage.raised("consumer", found.get_simple_consumer)
