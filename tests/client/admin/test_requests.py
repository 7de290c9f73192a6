"""What is asked, and how answers are read, without a broker."""

from __future__ import annotations

import hashlib

from barnabas.broker_errors import ErrorCode
from barnabas.client.admin.requests import acls, configs, credentials, group_offsets, groups, replicas, topics
from barnabas.client.admin.requests.common import Answer
from barnabas.client.admin.types import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclResourceType,
    ListOperation,
    NewPartitions,
    NewTopic,
    ScramDeletion,
    ScramMechanism,
    ScramUpsertion,
)
from barnabas.protocol.messages.create_acls import CreateAclsResponse
from barnabas.protocol.messages.delete_acls import DeleteAclsResponse
from barnabas.protocol.messages.describe_configs import DescribeConfigsResponse
from barnabas.protocol.messages.offset_fetch import OffsetFetchResponse
from barnabas.types import OffsetAndMetadata, TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_a_topic_with_replicas_by_hand_names_no_numbers() -> None:
    topic = NewTopic("t", 3, 2, {"retention.ms": "1"}, replica_assignments={0: (1, 2)})
    wanted = topics.create_topics([topic], timeout_ms=5, validate_only=True)
    (asked,) = wanted.topics
    assert (asked.num_partitions, asked.replication_factor) == (-1, -1)
    assert [(a.partition_index, a.broker_ids) for a in asked.assignments] == [(0, [1, 2])]
    assert [(c.name, c.value) for c in asked.configs] == [("retention.ms", "1")]
    assert (wanted.timeout_ms, wanted.validate_only) == (5, True)


def test_more_partitions_have_their_replicas_chosen_unless_they_are_given() -> None:
    wanted = topics.create_partitions(
        [("a", NewPartitions(4)), ("b", NewPartitions(2, [[1]]))], timeout_ms=5, validate_only=False
    )
    chosen, given = wanted.topics
    assert (chosen.count, chosen.assignments) == (4, None)
    assert given.assignments is not None
    assert [assignment.broker_ids for assignment in given.assignments] == [[1]]


def test_partitions_are_asked_for_by_topic() -> None:
    request = topics.delete_records({A0: 5, B0: 7, A1: 6}, timeout_ms=5)
    asked = {t.name: [(p.partition_index, p.offset) for p in t.partitions] for t in request.topics}
    assert asked == {"a": [(0, 5), (1, 6)], "b": [(0, 7)]}
    elected = replicas.elect_leaders(0, [A0, B0, A1], timeout_ms=5).topic_partitions
    assert elected is not None
    assert {t.topic: t.partitions for t in elected} == {"a": [0, 1], "b": [0]}
    assert replicas.elect_leaders(0, None, timeout_ms=5).topic_partitions is None


def test_describing_topics_never_makes_one() -> None:
    for request in (topics.describe_topics(["t"]), topics.describe_topics(None), topics.describe_brokers()):
        assert not request.allow_auto_topic_creation


def test_rules_are_answered_in_the_order_of_the_request() -> None:
    rules = [AclBinding(AclResourceType.TOPIC, name, "User:x", AclOperation.READ) for name in ("a", "b")]
    assert [creation.resource_name for creation in acls.create_acls(rules).creations] == ["a", "b"]
    response = CreateAclsResponse(
        results=[
            CreateAclsResponse.AclCreationResult(error_code=ErrorCode.NONE, error_message=None),
            CreateAclsResponse.AclCreationResult(error_code=ErrorCode.INVALID_REQUEST, error_message="no"),
        ]
    )
    assert acls.created_acls(rules, response) == [
        Answer(rules[0], None, 0),
        Answer(rules[1], None, ErrorCode.INVALID_REQUEST, "no"),
    ]


def test_each_rule_that_a_filter_matches_has_an_outcome_of_its_own() -> None:
    matching = DeleteAclsResponse.DeleteAclsMatchingAcl(
        error_code=ErrorCode.UNKNOWN_SERVER_ERROR,
        resource_type=AclResourceType.GROUP,
        resource_name="g",
        principal="User:x",
        host="*",
        operation=AclOperation.READ,
        permission_type=3,
    )
    response = DeleteAclsResponse(
        filter_results=[DeleteAclsResponse.DeleteAclsFilterResult(matching_acls=[matching])]
    )
    ((wanted, deleted, code, _),) = acls.deleted_acls([AclBindingFilter()], response)
    assert (wanted, code) == (AclBindingFilter(), 0)
    assert [(answer.key.resource_name, answer.code) for answer in deleted] == [
        ("g", ErrorCode.UNKNOWN_SERVER_ERROR)
    ]


