from __future__ import annotations

import datetime as dt
import gc
import socket
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.waiting import wait_for

from barnabas.client.admin.types.topics import NewTopic
from barnabas.compat.pykafka import Broker, KafkaClient
from barnabas.compat.pykafka.common import OffsetType
from barnabas.compat.pykafka.exceptions import (
    InvalidTopic,
    KafkaException,
    NoBrokersAvailableError,
    NotLeaderForPartition,
    SocketDisconnectedError,
    UnicodeException,
    UnknownTopicOrPartition,
)
from barnabas.compat.pykafka.protocol import (
    CreateTopicRequest,
    Message,
    MetadataResponse,
    PartitionFetchRequest,
    ProduceRequest,
)
from barnabas.sync.admin import Admin
from barnabas.testing import ApacheKafka

SHORT_MS = 3_000


@pytest.fixture(scope="module", params=["0.9.0", "2.0.0"])
def client(request: pytest.FixtureRequest, kafka: ApacheKafka) -> KafkaClient:
    return KafkaClient(kafka.bootstrap, broker_version=request.param)


@pytest.fixture
def new_topic(kafka: ApacheKafka, client: KafkaClient) -> Iterator[Callable[..., Any]]:
    with Admin(kafka.bootstrap) as admin:
        names: list[str] = []

        def make(partitions: int = 1) -> Any:
            name = f"made-{time.monotonic_ns()}"
            admin.create_topics([NewTopic(name, partitions)])
            names.append(name)
            wait_for(lambda: client.update_cluster() or name.encode() in client.topics)
            return client.topics[name]

        yield make
        admin.delete_topics(names)


def produce(topic: Any, *messages: Message, partition: int = 0, acks: int = -1) -> Any:
    request = ProduceRequest(required_acks=acks)
    for each in messages:
        request.add_message(each, topic.name, partition)
    leader = topic.partitions[partition].leader
    if not acks:
        return leader.produce_messages(request)
    # A broker hears of what it leads a moment after others tell of it.
    answers: list[Any] = []
    wait_for(
        lambda: (
            answers.append(leader.produce_messages(request))
            or answers[-1].topics[topic.name][partition].err != NotLeaderForPartition.ERROR_CODE
        )
    )
    return answers[-1]


def test_a_client_knows_brokers_and_topics(client: KafkaClient, new_topic: Callable[..., Any]) -> None:
    topic = new_topic(3)
    (broker,) = client.brokers.values()
    assert (broker.id, broker.connected, type(broker.host)) == (1, True, bytes)
    assert sorted(topic.partitions) == [0, 1, 2]
    partition = topic.partitions[1]
    assert (partition.id, partition.leader) == (1, broker)
    assert (partition.replicas, partition.isr) == ([broker], [broker])
    assert partition.topic is topic
    assert client.topics[topic.name] is topic
    assert client.topics[topic.name.decode()] is topic
    assert topic in client.topics.values()


def test_topics_are_kept_only_as_long_as_the_program_does(
    client: KafkaClient, new_topic: Callable[..., Any]
) -> None:
    topic = new_topic()
    name, known = topic.name, weakref.ref(topic)
    del topic
    gc.collect()
    assert known() is None
    assert client.topics[name].name == name


def test_a_topic_that_is_asked_for_is_made(client: KafkaClient) -> None:
    name = f"asked-{time.monotonic_ns()}"
    assert name.encode() not in client.topics
    assert sorted(client.topics[name].partitions) == [0]


def test_what_no_topic_can_be_called_is_refused(client: KafkaClient) -> None:
    with pytest.raises(UnicodeException, match="non-ascii"):
        client.topics["ü"]
    with pytest.raises(InvalidTopic, match="Failed to auto-create topic"):
        client.topics["no topic"]


def test_topics_of_kafkas_own_are_hidden_unless_one_wants_them(kafka: ApacheKafka) -> None:
    client = KafkaClient(kafka.bootstrap)
    client.cluster.get_group_coordinator(b"group")
    client.update_cluster()
    assert b"__consumer_offsets" not in client.topics
    with pytest.raises(KeyError):
        client.topics["__consumer_offsets"]
    shown = KafkaClient(kafka.bootstrap, exclude_internal_topics=False)
    assert shown.topics["__consumer_offsets"].partitions


