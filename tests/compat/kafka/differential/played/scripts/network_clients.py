"""KafkaClient, BrokerConnection and ClusterMetadata."""

import time

from tests.compat.kafka.differential.played.script import on_kafka, script


def client_of(stage, **settings):
    settings.setdefault("bootstrap_servers", stage.bootstrap)
    client = stage.module("client_async").KafkaClient(**settings)
    stage.closing(client.close)
    return client


def ready_node(stage, client):
    """The number of a node that may be sent requests."""
    update = client.cluster.request_update()
    client.poll(timeout_ms=10000, future=update)
    node = client.least_loaded_node()
    stage.until(lambda: client.ready(node), lambda: client.poll(timeout_ms=50))
    return node


def connection_of(stage, **settings):
    host, port = stage.bootstrap.split(":")
    family = stage.module("conn").get_ip_port_afi(stage.bootstrap)[2]
    connection = stage.module("conn").BrokerConnection(host, int(port), family, **settings)
    stage.closing(connection.close)
    return connection


def connected(stage, connection):
    def is_connected():
        connection.connect()
        return connection.connected()

    stage.until(is_connected)
    return connection


def answer(stage, connection, future):
    """Receives until the future is done."""

    def step():
        received = connection.recv()
        if isinstance(received, list):
            for response, done in received:
                done.success(response)

    stage.until(lambda: future.is_done, step)
    return future


def metadata_request(stage, version, *values):
    return stage.module("protocol.metadata").MetadataRequest[version](*values)


@on_kafka("1.2", "2")
def clients_know_the_cluster_after_an_update(kafka, stage):
    client = client_of(stage)
    update = client.cluster.request_update()
    client.poll(timeout_ms=10000, future=update)
    stage.record("done", [update.is_done, update.succeeded(), update.value is client.cluster])
    stage.record("brokers", len(client.cluster.brokers()))
    broker = next(iter(client.cluster.brokers()))
    stage.record("fields", broker._fields)
    stage.record("the same", client.cluster.broker_metadata(broker.nodeId) == broker)
    stage.record("unknown", client.cluster.broker_metadata(9999))
    stage.record("is it due", client.cluster.ttl() > 1000)


@on_kafka("1.2", "2")
def a_topic_is_added_and_its_partitions_are_known(kafka, stage):
    topic = stage.topic(partitions=3)
    client = client_of(stage)
    future = client.add_topic(topic)
    client.poll(timeout_ms=10000, future=future)
    stage.record("future", [future.succeeded(), future.value is client.cluster])
    stage.record("partitions", client.cluster.partitions_for_topic(topic))
    stage.record("available", client.cluster.available_partitions_for_topic(topic))
    stage.record("topics", topic in client.cluster.topics())
    leader = client.cluster.leader_for_partition(stage.partition(topic, 1))
    stage.record("leads", client.cluster.broker_metadata(leader) is not None)
    stage.record("led", len(client.cluster.partitions_for_broker(leader)))
    stage.record("another partition", client.cluster.leader_for_partition(stage.partition(topic, 7)))
    again = client.add_topic(topic)
    stage.record("again", [again.is_done, again.value])
    stage.record("another topic", client.cluster.partitions_for_topic("nothing-of-the-kind"))


@on_kafka("1.2", "2")
def topics_are_set(kafka, stage):
    first, second = stage.topic(), stage.topic()
    client = client_of(stage)
    future = client.set_topics([first, second])
    client.poll(timeout_ms=10000, future=future)
    stage.record("both", [first in client.cluster.topics(), second in client.cluster.topics()])
    fewer = client.set_topics([first])
    stage.record("fewer", [fewer.is_done, fewer.value])


@on_kafka("1.2", "2")
def nodes_become_ready_by_polling(kafka, stage):
    client = client_of(stage)
    node = ready_node(stage, client)
    stage.record("ready", [client.is_ready(node), client.connected(node), client.is_disconnected(node)])
    stage.record("under way", [client.in_flight_request_count(node), client.in_flight_request_count()])
    stage.record("delay", client.connection_delay(node))
    client.close(node)
    stage.record("closed", [client.is_ready(node), client.connected(node)])
    stage.record("of nobody", [client.connected(9999), client.is_disconnected(9999)])
    stage.record("delay of nobody", client.connection_delay(9999))


