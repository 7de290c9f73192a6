"""What kafka-python 3 has below its clients, and requests as bytes for sockets of one's own."""

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
