"""When a balanced consumer claims, commits and gives up, on a real ZooKeeper and a topic in memory."""

import gc
import threading

import pytest
from kazoo.client import KazooClient
from tests.compat.pykafka.balance.stand_ins import InnerConsumer, MemoryTopic, cluster
from tests.waiting import NEVER_MS

from barnabas.compat.pykafka._balance import member as rebalancing
from barnabas.compat.pykafka.balancedconsumer import BalancedConsumer
from barnabas.compat.pykafka.exceptions import (
    ConsumerStoppedException,
    KafkaException,
    PartitionOwnedError,
    UnicodeException,
)
from barnabas.compat.pykafka.membershipprotocol import RoundRobinProtocol

OWNERS = "/consumers/g/owners/b'topic'"


@pytest.fixture
def topic():
    return MemoryTopic()


@pytest.fixture
def join(topic, zookeeper, connect, monkeypatch):
    monkeypatch.setattr(rebalancing, "consumer_class", lambda **_: InnerConsumer)
    members = []

    def joined(**settings):
        given = {"zookeeper_connect": zookeeper, "zookeeper_connection_timeout_ms": 3000} | settings
        member = BalancedConsumer(topic, cluster(), b"g", **given)
        members.append(member)
        return member

    yield joined
    for member in members:
        member.stop()


def owners(client):
    return {name: client.get(f"{OWNERS}/{name}")[0] for name in sorted(client.get_children(OWNERS))}


def expire(member):
    """Ends the session of a member as ZooKeeper does that has not heard of it."""
    client = KazooClient(member._zookeeper_connect, client_id=member._zookeeper.client_id)
    client.start()
    client.stop()
    client.close()


@pytest.mark.integration
def test_one_member_owns_all_and_two_share(join, connect, eventually):
    watcher = connect()
    one = join()
    assert set(owners(watcher).values()) == {one._consumer_id}
    assert sorted(one.partitions) == [0, 1, 2, 3]
    two = join()
    eventually(lambda: len(two.partitions) == 2 and len(one.partitions) == 2)
    assert sorted([*one.partitions, *two.partitions]) == [0, 1, 2, 3]
    for member in (one, two):
        for id_ in member.partitions:
            assert owners(watcher)[f"7-{id_}"] == member._consumer_id
    two.stop()
    eventually(lambda: len(one.partitions) == 4)


def test_round_robin_deals_partitions_out(join, eventually):
    members = [join(membership_protocol=RoundRobinProtocol) for _ in range(2)]
    eventually(lambda: sorted(sorted(member.partitions) for member in members) == [[0, 2], [1, 3]])


def test_positions_are_committed_and_the_consumer_inside_stopped_before_a_claim_is_given_up(
    join, topic, eventually, monkeypatch
):
    one = join()
    for _ in range(6):
        one.consume()
    release = one._claims.release

    def told(partition_ids):
        topic.history.append(("release", one._consumer_id))
        release(partition_ids)

    monkeypatch.setattr(one._claims, "release", told)
    del topic.history[:]
    two = join()
    eventually(lambda: len(two.partitions) == 2)
    of_one = [what for what, whose, *_ in topic.history if whose == one._consumer_id]
    assert of_one[:3] == ["commit", "stop", "release"]
    assert two.consume().offset in (1, 2)


def test_a_program_that_waits_for_a_message_lets_a_rebalance_go_first(join, topic, eventually):
    topic.is_empty.set()
    one = join(consumer_timeout_ms=-1)
    given = []
    thread = threading.Thread(target=lambda: given.append(one.consume()))
    thread.start()
    assert topic.waits.wait(10)
    two = join()
    eventually(lambda: len(one.partitions) == 2 and len(two.partitions) == 2)
    topic.is_empty.clear()
    two.stop()
    thread.join(10)
    assert len(given) == 1


def test_nothing_is_handed_out_while_the_session_is_in_doubt_and_all_goes_on_in_the_same_session(
    join, topic, zookeeper_server, eventually
):
    one = join(consumer_timeout_ms=300)
    assert one.consume() is not None
    inner = one._consumer
    session = one._zookeeper.client_id
    zookeeper_server._process.pause()
    try:
        eventually(lambda: one.consume() is None, timeout=20)
        assert one.consume() is None
    finally:
        zookeeper_server._process.resume()
    if one._zookeeper.client_id == session:
        eventually(lambda: one.consume() is not None, timeout=20)
        assert one._consumer is inner or one._zookeeper.client_id != session
    else:
        eventually(lambda: one.consume() is not None, timeout=20)


def test_a_session_that_expired_leaves_positions_alone_and_everything_is_claimed_anew(
    join, topic, connect, eventually
):
    watcher = connect()
    one = join(auto_commit_enable=True)
    for _ in range(8):
        one.consume()
    inner = one._consumer
    # Another member went further while this one did not know that it was out.
    topic.committed = dict.fromkeys(range(4), 50)
    del topic.history[:]
    expire(one)
    eventually(lambda: one._consumer is not inner and one._gate.is_open)
    assert [what for what, *_ in topic.history[:2]] == ["stop", "start"]
    assert topic.committed == dict.fromkeys(range(4), 50)
    assert one.consume().offset == 50
    session = one._zookeeper.client_id[0]
    assert {watcher.get(f"{OWNERS}/{name}")[1].ephemeralOwner for name in owners(watcher)} == {session}
    assert len(owners(watcher)) == 4


