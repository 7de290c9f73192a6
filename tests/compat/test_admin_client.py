"""AdminClient is as the real one: the same calls on both, against the same broker, with the same outcome."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import confluent_kafka as real
import pytest
from confluent_kafka import admin as real_admin
from tests.compat import (
    admin_argument_scripts,
    admin_broker_scripts,
    admin_cluster_scripts,
    admin_life_scripts,
    admin_security_scripts,
)
from tests.compat.facade_script import SILENT, Behaviour, FacadeScript, behaviours_of, normalised
from tests.waiting import wait_for

from barnabas import Admin, TopicPartition
from barnabas.client.admin.types import NewTopic
from barnabas.compat import confluent_kafka as ours
from barnabas.compat.confluent_kafka import admin as our_admin
from barnabas.testing import ApacheKafka, ApacheKafkaCluster, EmbeddedBroker, SecureListeners

NOT_OF_THE_EMBEDDED_BROKER = {
    "access_rules_are_created_found_and_deleted",
    "groups_are_listed_and_described",
    "groups_are_listed_in_the_old_way",
    "a_cluster_out_of_reach_times_out",
}
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "offsets.topic.num.partitions": "1",
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[ApacheKafka]:
    with ApacheKafka("4.3.0", config=SETTINGS) as broker, Admin(broker.bootstrap) as admin:
        # librdkafka does not wait until the broker knows which groups it coordinates.
        admin.create_topics([NewTopic("ready", 1, 1)])
        admin.alter_group_offsets("ready", {TopicPartition("ready", 0): 0})
        yield broker


@pytest.mark.parametrize("behaviour", behaviours_of(admin_argument_scripts))
def test_arguments_are_refused_as_by_the_real_one(behaviour: Behaviour, kafka: ApacheKafka) -> None:
    assert_same(behaviour, kafka.bootstrap)


@pytest.mark.parametrize("behaviour", behaviours_of(admin_broker_scripts))
def test_a_call_does_what_the_real_one_does(behaviour: Behaviour, kafka: ApacheKafka) -> None:
    assert_same(behaviour, kafka.bootstrap)


@pytest.fixture(scope="module")
def open_kafka() -> Iterator[ApacheKafka]:
    """A broker that has no authorizer, and creates topics when they are asked for."""
    with ApacheKafka("4.3.0", config={"auto.create.topics.enable": "true"}) as broker:
        yield broker


@pytest.mark.parametrize("behaviour", behaviours_of(admin_life_scripts))
def test_a_client_lives_as_the_real_one(behaviour: Behaviour, open_kafka: ApacheKafka) -> None:
    assert_same(behaviour, open_kafka.bootstrap)


# In these two the real one nearly always does the same; but its thread that gives answers may end before
# the one that makes them, and then its futures never end.
def test_what_is_under_way_ends_with_the_client() -> None:
    client = our_admin.AdminClient({"bootstrap.servers": admin_life_scripts.UNREACHABLE}, logger=SILENT)
    future = client.create_topics([our_admin.NewTopic("a", 1, 1)])["a"]
    with client:
        pass
    assert future.exception(10).args[0].name() == "_DESTROY"


def test_what_is_under_way_ends_when_nobody_holds_the_client() -> None:
    def begin() -> Future[Any]:
        client = our_admin.AdminClient({"bootstrap.servers": admin_life_scripts.UNREACHABLE}, logger=SILENT)
        return client.describe_cluster()

    future = begin()
    gc.collect()
    error = future.exception(10)
    assert error is not None
    assert error.args[0].name() == "_DESTROY"


@pytest.fixture(scope="module")
def secure_kafka() -> Iterator[ApacheKafka]:
    with ApacheKafka("4.3.0", security=SecureListeners()) as broker:
        yield broker


@pytest.mark.parametrize("behaviour", behaviours_of(admin_security_scripts))
def test_what_may_not_be_fails_as_with_the_real_one(behaviour: Behaviour, secure_kafka: ApacheKafka) -> None:
    assert_same(behaviour, secure_kafka.bootstrap_for("SASL_PLAINTEXT"))


@pytest.fixture(scope="module")
def wounded_cluster() -> Iterator[ApacheKafkaCluster]:
    """Three brokers of which one was killed, and the topics of `admin_cluster_scripts`."""
    dead = admin_cluster_scripts.DEAD
    assignments = {admin_cluster_scripts.HALF: [1, dead], admin_cluster_scripts.GONE: [dead]}
    topics = [NewTopic(name, replica_assignments={0: nodes}) for name, nodes in assignments.items()]
    with ApacheKafkaCluster() as cluster, Admin(cluster.bootstrap) as admin:
        admin.create_topics(topics)
        cluster.node(dead).kill()
        wait_for(lambda: len(admin.describe_cluster().nodes) == 2, timeout=30)
        wait_for(lambda: _leader_of(admin, admin_cluster_scripts.GONE) < 0, timeout=30)
        yield cluster


def _leader_of(admin: Admin, topic: str) -> int:
    return admin.describe_topics([topic])[topic].partitions[0].leader


@pytest.mark.parametrize("behaviour", behaviours_of(admin_cluster_scripts))
def test_a_broker_that_is_down_is_told_of_as_by_the_real_one(
    behaviour: Behaviour, wounded_cluster: ApacheKafkaCluster
) -> None:
    assert_same(behaviour, wounded_cluster.bootstrap)


@pytest.mark.parametrize(
    "behaviour",
    [case for case in behaviours_of(admin_broker_scripts) if case.id not in NOT_OF_THE_EMBEDDED_BROKER],
)
def test_the_embedded_broker_is_no_different(behaviour: Behaviour, embedded_broker: EmbeddedBroker) -> None:
    assert_same(behaviour, embedded_broker.bootstrap)


def test_who_has_no_password_cannot_be_described(kafka: ApacheKafka) -> None:
    # The real one corrupts its memory when it is told so.
    with our_admin.AdminClient({"bootstrap.servers": kafka.bootstrap}) as client:
        future = client.describe_user_scram_credentials(["absent"])["absent"]
        error = future.exception(10).args[0]
    assert (error.name(), error.str()) == (
        "RESOURCE_NOT_FOUND",
        "Attempt to describe a user credential that does not exist: absent",
    )


def assert_same(behaviour: Behaviour, bootstrap: str) -> None:
    notes: list[list[str]] = []
    for package, admin in ((real, real_admin), (ours, our_admin)):
        with warnings.catch_warnings(), FacadeScript(package, admin, bootstrap) as run:
            warnings.simplefilter("ignore", DeprecationWarning)
            behaviour(run)
        notes.append(normalised(run.lines))
    assert notes[1] == notes[0]
