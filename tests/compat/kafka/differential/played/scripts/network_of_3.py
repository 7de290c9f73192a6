"""What kafka-python 3 has below its clients, and requests as bytes for sockets of one's own."""

import io
import uuid

from tests.compat.kafka.differential.played.script import on_kafka, script


def net_client(stage, **settings):
    client = stage.module("net").KafkaNetClient(bootstrap_servers=stage.bootstrap, **settings)
    stage.closing(client.close)
    return client


def node_of(stage, client):
    client.check_version()
    stage.until(lambda: client.least_loaded_node() is not None, lambda: client.poll(timeout_ms=50))
    node = client.least_loaded_node()
    client.await_ready(node)
    return node


@on_kafka("3")
def net_clients_send_and_receive(kafka, stage):
    client = net_client(stage)
    node = node_of(stage, client)
    stage.record("ready", [client.is_ready(node), client.connected(node), client.is_disconnected(node)])
    request = stage.module("protocol.metadata").MetadataRequest(topics=[], version=4)
    answer = client.send_and_receive(node, request)
    stage.record("answer", [type(answer).__name__, answer.version, answer.topics, len(answer.brokers)])
    future = client.send(node, stage.module("protocol.admin").ListGroupsRequest(version=1))
    client.poll(timeout_ms=10000, future=future)
    stage.record("future", [future.succeeded(), future.value.error_code])
    stage.record("under way", client.in_flight_request_count())
    stage.record("throttled", client.throttle_delay(node))


@on_kafka("3")
def net_clients_know_the_version_of_brokers(kafka, stage):
    client = net_client(stage)
    stage.record("version", client.get_broker_version() >= (2, 0))
    stage.record("the same", client.check_version() == client.get_broker_version())


def protocol_of(stage):
    return stage.module("protocol.parser").KafkaProtocol(client_id="me")


def list_groups(stage):
    requests = stage.module("protocol.admin").ListGroupsRequest
    return requests(version=0) if stage.generation == "3" else requests[0]()


ANSWER = b"\0\0\0\x0a\0\0\0\1\0\0\0\0\0\0"


@script("2", "3")
def requests_are_bytes_and_bytes_are_answers(kafka, stage):
    protocol = protocol_of(stage)
    stage.record("number", protocol.send_request(list_groups(stage)))
    stage.record("to send", protocol.send_bytes())
    stage.record("sent", protocol.send_bytes())
    stage.record("half", protocol.receive_bytes(ANSWER[:7]))
    answers = protocol.receive_bytes(ANSWER[7:])
    stage.record("whole", [(number, type(answer).__name__, answer.groups) for number, answer in answers])
    stage.record("under way", len(protocol.in_flight_requests))
    protocol.send_request(list_groups(stage), correlation_id=7)
    stage.raised("another number", protocol.receive_bytes, ANSWER)
    stage.raised("nothing was asked", protocol_of(stage).receive_bytes, ANSWER)


@script("2", "3")
def bytes_have_a_place_in_them(kafka, stage):
    data = stage.module("protocol.frame").KafkaBytes(6)
    data.write(b"abc")
    stage.record("written", [bytes(data), data.tell(), str(data)])
    data.seek(1)
    stage.record("read", [data.read(1), data.read(), data.read(), data.tell()])


def told_of_brokers(brokers):
    return sorted((each.node_id, each.host, each.port, each.rack) for each in brokers)


def answer_of_metadata(stage, topics, version=12):
    messages = stage.module("protocol.metadata").MetadataResponse
    broker = messages.MetadataResponseBroker
    topic = messages.MetadataResponseTopic
    partition = topic.MetadataResponsePartition
    return messages(
        version=version,
        throttle_time_ms=0,
        brokers=[
            broker(node_id=number, host=host, port=9092, rack=None, version=version)
            for number, host in ((1, "a"), (2, "b"))
        ],
        cluster_id="c",
        controller_id=2,
        topics=[
            topic(
                error_code=error,
                name=name,
                topic_id=topic_id,
                is_internal=name.startswith("_"),
                partitions=[
                    partition(
                        error_code=0,
                        partition_index=index,
                        leader_id=leader,
                        leader_epoch=5,
                        replica_nodes=[1],
                        isr_nodes=[1],
                        offline_replicas=[],
                        version=version,
                    )
                    for index, leader in enumerate(leaders)
                ],
                version=version,
            )
            for error, name, topic_id, leaders in topics
        ],
    )


FIRST, SECOND = uuid.UUID(int=1), uuid.UUID(int=2)


@script("3")
def clusters_keep_which_topics_are_wanted(kafka, stage):
    cluster = stage.module("cluster").ClusterMetadata(bootstrap_servers="h:1,[::1]:2")
    stage.record("at first", [cluster.brokers(), cluster.bootstrap_brokers() != [], cluster.need_update])
    stage.record("bootstrap", sorted(each.node_id for each in cluster.bootstrap_brokers()))
    stage.record("nothing wanted", cluster.metadata_request().topics)
    first = cluster.add_topic("t")
    stage.record("new", [first.is_done, cluster.add_topic("t").value is cluster])
    stage.record("wanted", [each.name for each in cluster.metadata_request().topics])
    stage.record("fewer", cluster.set_topics(["t"]).is_done)
    stage.record("more", cluster.set_topics(["t", "u"]) is first)
    stage.raised("no name", cluster.add_topic, "a b")
    stage.raised("no text", cluster.set_topics, [None])
    cluster.need_all_topic_metadata = True
    stage.record("all", cluster.metadata_request().topics)
    stage.record("creates", cluster.metadata_request().allow_auto_topic_creation)
    stage.record("pause", cluster.refresh_backoff())