def test_where_brokers_make_no_topics_there_is_none(tmp_path: Any) -> None:
    with ApacheKafka(config={"auto.create.topics.enable": "false"}) as kafka:
        client = KafkaClient(kafka.bootstrap)
        with pytest.raises(UnknownTopicOrPartition, match="Failed to auto-create topic"):
            client.topics["asked"]


def test_a_topic_that_is_gone_is_forgotten_and_new_partitions_are_seen(
    kafka: ApacheKafka, client: KafkaClient
) -> None:
    name = f"growing-{time.monotonic_ns()}"
    with Admin(kafka.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1)])
        wait_for(lambda: client.update_cluster() or name.encode() in client.topics)
        topic = client.topics[name]
        admin.create_partitions({name: 2})
        wait_for(lambda: client.update_cluster() or sorted(topic.partitions) == [0, 1])
        admin.delete_topics([name])
        wait_for(lambda: client.update_cluster() or name.encode() not in client.topics)


def test_offsets_are_those_of_the_partitions_ends_and_of_a_time(new_topic: Callable[..., Any]) -> None:
    topic = new_topic(2)
    messages = [Message(b"v", protocol_version=1, timestamp=1000 * n) for n in (1, 2, 3)]
    assert produce(topic, *messages).topics[topic.name][0].err == 0
    assert {n: each.offset for n, each in topic.earliest_available_offsets().items()} == {0: [0], 1: [0]}
    assert {n: each.offset for n, each in topic.latest_available_offsets().items()} == {0: [3], 1: [0]}
    partition = topic.partitions[0]
    assert (partition.earliest_available_offset(), partition.latest_available_offset()) == (0, 3)
    at_two_seconds = dt.datetime(1970, 1, 1, 0, 0, 2)
    assert partition.fetch_offset_limit(at_two_seconds) == [1]
    assert topic.fetch_offset_limits(at_two_seconds, max_offsets=2)[0].offset == [1, 0]
    assert partition.fetch_offset_limit(10**13, 5) == [3, 0]
    assert topic.fetch_offset_limits(OffsetType.LATEST, 2)[1].offset == [0]


def test_messages_are_produced_and_fetched_in_any_version(
    client: KafkaClient, new_topic: Callable[..., Any]
) -> None:
    topic = new_topic()
    produce(topic, Message(b"a", b"k", protocol_version=1, timestamp=1000), Message(None, b"k"))
    assert produce(topic, Message(b"b"), acks=0) is None
    wait_for(lambda: topic.latest_available_offsets()[0].offset == [3])
    leader = topic.partitions[0].leader
    fetched = leader.fetch_messages([PartitionFetchRequest(topic.name, 0, 0)], timeout=1000)
    answer = fetched.topics[topic.name][0]
    assert (answer.max_offset, answer.err) == (3, 0)
    assert [(each.offset, each.value, each.partition_key) for each in answer.messages] == [
        (0, b"a", b"k"),
        (1, None, b"k"),
        (2, b"b", None),
    ]
    has_timestamps = client.cluster.controller_broker is not None
    assert answer.messages[0].timestamp == (1000 if has_timestamps else 0)


@pytest.mark.parametrize("compression", [1, 2, 3])
def test_compressed_messages_are_taken(new_topic: Callable[..., Any], compression: int) -> None:
    topic = new_topic()
    request = ProduceRequest(compression, broker_version="2.0.0")
    for number in range(20):
        request.add_message(Message(b"%d" % number * 100), topic.name, 0)
    leader = topic.partitions[0].leader
    wait_for(lambda: leader.produce_messages(request).topics[topic.name][0].err == 0)
    fetched = leader.fetch_messages([PartitionFetchRequest(topic.name, 0, 5)], timeout=1000)
    values = [each.value for each in fetched.topics[topic.name][0].messages]
    assert values == [b"%d" % number * 100 for number in range(5, 20)]