@on_kafka("1.2", "2")
def answers_complete_futures_in_the_thread_that_polls(kafka, stage):
    client = client_of(stage)
    node = ready_node(stage, client)
    topic = stage.topic()
    future = client.send(node, metadata_request(stage, 0, [topic]))
    future.add_callback(lambda response: stage.callback("called")(type(response).__name__))
    stage.record("pending", [future.is_done, client.in_flight_request_count(node)])
    answers = client.poll(timeout_ms=10000, future=future)
    stage.record("answers", [answers[-1] is future.value, type(future.value).__name__])
    stage.record("topics", [(each[0], each[1]) for each in future.value.topics])
    stage.record("under way", client.in_flight_request_count(node))


@on_kafka("1.2", "2")
def requests_to_nodes_that_are_not_ready_fail(kafka, stage):
    client = client_of(stage)
    client.poll(timeout_ms=10000, future=client.cluster.request_update())
    node = next(iter(client.cluster.brokers())).nodeId
    client.close(node)
    if stage.generation == "2":
        future = client.send(9999, metadata_request(stage, 0, []))
        stage.record("unknown", [future.is_done, future.exception])
    else:
        stage.attempt("unknown", client.send, 9999, metadata_request(stage, 0, []))


@on_kafka("1.2", "2")
def several_requests_are_answered_in_order(kafka, stage):
    client = client_of(stage)
    node = ready_node(stage, client)
    done = []
    futures = []
    for number in range(4):
        future = client.send(node, metadata_request(stage, 0, [f"nothing-of-the-kind-{number}"]))
        future.add_both(lambda _, number=number: done.append(number))
        futures.append(future)
    more = [client.send(node, metadata_request(stage, 0, [])) for _ in range(2)]
    stage.record("one too many", more[1].exception.__class__.__name__)
    for future in futures:
        client.poll(timeout_ms=10000, future=future)
    stage.record("order", done)


@on_kafka("1.2", "2")
def groups_are_listed_and_coordinators_found(kafka, stage):
    client = client_of(stage)
    node = ready_node(stage, client)
    admin = stage.module("protocol.admin")
    listed = client.send(node, admin.ListGroupsRequest[0]())
    client.poll(timeout_ms=10000, future=listed)
    stage.record("listed", [listed.value.error_code, type(listed.value.groups).__name__])
    commit = stage.module("protocol.commit")
    if stage.generation == "1.2":
        request = commit.GroupCoordinatorRequest[0](stage.group())
    else:
        request = stage.module("protocol.find_coordinator").FindCoordinatorRequest[0](stage.group())

    def ask(asked):
        future = client.send(node, asked)
        client.poll(timeout_ms=10000, future=future)
        return future

    # A broker that was just started makes the topic of offsets now.
    stage.until(lambda: ask(request).value.error_code == 0)
    found = ask(request)
    stage.record("found", [found.succeeded(), type(found.value).__name__])
    describe = admin.DescribeGroupsRequest[0](["nothing-of-the-kind"])
    stage.until(lambda: ask(describe).value.groups[0][0] == 0)
    stage.record("described", ask(describe).value.groups)


@on_kafka("1.2", "2")
def offsets_are_committed_and_fetched_by_requests(kafka, stage):
    topic, group = stage.topic(), stage.group()
    client = client_of(stage)
    node = ready_node(stage, client)
    commit = stage.module("protocol.commit")
    request = commit.OffsetCommitRequest[2](group, -1, "", -1, [(topic, [(0, 5, "note")])])

    def committed():
        future = client.send(node, request)
        client.poll(timeout_ms=10000, future=future)
        return future.succeeded() and future.value.topics[0][1][0][1] == 0

    stage.until(committed)
    fetched = client.send(node, commit.OffsetFetchRequest[1](group, [(topic, [0])]))
    client.poll(timeout_ms=10000, future=fetched)
    stage.record("fetched", fetched.value.topics)


@on_kafka("1.2", "2")
def clients_find_the_version_of_brokers(kafka, stage):
    client = client_of(stage)
    node = ready_node(stage, client)
    stage.record("kind", type(client.check_version()).__name__)
    if stage.generation == "1.2":
        stage.record("of a node", client.check_version(node) == client.check_version())


@on_kafka("1.2")
def clients_call_brokers_of_today_0_10(kafka, stage):
    client = client_of(stage)
    stage.record("version", client.check_version())
    stage.record("connection", connected(stage, connection_of(stage)).check_version())


@on_kafka("2")
def clients_choose_versions_that_brokers_speak(kafka, stage):
    client = client_of(stage)
    metadata = stage.module("protocol.metadata").MetadataRequest
    ready_node(stage, client)
    stage.record("metadata", client.api_version(metadata))
    stage.record("at most", client.api_version(metadata, max_version=3))
    stage.record("spoken", client.get_api_versions()[18][0])
    stage.record("version", client.config["api_version"] >= (2, 0))
    client._api_versions = {3: (20, 25)}
    stage.attempt("none in common", client.api_version, metadata)
    client._api_versions = {}
    stage.attempt("none at all", client.api_version, metadata)