def test_a_claim_that_others_do_not_give_up_is_what_the_next_call_raises_and_the_member_leaves(
    join, connect, eventually
):
    stranger = connect()
    stranger.create(f"{OWNERS}/7-2", b"stranger", ephemeral=True, makepath=True)
    one = join(rebalance_max_retries=2, rebalance_backoff_ms=10)
    with pytest.raises(ConsumerStoppedException) as stopped:
        one.consume()
    assert isinstance(stopped.value.__cause__, PartitionOwnedError)
    stranger.delete(f"{OWNERS}/7-2")
    two = join(rebalance_max_retries=2, rebalance_backoff_ms=10)
    two._claims.release([2])
    stranger.create(f"{OWNERS}/7-2", b"stranger", ephemeral=True)
    stranger.create("/consumers/g/ids/nobody", b"another topic", ephemeral=True)
    eventually(lambda: two._worker_exception is not None)
    for call in (two.consume, two.commit_offsets, two.reset_offsets):
        with pytest.raises(PartitionOwnedError):
            call()
    eventually(lambda: stranger.get_children("/consumers/g/ids") == ["nobody"])
    assert owners(stranger) == {"7-2": b"stranger"}


def test_stop_does_not_wait_for_a_retry(join, connect, eventually):
    stranger = connect()
    one = join(rebalance_backoff_ms=NEVER_MS)
    one._claims.release([2])
    stranger.create(f"{OWNERS}/7-2", b"stranger", ephemeral=True)
    stranger.create("/consumers/g/ids/nobody", b"another topic", ephemeral=True)
    eventually(lambda: not one._gate.is_open)
    one.stop()
    with pytest.raises(ConsumerStoppedException):
        one.consume()


def test_a_message_for_which_it_was_waited_while_claims_were_lost_is_not_given(join, monkeypatch):
    one = join()
    answers = [True, False]
    monkeypatch.setattr(one, "_is_sure", lambda: answers.pop(0) if answers else True)
    assert one.consume(block=False) is None
    assert one.held_offsets[0] == -1
    assert one.consume().offset == 0


def test_the_callback_hears_what_was_owned_and_is_and_may_move_positions(join, eventually):
    heard = []

    def callback(consumer, before, after):
        heard.append((dict(before), dict(after)))
        return {0: 41}

    one = join(post_rebalance_callback=callback)
    assert heard == [({}, dict.fromkeys(range(4), -1))]
    assert one.held_offsets[0] == 41
    assert one.consume().offset == 42


def test_what_the_callback_raises_is_raised_by_the_next_call(join):
    def callback(*_):
        raise LookupError("not mine")

    one = join(post_rebalance_callback=callback)
    for call in (one.consume, one.commit_offsets):
        with pytest.raises(LookupError, match="not mine"):
            call()


def test_only_the_first_consumer_inside_begins_anew(join, topic, eventually):
    one = join(reset_offset_on_start=True)
    assert one._consumer.resets
    two = join()
    eventually(lambda: len(one.partitions) == 2)
    assert not one._consumer.resets
    assert not two._consumer.resets


def test_a_client_of_the_programs_own_is_left_running_and_the_nodes_are_taken_away(join, connect):
    client = connect()
    one = join(zookeeper=client)
    assert len(owners(client)) == 4
    one.stop()
    assert owners(client) == {}
    assert client.get_children("/consumers/g/ids") == []
    assert client.connected


def test_a_consumer_that_nobody_refers_to_gives_up_its_place(join, topic, zookeeper, connect, eventually):
    watcher = connect()
    BalancedConsumer(topic, cluster(), b"g", zookeeper_connect=zookeeper)
    gc.collect()
    eventually(lambda: owners(watcher) == {})


def test_one_that_was_not_started_has_nothing_and_says_so(join, connect):
    connect().ensure_path("/consumers")
    one = join(auto_start=False)
    assert one.partitions == {}
    assert one.held_offsets is None
    with pytest.raises(ConsumerStoppedException):
        one.consume()
    with pytest.raises(KafkaException, match="not started"):
        one.commit_offsets()
    with pytest.raises(ConsumerStoppedException, match="Internal consumer is stopped"):
        one.reset_offsets()
    one.start()
    assert one.consume() is not None


def test_one_that_was_stopped_may_be_started_again(join):
    one = join()
    one.stop()
    with pytest.raises(ConsumerStoppedException):
        one.consume()
    one.start()
    assert one.consume() is not None


def test_arguments_are_judged_before_anything_is_done(topic):
    with pytest.raises(UnicodeException):
        BalancedConsumer(topic, cluster(), "gr\u00fcppe")
    with pytest.raises(TypeError):
        BalancedConsumer(topic, cluster(), b"g", fetch_min_bytes="1")
    with pytest.raises(ValueError, match="nonzero"):
        BalancedConsumer(topic, cluster(), b"g", rebalance_backoff_ms=0)
