"""Groups of managed balanced consumers on real brokers, with a topic in memory inside."""

import threading

import pytest
from tests.compat.pykafka.balance.stand_ins import InnerConsumer, MemoryTopic
from tests.waiting import NEVER_MS

from barnabas.compat.pykafka._balance import member as rebalancing
from barnabas.compat.pykafka.client import KafkaClient
from barnabas.compat.pykafka.exceptions import ConsumerStoppedException, UnicodeException, UnknownMemberId
from barnabas.compat.pykafka.managedbalancedconsumer import ManagedBalancedConsumer
from barnabas.compat.pykafka.membershipprotocol import RoundRobinProtocol


@pytest.fixture
def topic():
    return MemoryTopic()


@pytest.fixture
def join(topic, apache_kafka, monkeypatch, request):
    monkeypatch.setattr(rebalancing, "consumer_class", lambda **_: InnerConsumer)
    cluster = KafkaClient(hosts=apache_kafka.bootstrap, broker_version="0.9.0").cluster
    group = request.node.name.encode()
    members = []

    def joined(**settings):
        given = {"heartbeat_interval_ms": 100, "consumer_timeout_ms": 2000} | settings
        member = ManagedBalancedConsumer(topic, cluster, group, **given)
        members.append(member)
        return member

    yield joined
    for member in members:
        member.stop()


def test_one_member_has_all_two_share_and_who_leaves_gives_up_at_once(join, eventually):
    one = join()
    assert sorted(one.partitions) == [0, 1, 2, 3]
    assert one._generation_id == 1
    assert one.consume().offset == 0
    two = join()
    eventually(lambda: len(one.partitions) == 2 and len(two.partitions) == 2)
    assert sorted([*one.partitions, *two.partitions]) == [0, 1, 2, 3]
    assert one._consumer.settings["consumer_group"] == one._consumer_group
    assert one._consumer.generation_id == one._generation_id
    assert one._consumer.consumer_id == one._consumer_id
    two.stop()
    eventually(lambda: len(one.partitions) == 4)
    with pytest.raises(ConsumerStoppedException):
        two.consume()


def test_round_robin_deals_partitions_out(join, eventually):
    members = [join(membership_protocol=RoundRobinProtocol) for _ in range(2)]
    eventually(lambda: sorted(sorted(member.partitions) for member in members) == [[0, 2], [1, 3]])


def test_positions_are_committed_before_the_group_goes_on(join, topic, eventually):
    one = join()
    for _ in range(8):
        one.consume()
    del topic.history[:]
    two = join()
    eventually(lambda: len(one.partitions) == 2 and len(two.partitions) == 2)
    assert topic.history[0] == ("commit", one._consumer_id)
    assert topic.committed == dict.fromkeys(range(4), 2)
    assert two.consume().offset == 2


def test_the_callback_hears_of_every_generation(join, eventually):
    heard = []
    join(post_rebalance_callback=lambda _, before, after: heard.append((sorted(before), sorted(after))))
    two = join()
    eventually(lambda: len(heard) == 2)
    assert heard[0] == ([], [0, 1, 2, 3])
    assert heard[1][0] == [0, 1, 2, 3]
    assert len(heard[1][1]) == 2
    assert not set(heard[1][1]) & set(two.partitions)


def test_a_member_that_the_coordinator_does_not_know_is_told_so_by_its_next_call(join, eventually):
    one = join()
    one._group_coordinator.leave_group(one._connection_id, one._consumer_group, one._consumer_id)
    eventually(lambda: one._worker_exception is not None)
    with pytest.raises(UnknownMemberId):
        one.consume()
    with pytest.raises(UnknownMemberId):
        one.commit_offsets()


def test_stop_ends_heartbeats_and_leaves(join, eventually):
    one = join(heartbeat_interval_ms=NEVER_MS)
    one.stop()
    one.stop()
    two = join()
    assert len(two.partitions) == 4


def test_heartbeats_have_no_thread(join, eventually):
    one = join()
    eventually(lambda: one._heartbeats is not None)
    named = [thread.name for thread in threading.enumerate() if "ManagedBalancedConsumer" in thread.name]
    assert named == []


def test_a_member_whose_connection_broke_stays_in_the_group(join, eventually):
    one = join()
    broken = one._group_coordinator
    broken.disconnect()
    eventually(lambda: one.begin_heartbeat() is not None)
    two = join()
    eventually(lambda: len(one.partitions) == 2 and len(two.partitions) == 2)


def test_errors_of_the_coordinator_are_handled_by_the_table(join):
    one = join(auto_start=False)
    assert sorted(one._default_error_handlers) == [14, 15, 16, 22, 27]
    for code in (14, 22, 27):
        one._handle_error(code)
    with pytest.raises(UnknownMemberId):
        one._handle_error(25)


def test_rdkafka_and_groups_with_names_that_are_not_ascii_are_refused(topic, apache_kafka):
    cluster = KafkaClient(hosts=apache_kafka.bootstrap, broker_version="0.9.0").cluster
    with pytest.raises(ImportError, match="use_rdkafka is not available for ManagedBalancedConsumer"):
        ManagedBalancedConsumer(topic, cluster, b"g", use_rdkafka=True)
    with pytest.raises(UnicodeException):
        ManagedBalancedConsumer(topic, cluster, "gr\u00fcppe")