@on_kafka("2")
def answers_are_waited_for(kafka, stage):
    client = client_of(stage)
    client.poll(timeout_ms=10000, future=client.cluster.request_update())
    node = client.least_loaded_node()
    stage.record("ready", client.await_ready(node))
    response = client.send_and_receive(node, metadata_request(stage, 1, []))
    stage.record("answer", [type(response).__name__, response.topics])
    stage.record("bootstrap", client.bootstrap_connected())
    stage.attempt("unknown node", client.send_and_receive, 9999, metadata_request(stage, 0, []))


@on_kafka("2")
def names_of_topics_are_checked_by_the_network_client(kafka, stage):
    client = client_of(stage)
    for name in (None, 5, "", ".", "a b", "x" * 250):
        stage.attempt("add", client.add_topic, name)


@on_kafka("1.2")
def tasks_are_scheduled(kafka, stage):
    client = client_of(stage)
    done = client.schedule(stage.callback("task", then=lambda: 5), time.time() - 1)
    client.poll(timeout_ms=1000, future=done)
    stage.record("value", done.value)

    def fails():
        raise ValueError("no")

    failed = client.schedule(fails, time.time() - 1)
    client.poll(timeout_ms=1000, future=failed)
    stage.record("exception", failed.exception)

    def later():
        return 6

    first = client.schedule(later, time.time() + 1000)
    second = client.schedule(later, time.time() - 1)
    stage.record("replaced", [first.is_done, first.exception])
    client.poll(timeout_ms=1000, future=second)
    stage.record("second", second.value)
    third = client.schedule(later, time.time() + 1000)
    client.unschedule(later)
    stage.record("unscheduled", [third.is_done, third.exception])
    stage.attempt("not scheduled", client.unschedule, fails)


@on_kafka("1.2", "2")
def connections_are_made_by_hand(kafka, stage):
    connection = connection_of(stage)
    stage.record("at first", [connection.connected(), connection.connecting(), connection.disconnected()])
    connected(stage, connection)
    stage.record("connected", [connection.connected(), connection.connecting(), connection.disconnected()])
    stage.record("state", connection.state)
    stage.record("blacked out", connection.blacked_out())
    future = answer(stage, connection, connection.send(metadata_request(stage, 0, ["nothing-of-the-kind"])))
    stage.record("answer", [type(future.value).__name__, len(future.value.brokers)])
    connection.close()
    stage.record("closed", [connection.connected(), connection.disconnected(), connection.state])
    late = connection.send(metadata_request(stage, 0, []))
    stage.record("late", [late.is_done, type(late.exception).__name__])


@on_kafka("1.2", "2")
def connections_send_only_so_much_at_once(kafka, stage):
    connection = connected(stage, connection_of(stage, max_in_flight_requests_per_connection=2))
    futures = [connection.send(metadata_request(stage, 0, ["x"])) for _ in range(3)]
    stage.record("sent", [future.is_done for future in futures])
    stage.record("third", type(futures[2].exception).__name__)
    stage.record("under way", [len(connection.in_flight_requests), connection.can_send_more()])
    answer(stage, connection, futures[1])
    stage.record("then", [len(connection.in_flight_requests), connection.can_send_more()])


@on_kafka("1.2", "2")
def what_is_under_way_fails_when_a_connection_is_closed(kafka, stage):
    errors = stage.module("errors")
    connection = connected(stage, connection_of(stage))
    future = connection.send(metadata_request(stage, 0, ["x"]))
    future.add_errback(lambda error: stage.record("called", type(error).__name__))
    connection.close()
    stage.record("failed", type(future.exception).__name__)
    connection = connected(stage, connection_of(stage))
    future = connection.send(metadata_request(stage, 0, ["x"]))
    connection.close(errors.RequestTimedOutError("mine"))
    stage.record("with an error", future.exception)


@on_kafka("1.2", "2")
def changes_of_state_are_told(kafka, stage):
    seen = []

    def told(*arguments):
        if not seen or seen[-1] != arguments[-1].state:
            seen.append(arguments[-1].state)

    connection = connection_of(stage, state_change_callback=told)
    connected(stage, connection)
    connection.close()
    if stage.generation == "2":
        stage.record("first", seen[0])
    stage.record("connected", "<connected>" in seen)
    stage.record("last", seen[-1])


