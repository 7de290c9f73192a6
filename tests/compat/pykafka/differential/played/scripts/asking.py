"""What brokers answer: by a Broker's methods, and by connections and handlers of the program's own."""

from __future__ import annotations

from typing import Any

from tests.compat.pykafka.differential.played.script import on_kafka, script


def request_with(pykafka: Any, topic: bytes, *messages: Any, partition: int = 0, **settings: Any) -> Any:
    request = pykafka.protocol.ProduceRequest(**settings)
    for each in messages:
        request.add_message(each, topic, partition)
    return request


def fetched(pykafka: Any, topic: Any, offset: int = 0, partition: int = 0) -> Any:
    wanted = pykafka.protocol.PartitionFetchRequest(topic.name, partition, offset)
    leader = topic.partitions[0].leader
    return leader.fetch_messages([wanted], timeout=500).topics[topic.name][partition]


def told(message: Any) -> Any:
    return (
        *(message.offset, message.partition_id, message.value, message.partition_key),
        *(message.timestamp, message.protocol_version, message.compression_type),
    )


@on_kafka()
def a_broker_takes_messages(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic(partitions=2))
    leader = topic.partitions[0].leader
    message = pykafka.protocol.Message
    messages = [message(b"a", b"k"), message(b"b"), message(None, b"k"), message(b"", b"")]
    answer = leader.produce_messages(request_with(pykafka, topic.name, *messages))
    stage.record("produced", answer.topics[topic.name])
    answer = leader.produce_messages(request_with(pykafka, topic.name, message(b"c"), required_acks=-1))
    stage.record("produced again", answer.topics[topic.name])
    stage.record("fetched", [told(each) for each in fetched(pykafka, topic).messages])
    stage.record("fetched from 3", [told(each) for each in fetched(pykafka, topic, 3).messages])


@on_kafka()
def a_broker_that_need_not_answer_takes_messages_too(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(b"a"))
    request = request_with(pykafka, topic.name, pykafka.protocol.Message(b"b"), required_acks=0)
    stage.attempt("sent", topic.partitions[0].leader.produce_messages, request)
    stage.until(lambda: len(stage.records_of(topic.name.decode())) == 2)
    stage.record("latest", topic.latest_available_offsets())


@on_kafka()
def a_broker_takes_messages_that_gzip_made_small(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(b"before"))
    messages = [pykafka.protocol.Message(b"%d" % number * 50) for number in range(5)]
    request = request_with(pykafka, topic.name, *messages, compression_type=1)
    stage.record("produced", topic.partitions[0].leader.produce_messages(request).topics[topic.name])
    found = fetched(pykafka, topic, 1).messages
    stage.record("fetched", [(each.offset, each.value) for each in found if each.offset])


@on_kafka()
def messages_have_timestamps_where_brokers_are_known_to_be_newer(pykafka: Any, stage: Any) -> None:
    # The original remembers for all clients what one of them found out.
    stage.module("utils").VERSIONS_CACHE.clear()
    stage.closing(stage.module("utils").VERSIONS_CACHE.clear)
    name = stage.topic()
    topic = stage.topic_of(name, broker_version="2.0.0")
    message = pykafka.protocol.Message(b"v", protocol_version=1, timestamp=1234567)
    topic.partitions[0].leader.produce_messages(request_with(pykafka, topic.name, message))
    (found,) = fetched(pykafka, topic).messages
    stage.record("fetched", (*told(found), found.timestamp_dt))


@on_kafka()
def a_broker_has_errors_for_partitions(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(b"a"))
    leader = topic.partitions[0].leader
    request = request_with(pykafka, topic.name, pykafka.protocol.Message(b"v"), partition=7)
    stage.record("produced", leader.produce_messages(request).topics[topic.name])
    answer = fetched(pykafka, topic, partition=7)
    stage.record("fetched", (answer.err, answer.messages))
    answer = fetched(pykafka, topic, 99)
    stage.record("fetched from nowhere", (answer.err, answer.messages))
    wanted = pykafka.protocol.PartitionOffsetRequest(topic.name, 7, -1, 1)
    stage.record("offsets", leader.request_offset_limits([wanted]).topics[topic.name])


