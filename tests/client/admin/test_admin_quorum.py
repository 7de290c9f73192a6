"""What an Admin does to KRaft's quorum, to features and to registrations, and controllers asked directly."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import (
    Admin,
    ConfigResource,
    FeatureUpdate,
    NewTopic,
    RaftVoterEndpoint,
    ResourceType,
    TopicPartition,
    UpgradeType,
)
from barnabas.broker_errors import (
    BrokerIdNotRegisteredError,
    DuplicateVoterError,
    InconsistentClusterIdError,
    MismatchedEndpointTypeError,
    UnsupportedEndpointTypeError,
    VoterNotFoundError,
)
from barnabas.errors import BootstrapError, InvalidSettingError, NoCommonVersionError
from barnabas.testing import ApacheKafka, JoiningNode


@pytest.fixture(scope="module")
def kafka() -> Iterator[ApacheKafka]:
    # A machine that stands still for a second shall not have the two controllers elect another.
    with ApacheKafka(
        has_dynamic_quorum=True, config={"controller.quorum.fetch.timeout.ms": "15000"}
    ) as kafka:
        yield kafka


@pytest.fixture(params=["brokers", "controllers"])
def admin(request: pytest.FixtureRequest, kafka: ApacheKafka) -> Iterator[Admin]:
    """One that asks brokers, and one that asks controllers."""
    if request.param == "brokers":
        made = Admin(kafka.bootstrap)
    else:
        made = Admin(bootstrap_controllers=kafka.bootstrap_controllers)
    with made:
        yield made


@pytest.fixture(scope="module")
def second_controller(kafka: ApacheKafka) -> Iterator[JoiningNode]:
    with JoiningNode(kafka, 2, role="controller") as node:
        yield node


def voters(admin: Admin) -> list[int]:
    return sorted(voter.replica_id for voter in admin.describe_metadata_quorum().voters)


def caught_up(admin: Admin) -> list[tuple[int, uuid.UUID]]:
    """The observers that have been at the end of the leader's log."""
    observers = admin.describe_metadata_quorum().observers
    return [(one.replica_id, one.replica_directory_id) for one in observers if one.last_caught_up_timestamp]


def test_a_controller_becomes_a_voter_and_is_none_again(
    kafka: ApacheKafka, admin: Admin, second_controller: JoiningNode, eventually: Any
) -> None:
    directory_id = second_controller.directory_id
    endpoints = [RaftVoterEndpoint("CONTROLLER", "127.0.0.1", second_controller.port)]
    # A leader refuses a voter that has never been at the end of its log.
    eventually(lambda: (2, directory_id) in caught_up(admin))
    with pytest.raises(InconsistentClusterIdError):
        admin.add_raft_voter(2, directory_id, endpoints, cluster_id="another")
    admin.add_raft_voter(2, directory_id, endpoints, cluster_id=kafka.cluster_id)
    quorum = admin.describe_metadata_quorum()
    assert voters(admin) == [1, 2]
    assert quorum.endpoints[2] == tuple(endpoints)
    with pytest.raises(DuplicateVoterError):
        admin.add_raft_voter(2, directory_id, endpoints)
    admin.remove_raft_voter(2, directory_id, cluster_id=kafka.cluster_id)
    assert voters(admin) == [1]
    with pytest.raises(VoterNotFoundError):
        admin.remove_raft_voter(2, directory_id)


def test_a_broker_that_is_gone_is_forgotten(kafka: ApacheKafka, admin: Admin, eventually: Any) -> None:
    with Admin(kafka.bootstrap) as watcher, JoiningNode(kafka, 3, role="broker") as broker:
        eventually(lambda: [node.node_id for node in watcher.describe_cluster().nodes] == [1, 3])
        broker.stop()
        eventually(
            lambda: 3 in watcher.describe_cluster(include_fenced_brokers=True).fenced,
        )
        admin.unregister_broker(3)
        eventually(lambda: not watcher.describe_cluster(include_fenced_brokers=True).fenced)
        with pytest.raises(BrokerIdNotRegisteredError):
            admin.unregister_broker(3)