@script("3")
def clusters_know_ids_and_replicas(kafka, stage):
    cluster = stage.module("cluster").ClusterMetadata()
    future = cluster.set_topics(["t", "u"])
    topics = [(0, "t", FIRST, [1, -1]), (3, "u", SECOND, []), (0, "_i", uuid.UUID(int=3), [2])]
    cluster.update_metadata(answer_of_metadata(stage, topics))
    stage.record("future", [future.is_done, future.value is cluster])
    stage.record("brokers", told_of_brokers(cluster.brokers()))
    stage.record("one", told_of_brokers([cluster.broker_metadata(2), cluster.controller]))
    stage.record("topics", [sorted(cluster.topics()), sorted(cluster.topics(False))])
    stage.record("ids", [cluster.topic_id("t"), cluster.topic_id("nothing")])
    stage.record("names", [cluster.topic_name_for_id(FIRST), cluster.topic_name_for_id(uuid.UUID(int=9))])
    known = stage.partition("t", 0)
    stage.record("replica", told_of_brokers([cluster.is_replica_node(known, 1)]))
    none = [(known, 2), (known, 7), (stage.partition("t", 9), 1), (stage.partition("x", 0), 1)]
    stage.record("no replica", [cluster.is_replica_node(*each) for each in none])
    stage.record("again", cluster.need_update)
    stage.record(
        "epochs", [cluster.leader_epoch_for_partition(each) for each in (known, stage.partition("x", 0))]
    )
    stage.record("old news", [cluster.update_partition_leader(known, 2, epoch) for epoch in (-1, 5)])
    stage.record("news", cluster.update_partition_leader(known, 2, 6))
    stage.record("leader", [cluster.leader_for_partition(known), cluster.leader_epoch_for_partition(known)])
    stage.record("led", [sorted(cluster.partitions_for_broker(number)) for number in (1, 2)])
    stage.record("unknown", cluster.update_partition_leader(stage.partition("x", 0), 2, 6))
    cluster.update_metadata(answer_of_metadata(stage, [(0, "t", SECOND, [1])]))
    stage.record("made anew", [cluster.topic_id("t"), cluster.leader_epoch_for_partition(known)])
    stage.record("done", cluster.need_update)
    cluster.update_metadata(answer_of_metadata(stage, [(0, "t", None, [1])], version=8))
    stage.record("old answers", [cluster.topic_id("t"), cluster.leader_epoch_for_partition(known)])
    failed = cluster.request_update()
    cluster.update_metadata(answer_of_metadata(stage, [(17, "u", SECOND, [])]))
    stage.record("failed", [failed.failed(), type(failed.exception).__name__, cluster.unauthorized_topics])
    stage.record("text", str(cluster))
    cluster.remove_listener(print)


@script("3")
def clusters_know_coordinators(kafka, stage):
    cluster = stage.module("cluster").ClusterMetadata()
    kinds = stage.module("protocol.metadata").CoordinatorType
    response = stage.module("protocol.metadata").FindCoordinatorResponse
    answer = response(version=1, error_code=0, error_message=None, node_id=4, host="h", port=9)
    stage.record("unknown", cluster.get_coordinator("g"))
    stage.record("own", cluster.add_coordinator(answer, kinds.GROUP, "g"))
    stage.record("plain", cluster.add_coordinator(answer, "transaction", "x", synthesize_node_id=False))
    stage.record("known", [cluster.get_coordinator("g"), cluster.get_coordinator("x", kinds.TRANSACTION)])
    stage.record("broker", told_of_brokers([cluster.broker_metadata("coordinator-4")]))
    refused = response(version=1, error_code=15, error_message="not now", node_id=-1, host="", port=-1)
    stage.raised("refused", cluster.add_coordinator, refused, kinds.GROUP, "h")
    stage.record("still unknown", cluster.get_coordinator("h"))


@script("3")
def clusters_have_canonical_hosts(kafka, stage):
    module = stage.module("cluster")
    stage.record("address", module.expand_to_canonical_bootstrap_hosts([("127.0.0.1", 1, 2)]))
    stage.record("none", module.expand_to_canonical_bootstrap_hosts([("nothing.invalid", 1, 0)]))
    stage.record(
        "port", [module.DEFAULT_KAFKA_PORT, module.get_ip_port_afi("h"), module.get_ip_port_afi("[::1]:7")]
    )


@script("3")
def versions_of_requests_are_chosen(kafka, stage):
    data = stage.module("protocol.broker_version_data").BrokerVersionData
    request = stage.module("protocol.metadata").MetadataRequest
    spoken = data(api_versions={3: (2, 7), 18: (0, 3)})
    stage.record("newest", [spoken.api_version(each) for each in (request, request(topics=[]))])
    stage.record("at most", spoken.api_version(request, max_version=5))
    stage.record("its own", spoken.api_version(request(topics=[], max_version=4)))
    stage.raised("too old", spoken.api_version, request, max_version=1)
    stage.raised("too new", spoken.api_version, request(topics=[], min_version=8))
    stage.raised("unknown", spoken.api_version, stage.module("protocol.admin").ListGroupsRequest)
    stage.raised("wrong way round", spoken.api_version, request, 3, 1)


@script("3")
def bytes_of_mechanisms_are_requests(kafka, stage):
    module = stage.module("protocol.sasl")
    protocol = protocol_of(stage)
    number = protocol.send_request(module.SaslBytesRequest(b"\0me\0secret"))
    stage.record("sent", [number, protocol.send_bytes()])
    request = module.SaslBytesRequest(b"abc")
    request.with_header(correlation_id=4)
    answer = request.header.get_response_class()
    stage.record("expects", [request.expect_response(), request.API_VERSION, answer.correlation_id])
    stage.record("answer", answer.parse_header(None).decode(io.BytesIO(b"xyz")).auth_bytes)
    stage.record("error", answer.error_code)