@on_kafka()
def several_topics_are_asked_for_at_once(pykafka: Any, stage: Any) -> None:
    names = [stage.filled_topic(b"a", b"b"), stage.filled_topic(b"c")]
    broker = next(iter(stage.client().brokers.values()))
    wanted = [pykafka.protocol.PartitionFetchRequest(name.encode(), 0, 0) for name in names]
    answer = broker.fetch_messages(wanted, timeout=500)
    for name in names:
        stage.record("values", [each.value for each in answer.topics[name.encode()][0].messages])
    offsets = [pykafka.protocol.PartitionOffsetRequest(name.encode(), 0, -1, 1) for name in names]
    answer = broker.request_offset_limits(offsets)
    for name in names:
        stage.record("offsets", answer.topics[name.encode()])


class Membership:
    def __init__(self, pykafka: Any, topic: bytes) -> None:
        self.protocol_type = b"consumer"
        self.protocol_name = b"range"
        self.metadata = pykafka.protocol.ConsumerGroupProtocolMetadata(topic_names=[topic])


@on_kafka(limit_seconds=120)
def a_member_of_a_group_by_hand(pykafka: Any, stage: Any) -> None:
    topic = stage.topic().encode()
    client, group = stage.client(), stage.group().encode()
    broker = client.cluster.get_group_coordinator(group)
    stage.record("coordinator is a broker", broker is client.brokers[broker.id])
    joined = broker.join_group(1, group, b"", topic, Membership(pykafka, topic))
    me = joined.member_id
    stage.call(me.decode(), "<me>")
    stage.record("joined", (joined.error_code, joined.generation_id, joined.group_protocol))
    stage.record("leads", joined.leader_id == me)
    stage.record("members", [(each == me, data.topic_names) for each, data in joined.members.items()])
    assignment = pykafka.protocol.MemberAssignment([(topic, [0])])
    synced = broker.sync_group(1, group, joined.generation_id, me, [(me, assignment)])
    stage.record("assigned", (synced.error_code, synced.member_assignment.partition_assignment))
    stage.record("heartbeat", broker.heartbeat(1, group, joined.generation_id, me).error_code)
    stage.record("of a generation to come", broker.heartbeat(1, group, 9, me).error_code)
    stage.record("of nobody", broker.heartbeat(1, group, joined.generation_id, b"nobody").error_code)
    described = client.cluster.get_managed_group_descriptions()[group]
    stage.record("described", described[:5])
    member = described.members[me]
    stage.record("client", (member.client_id, member.client_host))
    stage.record("its topics", (member.member_metadata.version, member.member_metadata.topic_names))
    stage.record("its data", member.member_metadata.user_data)
    stage.record("its partitions", member.member_assignment.partition_assignment)
    stage.record("listed", broker.list_groups().groups[group])
    commit = pykafka.protocol.PartitionOffsetCommitRequest(topic, 0, 4, 0, b"")
    answer = broker.commit_consumer_group_offsets(group, joined.generation_id, me, [commit])
    stage.record("committed", answer.topics)
    answer = broker.commit_consumer_group_offsets(group, joined.generation_id + 1, me, [commit])
    stage.record("committed wrongly", answer.topics)
    stage.record("left", broker.leave_group(1, group, me).error_code)
    stage.record("left again", broker.leave_group(1, group, me).error_code)


@on_kafka()
def offsets_of_groups_have_texts_with_them(pykafka: Any, stage: Any) -> None:
    protocol = pykafka.protocol
    topic, group = stage.topic(partitions=2).encode(), stage.group().encode()
    broker = stage.client().cluster.get_group_coordinator(group)
    commits = [
        protocol.PartitionOffsetCommitRequest(topic, 0, 5, 0, b"text"),
        protocol.PartitionOffsetCommitRequest(topic, 1, 0, 0, b""),
        protocol.PartitionOffsetCommitRequest(topic, 9, 1, 0, b""),
    ]
    stage.record("committed", broker.commit_consumer_group_offsets(group, -1, b"", commits).topics)
    too_long = protocol.PartitionOffsetCommitRequest(topic, 0, 6, 0, b"x" * 5000)
    stage.record("too long", broker.commit_consumer_group_offsets(group, -1, b"", [too_long]).topics)
    wanted = [protocol.PartitionOffsetFetchRequest(topic, number) for number in (0, 1)]
    answer = broker.fetch_consumer_group_offsets(group, wanted)
    stage.record("fetched", sorted(answer.topics[topic].items()))
    stage.record("its own connection", broker.offsets_channel_connected)
    stage.record("has a handler for it", broker.offsets_channel_handler is not broker.handler)