def test_a_feature_is_lowered_and_raised(admin: Admin, eventually: Any) -> None:
    def level() -> int:
        found = admin.describe_features().finalized.get("share.version")
        return 0 if found is None else found.highest

    assert level() == 1
    admin.update_features({"share.version": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)}, validate_only=True)
    assert level() == 1
    admin.update_features({"share.version": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)})
    eventually(lambda: level() == 0)
    admin.update_features({"share.version": FeatureUpdate(1)})
    eventually(lambda: level() == 1)


def test_controllers_describe_themselves(kafka: ApacheKafka) -> None:
    port = int(kafka.bootstrap_controllers.rpartition(":")[2])
    with Admin(bootstrap_controllers=[kafka.bootstrap_controllers]) as admin:
        cluster = admin.describe_cluster()
        assert cluster.cluster_id == kafka.cluster_id
        assert (1, port) in [(node.node_id, node.port) for node in cluster.nodes]
        assert cluster.controller is not None
        assert cluster.controller.node_id == 1


def test_controllers_change_settings_and_show_their_own(kafka: ApacheKafka, eventually: Any) -> None:
    broker = ConfigResource(ResourceType.BROKER, "1")
    with Admin(bootstrap_controllers=kafka.bootstrap_controllers) as admin, Admin(kafka.bootstrap) as other:
        admin.alter_configs({broker: {"log.cleaner.threads": "2"}})
        eventually(lambda: other.describe_configs([broker])[broker]["log.cleaner.threads"].value == "2")
        admin.alter_configs({broker: {"log.cleaner.threads": None}})
        assert admin.describe_configs([broker])[broker]["node.id"].value == "1"


@pytest.mark.parametrize(
    "call",
    [
        lambda admin: admin.list_topics(),
        lambda admin: admin.list_groups(),
        lambda admin: admin.describe_groups(["group"]),
        lambda admin: admin.delete_records({TopicPartition("topic", 0): 1}),
        lambda admin: admin.list_offsets({TopicPartition("topic", 0): "latest"}),
    ],
    ids=["topics", "groups", "a group", "records", "offsets"],
)
def test_what_only_brokers_know_is_refused_with_controllers(kafka: ApacheKafka, call: Any) -> None:
    with (
        Admin(bootstrap_controllers=kafka.bootstrap_controllers) as admin,
        pytest.raises(UnsupportedEndpointTypeError, match="give the Admin bootstrap_servers"),
    ):
        call(admin)


def test_brokers_are_not_taken_for_controllers_nor_the_other_way_about(kafka: ApacheKafka) -> None:
    with Admin(bootstrap_controllers=kafka.bootstrap) as admin, pytest.raises(MismatchedEndpointTypeError):
        admin.describe_cluster()
    with (
        Admin(kafka.bootstrap_controllers) as admin,
        pytest.raises(NoCommonVersionError, match=r"seems to be a controller.*bootstrap_controllers"),
    ):
        admin.create_topics([NewTopic("topic")])


def test_controllers_that_do_not_answer_are_called_so() -> None:
    with (
        Admin(bootstrap_controllers="127.0.0.1:1", default_api_timeout_ms=300) as admin,
        pytest.raises(BootstrapError, match="none of bootstrap_controllers answered"),
    ):
        admin.describe_metadata_quorum()


def test_either_brokers_or_controllers_are_given() -> None:
    with pytest.raises(InvalidSettingError, match="both given"):
        Admin("127.0.0.1:1", bootstrap_controllers="127.0.0.1:2")
    with pytest.raises(InvalidSettingError, match="bootstrap_servers is missing"):
        Admin()
    with pytest.raises(InvalidSettingError, match="bootstrap_controllers: 'nowhere'"):
        Admin(bootstrap_controllers="nowhere")
