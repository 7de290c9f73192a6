"""Nodes in a real ZooKeeper: as pykafka has them, never two owners of a partition, gone with the session."""

import pytest
from kazoo.client import KazooClient

from barnabas.compat.pykafka._balance.claims import Claims, NodeTakenError
from barnabas.compat.pykafka._balance.zookeeper import ZooKeeperSession
from barnabas.testing.distribution import KafkaDistribution
from barnabas.testing.zookeeper import ZooKeeper

PYTHON_3 = "/consumers/g/owners/b'topic'"
PLAIN = "/consumers/g/owners/topic"


def claims_of(client, consumer_id):
    claims = Claims(ZooKeeperSession(client), group="g", topic=b"topic", consumer_id=consumer_id)
    claims.register()
    return claims


def owners(client, folder=PYTHON_3):
    return {name: client.get(f"{folder}/{name}")[0] for name in client.get_children(folder)}


def test_a_consumer_is_an_id_with_its_topic_and_owns_nodes_named_by_leader_and_partition(connect):
    client = connect()
    claims = claims_of(client, b"host:1")
    claims.claim({0: 7, 1: 7})
    value, stat = client.get("/consumers/g/ids/host:1")
    assert (value, stat.ephemeralOwner) == (b"topic", client.client_id[0])
    assert owners(client) == {"7-0": b"host:1", "7-1": b"host:1"}
    assert claims.held() == {0, 1}
    assert client.get(f"{PYTHON_3}/7-0")[1].ephemeralOwner == client.client_id[0]


def test_participants_are_those_of_the_topic_in_order(connect):
    client = connect()
    one, _ = claims_of(client, b"b"), claims_of(client, b"a")
    client.create("/consumers/g/ids/other", b"another topic", ephemeral=True)
    assert one.participants() == [b"a", b"b"]


def test_what_is_anothers_is_refused_and_stays_the_others(connect):
    client = connect()
    one, two = claims_of(client, b"1"), claims_of(client, b"2")
    one.claim({0: 7})
    with pytest.raises(NodeTakenError) as refused:
        two.claim({0: 7})
    assert refused.value.partition_id == 0
    assert owners(client) == {"7-0": b"1"}
    one.release([0])
    two.claim({0: 7})
    assert owners(client) == {"7-0": b"2"}


def test_a_partition_that_another_has_under_another_leader_is_refused(connect):
    client = connect()
    one, two = claims_of(client, b"1"), claims_of(client, b"2")
    one.claim({0: 7, 1: 7})
    with pytest.raises(NodeTakenError):
        two.claim({0: 8, 2: 8})
    assert owners(client) == {"7-0": b"1", "7-1": b"1", "8-2": b"2"}
    assert two.held() == {2}


def test_what_was_claimed_under_another_leader_is_given_up_by_its_partition(connect):
    client = connect()
    one = claims_of(client, b"1")
    one.claim({0: 7})
    one.claim({0: 8})
    one.release([0])
    assert owners(client) == {}


def test_claims_are_made_in_the_plain_folder_too_while_members_of_python_2_have_one(connect):
    client = connect()
    one = claims_of(client, b"1")
    one.claim({0: 7})
    client.create(f"{PLAIN}/7-1", b"old", ephemeral=True, makepath=True)
    assert one.held() == set()
    one.claim({0: 7})
    assert owners(client, PLAIN) == {"7-0": b"1", "7-1": b"old"}
    with pytest.raises(NodeTakenError):
        one.claim({1: 7})
    one.release_all()
    assert owners(client, PLAIN) == {"7-1": b"old"}
    assert owners(client) == {}


def test_nodes_end_with_the_session(connect):
    client, watcher = connect(), connect()
    claims_of(client, b"1").claim({0: 7})
    client.stop()
    assert watcher.get_children("/consumers/g/ids") == []
    assert owners(watcher) == {}


def test_nodes_of_an_earlier_session_of_the_same_consumer_are_made_again(connect):
    before, now = connect(), connect()
    claims_of(before, b"1").claim({0: 7})
    claims = claims_of(now, b"1")
    claims.claim({0: 7})
    before.stop()
    assert now.get_children("/consumers/g/ids") == ["1"]
    assert owners(now) == {"7-0": b"1"}


def test_what_is_asked_of_a_session_whose_server_is_away_ends_in_time(tmp_path):
    server = ZooKeeper(KafkaDistribution("2.8.2"), tmp_path, remove_at_exit=None)
    server.start()
    client = KazooClient(f"127.0.0.1:{server.port}", timeout=2)
    client.start()
    session = ZooKeeperSession(client)
    claims = claims_of(client, b"1")
    server.close()
    with pytest.raises(session.connection_errors):
        claims.participants()
    assert not session.has_own(claims.own_path)
    client.stop()
    client.close()
