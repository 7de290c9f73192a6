"""Calls of Admin that only a real Kafka answers, on one broker."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.share_groups import begin_at_the_first_record

from barnabas import (
    AbortTransactionSpec,
    AclBinding,
    AclOperation,
    AclResourceType,
    Admin,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ConfigResource,
    Consumer,
    FeatureUpdate,
    ListChange,
    ListOperation,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    Producer,
    QuotaMatch,
    ResourceType,
    ScramDeletion,
    ScramMechanism,
    ScramUpsertion,
    ShareConsumer,
    TopicPartition,
    TopicPartitionReplica,
)
from barnabas.broker_errors import (
    GroupIdNotFoundError,
    InvalidReplicaAssignmentError,
    InvalidRequestError,
    InvalidUpdateVersionError,
    LogDirNotFoundError,
    ProducerFencedError,
    ResourceNotFoundError,
    SecurityDisabledError,
    TopicAlreadyExistsError,
    TransactionalIdNotFoundError,
    UnknownMemberIdError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from barnabas.errors import BarnabasError, MisuseError
from barnabas.testing import ApacheKafka, EmbeddedBroker


@pytest.fixture(scope="module")
def admin(broker: Any) -> Iterator[Admin]:
    with Admin(broker.bootstrap) as admin:
        yield admin


@pytest.fixture
def flights(broker: Any, make_topic: Any) -> str:
    return make_topic(broker, partitions=3)


def test_an_error_has_the_outcome_of_each_item(admin: Admin, flights: str, topic: Any) -> None:
    new = topic()
    with pytest.raises(TopicAlreadyExistsError, match=flights) as caught:
        admin.create_topics([NewTopic(new, 1), NewTopic(flights, 1)])
    outcome = caught.value.outcome
    assert outcome is not None
    assert outcome.results[new].num_partitions == 1
    assert outcome.errors == {flights: caught.value}


def test_partitions_that_do_not_exist_leave_the_others_described(admin: Admin, flights: str) -> None:
    known, missing = TopicPartition(flights, 0), TopicPartition(flights, 9)
    with pytest.raises(UnknownTopicOrPartitionError, match=f"{flights}-9") as caught:
        admin.list_offsets({missing: "latest", known: "latest"})
    assert caught.value.outcome is not None
    assert caught.value.outcome.results[known].offset == 0
    assert list(caught.value.outcome.errors) == [missing]


def test_topics_are_described_in_pieces_and_with_what_is_allowed(
    admin: Admin, flights: str, topic: Any, eventually: Any
) -> None:
    other = topic()
    admin.create_topics([NewTopic(other, 5, 1)])
    eventually(lambda: other in admin.list_topics())
    pieces = admin.describe_topics([other, flights], partition_limit=2, include_authorized_operations=True)
    assert [p.partition for p in pieces[other].partitions] == [0, 1, 2, 3, 4]
    assert [p.partition for p in pieces[flights].partitions] == [0, 1, 2]
    assert AclOperation.WRITE in (pieces[flights].authorized_operations or ())
    assert pieces[flights].partitions[0].eligible_leader_replicas is not None
    assert admin.describe_topics([flights])[flights].authorized_operations is None


def test_topics_are_described_and_deleted_by_id(admin: Admin, flights: str, eventually: Any) -> None:
    topic_id = admin.describe_topics([flights])[flights].topic_id
    assert admin.describe_topics_by_id([topic_id])[topic_id].name == flights
    admin.delete_topics_by_id([topic_id])
    eventually(lambda: flights not in admin.list_topics())
    with pytest.raises(UnknownTopicIdError, match=str(topic_id)):
        admin.describe_topics_by_id([topic_id])
    with pytest.raises(UnknownTopicIdError, match=str(topic_id)):
        admin.delete_topics_by_id([topic_id])


def test_new_partitions_are_placed_by_hand(admin: Admin, flights: str, eventually: Any) -> None:
    admin.create_partitions({flights: NewPartitions(4, [[1]])})
    eventually(lambda: len(admin.describe_topics([flights])[flights].partitions) == 4)
    with pytest.raises(InvalidReplicaAssignmentError, match=flights):
        admin.create_partitions({flights: NewPartitions(5, [[77]])})


def test_settings_are_described_with_synonyms_type_and_documentation(admin: Admin, flights: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, flights)
    plain = admin.describe_configs([resource])[resource]["retention.ms"]
    assert (plain.synonyms, plain.documentation, plain.type.name) == ((), None, "LONG")
    full = admin.describe_configs([resource], include_synonyms=True, include_documentation=True)
    assert {s.name for s in full[resource]["segment.bytes"].synonyms} == {"log.segment.bytes"}
    assert "segment" in (full[resource]["segment.bytes"].documentation or "")


def test_items_are_added_to_a_list_and_taken_out(admin: Admin, flights: str, eventually: Any) -> None:
    resource = ConfigResource(ResourceType.TOPIC, flights)

    def policy() -> str | None:
        return admin.describe_configs([resource])[resource]["cleanup.policy"].value

    admin.alter_configs({resource: {"cleanup.policy": ListChange(ListOperation.APPEND, "compact")}})
    eventually(lambda: policy() == "delete,compact")
    admin.alter_configs({resource: {"cleanup.policy": ListChange(ListOperation.SUBTRACT, "delete")}})
    eventually(lambda: policy() == "compact")
    admin.replace_configs({resource: {"retention.ms": "5000"}})
    eventually(lambda: policy() == "delete")


def test_loggers_groups_and_client_metrics_have_settings(admin: Admin, eventually: Any) -> None:
    logger = ConfigResource(ResourceType.BROKER_LOGGER, "1")
    name = min(admin.describe_configs([logger])[logger].keys() - {"root"})
    group = ConfigResource(ResourceType.GROUP, f"group-{uuid.uuid4().hex}")
    metrics = ConfigResource(ResourceType.CLIENT_METRICS, f"metrics-{uuid.uuid4().hex}")
    admin.alter_configs(
        {
            logger: {name: "DEBUG"},
            group: {"consumer.session.timeout.ms": "50000"},
            metrics: {"interval.ms": "60000"},
        }
    )
    eventually(lambda: {group, metrics} <= set(admin.list_config_resources()))
    assert metrics in admin.list_config_resources([ResourceType.CLIENT_METRICS])
    assert group not in admin.list_config_resources([ResourceType.CLIENT_METRICS])
    found = admin.describe_configs([logger, group, metrics])
    assert found[logger][name].value == "DEBUG"
    assert found[group]["consumer.session.timeout.ms"].value == "50000"
    assert found[metrics]["interval.ms"].value == "60000"
    admin.alter_configs({logger: {name: None}, metrics: {"interval.ms": None}})


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_of_both_protocols_are_listed_described_and_emptied(
    admin: Admin, broker: Any, flights: str, eventually: Any, protocol: Any
) -> None:
    group_id = f"group-{uuid.uuid4().hex}"
    with Consumer(
        broker.bootstrap,
        topics=[flights],
        group_id=group_id,
        group_protocol=protocol,
        client_id="reader",
    ) as consumer:
        eventually(lambda: consumer.poll(0.1) or len(consumer.assignment()) == 3, timeout=30.0)

        def stable() -> Any:
            consumer.poll(0.05)
            found = admin.describe_groups([group_id], include_authorized_operations=True)[group_id]
            return found if found.state == "Stable" and len(found.members[0].assignment) == 3 else None

        described = eventually(stable, timeout=30.0)
        assert described.type == protocol
        assert described.members[0].client_id == "reader"
        assert AclOperation.READ in described.authorized_operations
        listed = {g.group_id for g in admin.list_groups(states=["Stable"], types=[protocol])}
        assert group_id in listed
        assert group_id not in {g.group_id for g in admin.list_groups(states=["Empty"])}
        if protocol == "classic":
            assert admin.describe_classic_groups([group_id])[group_id].protocol_type == "consumer"
            with pytest.raises(UnknownMemberIdError, match="nobody"):
                admin.remove_members(group_id, [MemberToRemove(member_id="nobody")])
        else:
            assert described.members[0].target_assignment == described.members[0].assignment
            assert described.group_epoch == described.target_assignment_epoch
    admin.alter_group_offsets(group_id, {(flights, 0): 3})
    assert admin.list_offsets_of_groups({group_id: None})[group_id][TopicPartition(flights, 0)].offset == 3
    admin.delete_groups([group_id])
    assert group_id not in {g.group_id for g in admin.list_groups()}


def test_groups_that_do_not_exist_are_named(admin: Admin) -> None:
    for describe in (
        admin.describe_classic_groups,
        admin.describe_share_groups,
        admin.describe_streams_groups,
    ):
        with pytest.raises(GroupIdNotFoundError, match="missing"):
            describe(["missing"])
    with pytest.raises(MisuseError, match=r"\['missing'\]"):
        admin.describe_groups("missing")


def test_share_groups_are_described_and_their_offsets_listed_set_and_forgotten(
    admin: Admin, broker: Any, flights: str, fill_topic: Any, eventually: Any
) -> None:
    group_id, first = f"share-{uuid.uuid4().hex}", TopicPartition(flights, 0)
    fill_topic(broker, flights, [b"v"] * 10)
    begin_at_the_first_record(broker.bootstrap, group_id)
    with ShareConsumer(broker.bootstrap, group_id=group_id) as consumer:
        consumer.subscribe([flights])
        assert eventually(lambda: consumer.poll(0.5), timeout=30.0)
        consumer.commit()
        described = admin.describe_share_groups([group_id])[group_id]
        assert (described.type, described.state) == ("share", "Stable")
        assert described.members[0].subscribed_topics == (flights,)
    eventually(lambda: admin.describe_share_groups([group_id])[group_id].state == "Empty", timeout=30.0)
    admin.alter_share_group_offsets(group_id, {first: 4})
    assert admin.list_share_group_offsets({group_id: [first]})[group_id][first].start_offset == 4
    admin.delete_share_group_offsets(group_id, [flights])
    assert admin.list_share_group_offsets({group_id: None})[group_id] == {}
    admin.delete_groups([group_id])


@pytest.fixture
def transactions_admin(broker: ApacheKafka | EmbeddedBroker) -> Iterator[Admin]:
    """Of both kinds of brokers in turn."""
    with Admin(broker.bootstrap) as admin:
        yield admin


def test_transactions_are_described_listed_and_fenced(
    transactions_admin: Admin, broker: ApacheKafka | EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    admin, flights = transactions_admin, make_topic(broker)
    transactional_id, first = f"tx-{uuid.uuid4().hex}", TopicPartition(flights, 0)
    with Producer(broker.bootstrap, transactional_id=transactional_id) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(flights, b"open", partition=0).result(timeout=30)
        described = admin.describe_transactions([transactional_id])[transactional_id]
        assert (described.state, described.partitions, described.coordinator_id) == ("Ongoing", (first,), 1)
        (state,) = admin.describe_producers([first])[first]
        assert (state.producer_id, state.current_transaction_start_offset) == (described.producer_id, 0)
        listed = admin.list_transactions(states=["Ongoing"], pattern=f"{transactional_id}.*")
        assert [t.transactional_id for t in listed[1]] == [transactional_id]
        assert admin.list_transactions(producer_ids=[described.producer_id], duration_ms=10**9) == {1: []}
        assert admin.list_offsets({first: "latest"}, isolation_level="read_committed")[first].offset == 0
        admin.force_terminate_transaction(transactional_id)
        assert admin.list_offsets({first: "latest"}, isolation_level="read_committed")[first].offset >= 1
        with pytest.raises(ProducerFencedError):
            producer.commit_transaction()
    with pytest.raises(TransactionalIdNotFoundError, match="missing"):
        admin.describe_transactions(["missing"])
    with pytest.raises(MisuseError, match="Sleeping"):
        admin.list_transactions(states=["Sleeping"])
    with pytest.raises(BarnabasError, match=f"{flights}-0, producer id 99"):
        admin.abort_transaction(AbortTransactionSpec(first, 99, -5, 0))


def test_an_open_transaction_is_ended_in_one_partition(
    transactions_admin: Admin, broker: ApacheKafka | EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    admin, flights = transactions_admin, make_topic(broker)
    first = TopicPartition(flights, 0)
    producer = Producer(broker.bootstrap, transactional_id=f"tx-{uuid.uuid4().hex}")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(flights, b"hangs", partition=0).result(timeout=30)
    (state,) = admin.describe_producers([first], node_id=1)[first]
    coordinator_epoch = 0 if state.coordinator_epoch is None else state.coordinator_epoch
    admin.abort_transaction(
        AbortTransactionSpec(first, state.producer_id, state.producer_epoch, coordinator_epoch)
    )
    assert admin.list_offsets({first: "latest"}, isolation_level="read_committed")[first].offset == 2
    producer.abort_transaction()
    producer.close()


def test_the_cluster_its_features_and_its_quorum_are_described(admin: Admin, broker: Any) -> None:
    cluster = admin.describe_cluster(include_authorized_operations=True, include_fenced_brokers=True)
    assert [node.port for node in cluster.nodes] == [broker.port]
    assert AclOperation.ALTER in (cluster.authorized_operations or ())
    assert cluster.fenced == frozenset()
    features = admin.describe_features(node_id=1)
    assert features.finalized["metadata.version"].highest > 20
    assert features.supported["share.version"].highest >= 1
    versions = admin.describe_api_versions(node_id=1)
    assert versions["Produce"].highest >= 12
    assert versions["AddPartitionsToTxn"].lowest >= 0
    quorum = admin.describe_metadata_quorum()
    assert (quorum.leader_id, [voter.replica_id for voter in quorum.voters]) == (1, [1])
    with pytest.raises(InvalidUpdateVersionError, match=r"metadata\.version"):
        admin.update_features({"metadata.version": FeatureUpdate(9999)}, validate_only=True)
    with pytest.raises(UnsupportedVersionError):
        admin.remove_raft_voter(7, uuid.uuid4())


def test_quotas_are_set_described_and_taken_away(admin: Admin, eventually: Any) -> None:
    alice = ClientQuotaEntity({"user": f"alice-{uuid.uuid4().hex}"})
    nobody = ClientQuotaEntity({"user": None})
    admin.alter_client_quotas({alice: {"producer_byte_rate": 1e6}, nobody: {"consumer_byte_rate": 5e5}})
    exactly = [ClientQuotaFilter("user", QuotaMatch.EXACT, alice.names["user"])]
    eventually(lambda: admin.describe_client_quotas(exactly) == {alice: {"producer_byte_rate": 1e6}})
    assert admin.describe_client_quotas([ClientQuotaFilter("user", QuotaMatch.DEFAULT)], strict=True) == {
        nobody: {"consumer_byte_rate": 5e5}
    }
    assert {alice, nobody} <= admin.describe_client_quotas([ClientQuotaFilter("user")]).keys()
    with pytest.raises(InvalidRequestError, match="no_such_rate"):
        admin.alter_client_quotas({alice: {"no_such_rate": 1.0}})
    admin.alter_client_quotas({alice: {"producer_byte_rate": None}, nobody: {"consumer_byte_rate": None}})
    eventually(lambda: admin.describe_client_quotas(exactly) == {})


def test_scram_credentials_are_set_described_and_deleted(admin: Admin, eventually: Any) -> None:
    user, other = f"user-{uuid.uuid4().hex}", f"user-{uuid.uuid4().hex}"
    admin.alter_user_scram_credentials(
        [
            ScramUpsertion(user, ScramMechanism.SCRAM_SHA_256, "secret"),
            ScramUpsertion(other, ScramMechanism.SCRAM_SHA_512, b"secret", 8192),
        ]
    )
    eventually(lambda: {user, other} <= admin.describe_user_scram_credentials().keys())
    (info,) = admin.describe_user_scram_credentials([other])[other]
    assert (info.mechanism, info.iterations) == (ScramMechanism.SCRAM_SHA_512, 8192)
    with pytest.raises(ResourceNotFoundError, match="missing") as caught:
        admin.alter_user_scram_credentials(
            [
                ScramDeletion("missing", ScramMechanism.SCRAM_SHA_256),
                ScramDeletion(user, ScramMechanism.SCRAM_SHA_256),
            ]
        )
    assert caught.value.outcome is not None
    assert list(caught.value.outcome.results) == [user]
    with pytest.raises(ResourceNotFoundError, match="missing"):
        admin.describe_user_scram_credentials(["missing"])


def test_log_directories_are_described(admin: Admin, flights: str) -> None:
    (log_dirs,) = admin.describe_log_dirs().values()
    ((path, log_dir),) = log_dirs.items()
    assert log_dir.error is None
    assert log_dir.replicas[TopicPartition(flights, 2)].size_bytes == 0
    assert (log_dir.total_bytes or 0) >= (log_dir.usable_bytes or 0) > 0
    replica = TopicPartitionReplica(flights, 0, 1)
    assert admin.describe_replica_log_dirs([replica])[replica].current_log_dir == path
    admin.alter_replica_log_dirs({replica: path})
    with pytest.raises(LogDirNotFoundError, match=f"{flights}-0 on node 1 to /nowhere"):
        admin.alter_replica_log_dirs({replica: "/nowhere"})


def test_a_broker_without_an_authorizer_has_no_acls(admin: Admin) -> None:
    with pytest.raises(SecurityDisabledError):
        admin.describe_acls()
    read = AclBinding(AclResourceType.TOPIC, "flights", "User:ann", AclOperation.READ)
    with pytest.raises(
        SecurityDisabledError, match=r"^the rule to allow User:ann read on topic 'flights' from \*: SEC"
    ):
        admin.create_acls([read])


@pytest.mark.parametrize(
    "older",
    [
        pytest.param(lambda: ApacheKafka("2.8.2"), id="apache", marks=pytest.mark.differential),
        pytest.param(lambda: EmbeddedBroker(as_version="2.8"), id="embedded"),
    ],
)
def test_an_admin_says_that_a_broker_does_not_know_a_call(older: Callable[[], Any]) -> None:
    with (
        older() as kafka,
        Admin(kafka.bootstrap) as admin,
        pytest.raises(UnsupportedVersionError, match="DescribeQuorum"),
    ):
        admin.describe_metadata_quorum()