@script("1.2")
def connections_say_where_they_go(kafka, stage):
    conn = stage.module("conn")
    stage.record("text", str(conn.BrokerConnection("localhost", 9092, 0)))
    stage.record("text", repr(conn.BrokerConnection("127.0.0.1", 9093, 2)))


@script("2")
def connections_say_where_they_go_and_how_they_are(kafka, stage):
    conn = stage.module("conn")
    stage.record("text", str(conn.BrokerConnection("localhost", 9092, 0)))
    stage.record("text", str(conn.BrokerConnection("127.0.0.1", 9093, 2, node_id=5, client_id="me")))


@script("1.2", "2")
def connections_that_are_refused_are_disconnected(kafka, stage):
    conn = stage.module("conn")
    connection = conn.BrokerConnection("127.0.0.1", 1, 2)
    stage.until(lambda: connection.disconnected() and connection.last_attempt > 0, connection.connect)
    stage.record("state", connection.state)
    stage.record("sent", type(connection.send(metadata_request(stage, 0, [])).exception).__name__)


@script("1.2", "2")
def addresses_are_read(kafka, stage):
    conn = stage.module("conn")
    for address in ("host", "host:9094", "127.0.0.1", "127.0.0.1:5", "::1", "[::1]", "[::1]:7", " host:8 "):
        stage.attempt(address, conn.get_ip_port_afi, address)
    stage.attempt("no number", conn.get_ip_port_afi, "host:x")
    hosts = stage.module("conn" if stage.generation == "1.2" else "cluster").collect_hosts
    stage.record("a text", hosts("a:1,b:2", randomize=False))
    stage.record("a list", hosts(["a:1", "b"], randomize=False))
    stage.record("in any order", sorted(hosts("a:1,b:2")))


@script("1.2")
def metadata_is_read_out_of_answers(kafka, stage):
    cluster = stage.module("cluster").ClusterMetadata()
    response = stage.module("protocol.metadata").MetadataResponse[0]
    stage.record("text", str(cluster))
    heard = []
    cluster.add_listener(lambda changed: heard.append(str(changed)))
    future = cluster.request_update()
    stage.record("the same future", cluster.request_update() is future)
    cluster.update_metadata(
        response(
            [(0, "a", 1), (1, "b", 2)],
            [(0, "t", [(0, 0, 1, [1], [1]), (5, 1, -1, [1], [])]), (3, "u", []), (29, "v", [])],
        )
    )
    stage.record("future", [future.is_done, future.value is cluster])
    stage.record("brokers", sorted(cluster.brokers()))
    stage.record("topics", sorted(cluster.topics()))
    stage.record("partitions", cluster.partitions_for_topic("t"))
    stage.record("available", cluster.available_partitions_for_topic("t"))
    stage.record("leader", cluster.leader_for_partition(stage.partition("t", 1)))
    stage.record("led", cluster.partitions_for_broker(1))
    stage.record("unauthorized", cluster.unauthorized_topics)
    stage.record("heard", heard)
    failed = cluster.request_update()
    cluster.update_metadata(response([(0, "a", 1)], [(3, "u", [])]))
    stage.record("one topic", failed.exception)
    failed = cluster.request_update()
    cluster.failed_update(ValueError("mine"))
    stage.record("failed", failed.exception)
    coordinator = stage.module("protocol.commit").GroupCoordinatorResponse[0]
    stage.record("coordinator", cluster.add_group_coordinator("g", coordinator(0, 1, "b", 2)))
    stage.record("of the group", cluster.coordinator_for_group("g"))
    stage.record("not told", cluster.add_group_coordinator("h", coordinator(15, -1, "", -1)))
    stage.record("another broker", cluster.add_group_coordinator("g", coordinator(0, 1, "c", 3)))