@on_kafka()
def a_connection_by_hand(pykafka: Any, stage: Any) -> None:
    protocol, connections = pykafka.protocol, stage.module("connection")
    exceptions = stage.module("exceptions")
    host, port = stage.bootstrap.split(":")
    connection = connections.BrokerConnection(host, int(port), stage.module("handlers").ThreadingHandler())
    stage.record("connected before", connection.connected)
    stage.raised("request before", connection.request, protocol.MetadataRequest())
    connection.connect(10_000)
    stage.record("connected", connection.connected)
    connection.request(protocol.MetadataRequest())
    connection.request(protocol.MetadataRequestV1())
    stage.record("first", len(protocol.MetadataResponse(connection.response()).brokers))
    stage.record("second", protocol.MetadataResponseV1(connection.response()).controller_id is not None)
    connection.disconnect()
    connection.disconnect()
    stage.record("connected after", connection.connected)
    connection.reconnect()
    stage.record("connected again", connection.connected)
    handler = stage.module("handlers").RequestHandler(stage.module("handlers").ThreadingHandler(), connection)
    future = handler.request(protocol.MetadataRequest())
    handler.start()
    stage.record("by a handler", len(future.get(protocol.MetadataResponse).brokers))
    stage.record("without an answer", handler.request(protocol.MetadataRequest(), has_response=False))
    stage.record("an exception", issubclass(exceptions.SocketDisconnectedError, exceptions.KafkaException))


@script()
def futures_are_told_of_answers_and_errors(pykafka: Any, stage: Any) -> None:
    handlers = stage.module("handlers")
    future = handlers.ResponseFuture(handlers.ThreadingHandler())
    stage.record("error before", future.error)
    future.set_response(b"answer")
    stage.record("answer", future.get())
    stage.record("as something", future.get(lambda data, more: (data, more), more=1))
    failed = handlers.ResponseFuture(handlers.ThreadingHandler())
    failed.set_error(ValueError("why"))
    stage.attempt("failed", failed.get)


@script()
def the_versions_of_brokers_of_old(pykafka: Any, stage: Any) -> None:
    protocol = pykafka.protocol
    for name in ("API_VERSIONS_080", "API_VERSIONS_090"):
        versions = getattr(protocol, name)
        stage.record(name, [tuple(versions[key]) for key in sorted(versions)])
    stage.module("utils").VERSIONS_CACHE.clear()
    chosen = protocol.OffsetFetchRequest.get_version_impl(protocol.API_VERSIONS_090)
    stage.record("chosen", (chosen.__name__, chosen.API_VERSION))
    stage.module("utils").VERSIONS_CACHE.clear()


@on_kafka()
def topics_have_names_that_can_be_topics(pykafka: Any, stage: Any) -> None:
    topics = stage.client().topics
    for name in ("ü", "no topic", "__hidden"):
        stage.raised(name, lambda name=name: topics[name])
    stage.raised("a number", lambda: topics[17].nothing)


@on_kafka()
def a_cluster_has_what_its_client_has(pykafka: Any, stage: Any) -> None:
    client = stage.client()
    cluster = client.cluster
    stage.record("brokers", client.brokers is cluster.brokers)
    stage.record("topics", client.topics is cluster.topics)
    stage.record("handler", type(cluster.handler).__name__)
    stage.record("controller", cluster.controller_broker)
    stage.record("update", client.update_cluster())
    broker = next(iter(client.brokers.values()))
    stage.record("broker", (type(broker.host), type(broker.port), broker.connected))
    stage.record("offsets", (broker.offsets_channel_connected, broker.offsets_channel_handler))
