from __future__ import annotations

import uuid
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from barnabas import Node, TopicPartition
from barnabas.client.cluster.metadata import NO_TOPIC_ID, ClusterMetadata
from barnabas.protocol.messages.metadata import MetadataResponse

FLIGHTS = TopicPartition("flights", 0)


def broker(node_id: int, port: int = 9092) -> MetadataResponse.MetadataResponseBroker:
    return MetadataResponse.MetadataResponseBroker(node_id=node_id, host="host", port=port)


def topic(
    name: str, leaders: list[tuple[int, int]], topic_id: uuid.UUID = NO_TOPIC_ID, error_code: int = 0
) -> MetadataResponse.MetadataResponseTopic:
    """`leaders`: leader and epoch of each partition."""
    return MetadataResponse.MetadataResponseTopic(
        error_code=error_code,
        name=name,
        topic_id=topic_id,
        partitions=[
            MetadataResponse.MetadataResponsePartition(
                partition_index=index, leader_id=leader, leader_epoch=epoch, replica_nodes=[1, 2]
            )
            for index, (leader, epoch) in enumerate(leaders)
        ],
    )


def updated(before: ClusterMetadata, *topics: Any, keep_others: bool = False) -> ClusterMetadata:
    response = MetadataResponse(
        brokers=[broker(1), broker(2)], cluster_id="c", controller_id=2, topics=list(topics)
    )
    return before.updated(response, keep_others=keep_others)


def test_an_answer_becomes_nodes_topics_and_leaders() -> None:
    topic_id = uuid.uuid4()
    metadata = updated(ClusterMetadata(), topic("flights", [(1, 5), (2, 6)], topic_id))
    assert metadata.nodes == {1: Node(1, "host", 9092), 2: Node(2, "host", 9092)}
    assert (metadata.cluster_id, metadata.controller_id, metadata.topics) == ("c", 2, ["flights"])
    assert metadata.topic_id("flights") == topic_id
    assert metadata.topic_name(topic_id) == "flights"
    assert metadata.leader(FLIGHTS) == 1
    assert metadata.leader_epoch(FLIGHTS) == 5
    assert [p.leader for p in metadata.partitions_for("flights")] == [1, 2]


def test_what_is_not_known_has_no_leader_and_no_partitions() -> None:
    metadata = updated(ClusterMetadata(), topic("flights", [(1, 5)]))
    assert metadata.leader(TopicPartition("flights", 1)) == -1
    assert metadata.leader(TopicPartition("weather", 0)) == -1
    assert metadata.partitions_for("weather") == []
    assert metadata.topic_id("weather") == NO_TOPIC_ID


def test_a_leader_that_is_not_among_the_nodes_is_none() -> None:
    metadata = updated(ClusterMetadata(), topic("flights", [(7, 5)]))
    assert metadata.leader(FLIGHTS) == -1


def test_an_older_leader_epoch_does_not_overrule_a_newer_one() -> None:
    topic_id = uuid.uuid4()
    metadata = updated(ClusterMetadata(), topic("flights", [(1, 5)], topic_id))
    metadata = updated(metadata, topic("flights", [(2, 4)], topic_id))
    assert (metadata.leader(FLIGHTS), metadata.leader_epoch(FLIGHTS)) == (1, 5)
    metadata = updated(metadata, topic("flights", [(2, 6)], topic_id))
    assert (metadata.leader(FLIGHTS), metadata.leader_epoch(FLIGHTS)) == (2, 6)


def test_a_topic_that_was_deleted_and_made_again_begins_anew() -> None:
    metadata = updated(ClusterMetadata(), topic("flights", [(1, 5)], uuid.uuid4()))
    metadata = updated(metadata, topic("flights", [(2, 0)], uuid.uuid4()))
    assert (metadata.leader(FLIGHTS), metadata.leader_epoch(FLIGHTS)) == (2, 0)


def test_a_full_answer_forgets_other_topics_and_a_partial_one_keeps_them() -> None:
    before = updated(ClusterMetadata(), topic("flights", [(1, 5)]))
    assert updated(before, topic("weather", [(1, 1)])).topics == ["weather"]
    assert updated(before, topic("weather", [(1, 1)]), keep_others=True).topics == ["flights", "weather"]


@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.lists(
                st.tuples(st.sampled_from("abc"), st.integers(0, 4), st.booleans()), unique_by=lambda t: t[0]
            ),
        ),
        max_size=8,
    )
)
def test_names_of_topic_ids_are_those_of_the_topics_that_are_known(
    answers: list[tuple[bool, list[tuple[str, int, bool]]]],
) -> None:
    metadata = ClusterMetadata()
    for keep_others, told in answers:
        # An id is of one name.
        topics = [
            topic(
                name,
                [] if is_refused else [(1, 0)],
                uuid.UUID(int=number and number * 3 + ord(name) % 3),
                3 if is_refused else 0,
            )
            for name, number, is_refused in told
        ]
        metadata = updated(metadata, *topics, keep_others=keep_others)
        known = metadata.topic_metadata.values()
        assert metadata.topic_names == {t.topic_id: t.name for t in known if t.topic_id != NO_TOPIC_ID}


def test_a_refused_topic_is_an_error_until_it_is_there() -> None:
    metadata = updated(ClusterMetadata(), topic("flights", [], error_code=3))
    assert (metadata.topics, metadata.topic_errors) == ([], {"flights": 3})
    metadata = updated(metadata, topic("flights", [(1, 0)]), keep_others=True)
    assert (metadata.topics, metadata.topic_errors) == (["flights"], {})


def test_a_leader_named_in_an_answer_counts_if_its_epoch_is_newer() -> None:
    before = updated(ClusterMetadata(), topic("flights", [(1, 5)]))
    node = Node(3, "other", 9093)
    assert before.with_leader(FLIGHTS, 3, 5, [node]) is before
    after = before.with_leader(FLIGHTS, 3, 6, [node])
    assert (after.leader(FLIGHTS), after.leader_epoch(FLIGHTS)) == (3, 6)
    assert after.nodes[3] == node
    assert before.leader(FLIGHTS) == 1