def test_topics_are_made_and_removed_by_hand(kafka: ApacheKafka) -> None:
    client = KafkaClient(kafka.bootstrap, broker_version="2.0.0")
    controller = client.cluster.controller_broker
    assert controller is client.brokers[1]
    wanted = CreateTopicRequest(b"by-hand", -1, -1, [(0, [1]), (1, [1])], [(b"retention.ms", b"1000")])
    controller.create_topics([wanted], timeout=10_000)
    wait_for(lambda: client.update_cluster() or b"by-hand" in client.topics)
    assert sorted(client.topics["by-hand"].partitions) == [0, 1]
    # The original knows no exception for the code, and raises a KeyError.
    with pytest.raises(KeyError) as caught:
        controller.create_topics([wanted], timeout=10_000)
    assert isinstance(caught.value, KafkaException)
    assert "(b'by-hand', 36)" in str(caught.value)
    controller.delete_topics([b"by-hand"], timeout=10_000)
    wait_for(lambda: client.update_cluster() or b"by-hand" not in client.topics)
    with pytest.raises(UnknownTopicOrPartition):
        controller.delete_topics([b"by-hand"], timeout=10_000)


def test_metadata_is_asked_for_in_the_version_that_the_program_names(kafka: ApacheKafka) -> None:
    (old,) = KafkaClient(kafka.bootstrap).brokers.values()
    (new,) = KafkaClient(kafka.bootstrap, broker_version="2.0.0").brokers.values()
    assert type(old.request_metadata()) is MetadataResponse
    assert old.request_metadata().controller_id is None
    assert (new.request_metadata().controller_id, new.request_metadata().cluster_id) == (
        1,
        kafka.cluster_id.encode(),
    )


def test_an_address_to_come_from_may_be_given(kafka: ApacheKafka) -> None:
    client = KafkaClient(kafka.bootstrap, source_address="127.0.0.2:0")
    assert client.brokers[1].connected
    assert client.cluster._core.settings()["source_address"] == "127.0.0.2:0"
    with pytest.raises(NoBrokersAvailableError):
        KafkaClient(kafka.bootstrap, source_address="203.0.113.1:0", socket_timeout_ms=SHORT_MS)


def test_the_cores_clients_get_along_with_the_settings_of_a_cluster(
    kafka: ApacheKafka, client: KafkaClient
) -> None:
    settings = client.cluster._core.settings()
    assert settings["bootstrap_servers"] == [kafka.bootstrap]
    with Admin(**settings) as admin:
        assert admin.describe_cluster().cluster_id == kafka.cluster_id


def test_a_broker_that_moved_is_found_where_it_is_now(kafka: ApacheKafka) -> None:
    client = KafkaClient(kafka.bootstrap)
    topic = client.topics["moved"]
    moved = Broker(1, "127.0.0.1", 1, client.cluster.handler, SHORT_MS, SHORT_MS)
    client.brokers[1] = topic.partitions[0]._leader = moved
    client.update_cluster()
    found = client.brokers[1]
    assert found is not moved
    assert found.connected
    assert topic.partitions[0].leader is found
    assert topic.partitions[0].replicas == [found]


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address where nobody answers, and nobody will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize(
    ("version", "error"), [("0.9.0", NoBrokersAvailableError), ("2.0.0", SocketDisconnectedError)]
)
def test_where_no_broker_answers_a_client_says_so(nowhere: str, version: str, error: Any) -> None:
    with pytest.raises(error):
        KafkaClient(nowhere, broker_version=version)


def test_a_server_that_is_silent_is_given_up(kafka: ApacheKafka) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(NoBrokersAvailableError):
        KafkaClient(f"127.0.0.1:{server.getsockname()[1]}", socket_timeout_ms=100)


def test_one_broker_that_answers_is_enough(kafka: ApacheKafka, nowhere: str) -> None:
    assert KafkaClient(f"{nowhere},{kafka.bootstrap}/ignored").brokers


def test_a_broker_that_goes_away_and_comes_back_is_asked_again() -> None:
    with ApacheKafka() as kafka:
        client = KafkaClient(kafka.bootstrap)
        broker = client.brokers[1]
        kafka.kill()
        wait_for(lambda: not broker.connected)
        with pytest.raises(SocketDisconnectedError):
            broker.list_groups()
        with pytest.raises(NoBrokersAvailableError):
            client.update_cluster()
        kafka.start()
        client.update_cluster()
        assert client.brokers[1] is broker
        assert broker.list_groups().error == 0
