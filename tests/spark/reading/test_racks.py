"""Tasks that read from the replica in the rack of their executor."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from tests.spark.conftest import RACK, RACK_VARIABLE, Kafka

from barnabas import Admin, NewTopic
from barnabas.spark.clients import ClientPool, make_consumer, meaning
from barnabas.spark.errors import InvalidOptionError
from barnabas.testing import EmbeddedBroker

SELECTOR = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
LEADER, FOLLOWER = 1, 2
RACKS = ("rack-1", RACK, "rack-3")
RECORDS = 200


@pytest.fixture(scope="module")
def racked() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(nodes=3, racks=RACKS, config=SELECTOR) as broker:
        yield broker


@pytest.fixture(scope="module")
def topic(racked: EmbeddedBroker) -> str:
    with Admin(racked.bootstrap) as admin:
        admin.create_topics([NewTopic("racked", replica_assignments={0: [LEADER, FOLLOWER, 3]})])
    Kafka(racked.bootstrap).write("racked", [b"%d" % each for each in range(RECORDS)])
    return "racked"


@pytest.mark.parametrize(
    ("rack", "nodes"),
    [
        # The leader is asked first, and says which replica is closer.
        (f"${{env:{RACK_VARIABLE}}}", {LEADER, FOLLOWER}),
        ("${env:NOT_SET:-rack-2}", {LEADER, FOLLOWER}),
        ("${env:NOT_SET:-}", {LEADER}),
        ("rack-1", {LEADER}),
    ],
)
def test_tasks_fetch_where_their_rack_says(
    racked: EmbeddedBroker, topic: str, read: Callable[..., DataFrame], rack: str, nodes: set[int]
) -> None:
    racked.faults.clear()
    # A client that an earlier task left knows already which replica is closer.
    own = {"kafka.client.rack": rack, "kafka.client.id": uuid.uuid4().hex}
    frame = read(Kafka(racked.bootstrap), subscribe=topic, **own)
    assert frame.count() == RECORDS
    assert {request.node for request in racked.faults.requests("Fetch", topic=topic)} == nodes


def test_a_variable_that_an_executor_lacks_is_named(
    racked: EmbeddedBroker, topic: str, read: Callable[..., DataFrame]
) -> None:
    # The driver, which only asks leaders, needs no rack.
    frame = read(Kafka(racked.bootstrap), subscribe=topic, **{"kafka.client.rack": "${env:NOT_SET}"})
    with pytest.raises(
        PySparkException, match=r"kafka.client.rack names the variable NOT_SET of the environ"
    ):
        frame.count()


def test_any_setting_may_have_variables_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "here")
    settings = {"bootstrap_servers": "localhost:1", "client_id": "a-${env:PLACE}-${env:OTHER:-b}-${x}"}
    with ClientPool(make_consumer).lend(settings) as consumer:
        assert consumer.config.client_id == "a-here-b-${x}"
    consumer.close()
    with pytest.raises(InvalidOptionError, match=r"kafka.client.id names the variable OTHER"):
        meaning(settings | {"client_id": "${env:OTHER}"})