def test_a_change_of_a_configuration_keeps_what_is_to_be_done() -> None:
    changes = [
        configs.IncrementalChange("a", configs.SET, "1"),
        configs.IncrementalChange("b", configs.DELETE, None),
        configs.IncrementalChange("c", int(ListOperation.APPEND), "x"),
    ]
    request = configs.incremental_alter_configs([((2, "t"), changes)], validate_only=False)
    asked = [(c.name, c.config_operation, c.value) for c in request.resources[0].configs]
    assert asked == [("a", 0, "1"), ("b", 1, None), ("c", 2, "x")]


def test_a_default_is_known_as_one_from_brokers_of_all_ages() -> None:
    old = DescribeConfigsResponse.DescribeConfigsResourceResult(name="old", is_default=True, config_source=-1)
    new = DescribeConfigsResponse.DescribeConfigsResourceResult(name="new", config_source=5)
    given = DescribeConfigsResponse.DescribeConfigsResourceResult(name="given", config_source=1)
    result = DescribeConfigsResponse.DescribeConfigsResult(
        resource_type=2, resource_name="t", configs=[old, new, given]
    )
    ((key, entries, _, _),) = configs.described_configs(DescribeConfigsResponse(results=[result]))
    assert key == (2, "t")
    assert {name: entry.is_default for name, entry in entries.items()} == {
        "old": True,
        "new": True,
        "given": False,
    }


def test_a_password_is_hashed_before_it_is_asked_for() -> None:
    mechanism = ScramMechanism.SCRAM_SHA_256
    request = credentials.alter_credentials(
        [
            ScramUpsertion("a", mechanism, "secret", 4096, b"salt"),
            ScramUpsertion("b", mechanism, b"secret"),
            ScramDeletion("c", mechanism),
        ],
        salt_bytes=64,
    )
    given, made_up = request.upsertions
    assert given.salted_password == hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", 4096)
    assert len(made_up.salt) == 64
    assert [deletion.name for deletion in request.deletions] == ["c"]


def test_a_partition_without_a_committed_offset_is_told_from_one_with_an_error() -> None:
    found = [
        OffsetFetchResponse.OffsetFetchResponseTopics(
            name="a",
            partitions=[
                OffsetFetchResponse.OffsetFetchResponsePartitions(
                    partition_index=number,
                    committed_offset=offset,
                    committed_leader_epoch=-1,
                    metadata=metadata,
                    error_code=code,
                )
                for number, offset, metadata, code in [
                    (0, 5, None, ErrorCode.NONE),
                    (1, -1, "", ErrorCode.NONE),
                    (2, -1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT),
                ]
            ],
        )
    ]
    assert group_offsets.fetched_offsets(found) == [
        Answer(A0, OffsetAndMetadata(5, "", None), 0),
        Answer(A1, None, 0),
        Answer(TopicPartition("a", 2), None, ErrorCode.UNSTABLE_OFFSET_COMMIT),
    ]


def test_offsets_of_all_partitions_are_asked_for_by_naming_no_topic() -> None:
    request = group_offsets.fetch_offsets({"g": None, "h": [A0]}, require_stable=True)
    assert [(g.group_id, g.topics is None) for g in request.groups] == [("g", True), ("h", False)]
    assert group_offsets.fetch_offsets_of_one_group("g", None, require_stable=True).topics is None


def test_a_commit_without_a_leader_epoch_names_none() -> None:
    request = group_offsets.commit_offsets("g", {A0: OffsetAndMetadata(5), A1: OffsetAndMetadata(6, "m", 3)})
    asked = [
        (p.committed_offset, p.committed_metadata, p.committed_leader_epoch)
        for topic in request.topics
        for p in topic.partitions
    ]
    assert asked == [(5, "", -1), (6, "m", 3)]


def test_groups_are_listed_by_state_and_type() -> None:
    request = groups.list_groups(states=["Stable"], types=["consumer"])
    assert (request.states_filter, request.types_filter) == (["Stable"], ["consumer"])