@script("2")
def metadata_is_read_out_of_answers_of_all_versions(kafka, stage):
    cluster = stage.module("cluster").ClusterMetadata(bootstrap_servers="x:1,y:2")
    responses = stage.module("protocol.metadata").MetadataResponse
    stage.record("text", str(cluster))
    stage.record("bootstrap", sorted(each.nodeId for each in cluster.brokers()))
    stage.record("is bootstrap", [cluster.is_bootstrap("bootstrap-0"), cluster.is_bootstrap(0)])
    for response in (
        responses[0]([(0, "a", 1)], [(0, "t", [(0, 0, 0, [0], [0])])]),
        responses[1]([(0, "a", 1, "r")], 0, [(0, "t", True, [(0, 0, 0, [0], [0])])]),
        responses[2]([(0, "a", 1, None)], "c", 0, [(0, "t", False, [(0, 0, 0, [0], [0])])]),
        responses[5](0, [(0, "a", 1, None)], "c", 0, [(0, "t", False, [(0, 0, 0, [0], [0], [1])])]),
        responses[7](0, [(0, "a", 1, None)], "c", 0, [(0, "t", False, [(0, 0, 0, 4, [0], [0], [1])])]),
    ):
        cluster.update_metadata(response)
        stage.record("brokers", cluster.brokers())
        stage.record("topics", [sorted(cluster.topics()), sorted(cluster.topics(False)), cluster.cluster_id])
        stage.record("controller", cluster.controller)
        stage.record("epoch", cluster.leader_epoch_for_partition(stage.partition("t", 0)))
    future = cluster.request_update()
    cluster.update_metadata(responses[0]([], []))
    stage.record("no brokers", type(future.exception).__name__)
    future = cluster.request_update()
    cluster.update_metadata(responses[0]([(0, "a", 1)], [(3, "u", [])]))
    stage.record("one topic", [future.exception, cluster.need_update])
    coordinator = stage.module("protocol.find_coordinator").FindCoordinatorResponse[0]
    stage.record("coordinator", cluster.add_coordinator(coordinator(0, 1, "b", 2), "group", "g"))
    stage.record("of the group", cluster.coordinator_for_group("g"))
    stage.record("not told", cluster.add_coordinator(coordinator(15, -1, "", -1), "group", "h"))
    stage.record("of that group", cluster.coordinator_for_group("h"))
    stage.record("its broker", cluster.broker_metadata("coordinator-1"))


@script("2")
def clients_that_find_no_broker_say_so(kafka, stage):
    client = stage.module("client_async").KafkaClient
    stage.attempt("nobody", client, bootstrap_servers="127.0.0.1:1", api_version_auto_timeout_ms=300)


@on_kafka("1.2", "2")
def polls_take_only_times(kafka, stage):
    client = client_of(stage)
    if stage.generation == "2":
        stage.attempt("a text", client.poll, "5")
    stage.record("nothing", client.poll(timeout_ms=0) is not None)
    client.wakeup()
    stage.record("woken", client.poll(timeout_ms=10000) is not None)


@script("1.2", "2")
def default_settings_of_connections_are_theirs(kafka, stage):
    for module, name in (
        ("client_async", "KafkaClient"),
        ("conn", "BrokerConnection"),
        ("cluster", "ClusterMetadata"),
    ):
        config = getattr(stage.module(module), name).DEFAULT_CONFIG
        stage.record(name, sorted(config))
        stage.record(
            "values", sorted((key, value) for key, value in config.items() if isinstance(value, (int, str)))
        )


@on_kafka("1.2")
def requests_of_old_are_answered_by_brokers_of_today(kafka, stage):
    topic, group = stage.topic(), stage.group()
    client = client_of(stage)
    node = ready_node(stage, client)

    def ask(request):
        stage.until(lambda: client.is_ready(node), lambda: client.poll(timeout_ms=50))
        future = client.send(node, request)
        client.poll(timeout_ms=10000, future=future)
        return future.value

    message = stage.module("protocol.message").Message
    produce = stage.module("protocol.produce").ProduceRequest
    for version in (0, 1, 2):
        magic = 1 if version == 2 else 0
        texts = [(b"one", b"k"), (b"two", None), (None, b"three")]
        messages = [(0, message(value, key, magic=magic).encode()) for value, key in texts]
        answered = ask(produce[version](1, 1000, [(topic, [(0, messages)])]))
        stage.record("produced", answered.topics[0][1][0][:3])
    fetch = stage.module("protocol.fetch").FetchRequest
    for version in (0, 2):
        answered = ask(fetch[version](-1, 100, 1, [(topic, [(0, 1, 100000)])]))
        partition, error, highwater, found = answered.topics[0][1][0]
        stage.record("fetched", [partition, error, highwater])
        stage.record(
            "messages", [(each[0], each[2].key, each[2].value) for each in found if each[0] and each[0] < 8]
        )
    offset = stage.module("protocol.offset").OffsetRequest
    for wanted in (-1, -2):
        stage.record("offsets", ask(offset[0](-1, [(topic, [(0, wanted, 1)])])).topics)
    commit = stage.module("protocol.commit")

    def committed():
        ask(commit.GroupCoordinatorRequest[0](group))
        answered = ask(commit.OffsetCommitRequest[1](group, -1, "", [(topic, [(0, 3, -1, "note")])]))
        return answered.topics[0][1][0][1] == 0

    stage.until(committed)
    stage.record("committed", ask(commit.OffsetFetchRequest[1](group, [(topic, [0])])).topics)
