"""What all tests share: brokers of both kinds, fresh topics, and waiting with a deadline."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import hypothesis
import pytest
from tests.spark_home import make_spark_home
from tests.waiting import wait_for, wait_for_async

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.clock import CLOCK
from barnabas.testing import ApacheKafka, ApacheKafkaCluster, EmbeddedBroker

if TYPE_CHECKING:
    from tests.telemetry_receiver import Receiver

# A machine that is busy with other tests is no failure; pytest's own limit holds for each test.
hypothesis.settings.register_profile("tests", deadline=None, max_examples=50)
hypothesis.settings.load_profile("tests")

# Of brokers that no test stops: a machine that stands still for a few seconds makes them elect nobody. There
# are many of them, and heartbeats to their controller are much of what each takes while idle.
PATIENCE = {
    "broker.session.timeout.ms": "45000",
    "broker.heartbeat.interval.ms": "10000",
    "controller.quorum.fetch.timeout.ms": "15000",
}

pytest_plugins = ["tests.suite.plugin"]

T = TypeVar("T")


@pytest.fixture(autouse=True)
def no_faults() -> Iterator[list[logging.LogRecord]]:
    """Fails whatever test a fault of Barnabas itself shows in: work in the background that ended by an error,
    or an offset that cannot be. A test that brings one about empties the list."""
    faults: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = faults.append
    logger = logging.getLogger("barnabas.faults")
    logger.addHandler(handler)
    yield faults
    logger.removeHandler(handler)
    if faults:
        pytest.fail("\n".join(logging.Formatter().format(fault) for fault in faults))


@pytest.fixture(scope="session")
def eventually() -> Callable[..., T]:
    """`eventually(condition, timeout=60.0)` waits for it, and returns its first true result."""
    return wait_for


@pytest.fixture(scope="session")
def eventually_async() -> Callable[..., Awaitable[T]]:
    """`await eventually_async(condition, timeout=60.0)`."""
    return wait_for_async


@pytest.fixture(scope="session")
def spark_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """That of every Spark from now on, those in processes that tests start included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_HOME", str(make_spark_home(tmp_path_factory.mktemp("spark"))))
        yield


@pytest.fixture(scope="session")
def apache_kafka() -> Iterator[ApacheKafka]:
    """One Apache Kafka for the whole run. A test that stops or kills a broker starts its own."""
    with ApacheKafka(config=PATIENCE) as kafka:
        _meet_coordinators(kafka.bootstrap)
        yield kafka


def _meet_coordinators(bootstrap: str) -> None:
    """Has a new broker make the topics that its coordinators keep. Until they are loaded, clients that are
    compared meet errors that pass, each as its own timing has it."""
    with Producer(bootstrap, transactional_id="first") as producer:
        producer.init_transactions()
    with Consumer(bootstrap, group_id="first") as consumer:
        consumer.committed([TopicPartition("none", 0)])


@pytest.fixture(scope="session")
def embedded_broker() -> Iterator[EmbeddedBroker]:
    """One embedded broker for the whole run. A test that stops or kills a broker starts its own."""
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture(scope="session")
def telemetry_receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """An Apache Kafka that keeps what clients push of themselves. It asks for nothing."""
    # Most tests should not wait for OpenTelemetry to be imported.
    from tests.telemetry_receiver import receiving_kafka

    with receiving_kafka(tmp_path_factory.mktemp("classes"), tmp_path_factory.mktemp("pushed")) as receiver:
        yield receiver


@pytest.fixture(scope="session", params=["apache", "embedded"])
def broker(request: pytest.FixtureRequest) -> ApacheKafka | EmbeddedBroker:
    """Every test that takes this runs against both brokers."""
    return request.getfixturevalue({"apache": "apache_kafka", "embedded": "embedded_broker"}[request.param])


@pytest.fixture(params=["apache", "embedded"])
def own_broker(request: pytest.FixtureRequest) -> Iterator[ApacheKafka | EmbeddedBroker]:
    """A broker of both kinds in turn for this test alone, which may stop, kill, pause and restart it."""
    with {"apache": ApacheKafka, "embedded": EmbeddedBroker}[request.param]() as broker:
        yield broker


# Each node has a rack of its own, and tells a consumer which replica is closest.
RACKS = ["rack-1", "rack-2", "rack-3"]
CLOSEST = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


@pytest.fixture(scope="session")
def apache_cluster() -> Iterator[ApacheKafkaCluster]:
    """Three brokers of Apache Kafka for the whole run, of which a test may stop none."""
    with ApacheKafkaCluster(racks=RACKS, config=CLOSEST | PATIENCE) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def embedded_cluster() -> Iterator[EmbeddedBroker]:
    """Three nodes of an embedded broker for the whole run, of which a test may stop none."""
    with EmbeddedBroker(nodes=3, racks=RACKS, config=CLOSEST) as cluster:
        yield cluster


@pytest.fixture(scope="session", params=["apache", "embedded"])
def cluster(request: pytest.FixtureRequest) -> ApacheKafkaCluster | EmbeddedBroker:
    """Every test that takes this runs against clusters of both kinds."""
    return request.getfixturevalue(f"{request.param}_cluster")


@pytest.fixture(scope="module")
def own_apache_cluster() -> Iterator[ApacheKafkaCluster]:
    """Three brokers for this module's tests alone, which may stop, kill, pause and restart them, and leave
    all of them running."""
    with ApacheKafkaCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def own_embedded_cluster() -> Iterator[EmbeddedBroker]:
    """Three nodes for this module's tests alone, as above, which miss a killed one as soon."""
    with EmbeddedBroker(nodes=3, config={"broker.session.timeout.ms": "3000"}) as cluster:
        yield cluster


@pytest.fixture(scope="module", params=["apache", "embedded"])
def own_cluster(request: pytest.FixtureRequest) -> ApacheKafkaCluster | EmbeddedBroker:
    """Every test that takes this runs against clusters of both kinds, which are this module's alone."""
    return request.getfixturevalue(f"own_{request.param}_cluster")


@pytest.fixture
def clock_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Afterwards the clock of brokers and clients shows the machine's time again."""
    monkeypatch.setattr(CLOCK, "moved_by_ms", 0)
    monkeypatch.setattr(CLOCK, "_passed_seconds", 0.0)


@pytest.fixture
def topic() -> Callable[[], str]:
    """Names that no other test uses: `topic()`. Creating the topic is up to the test."""
    return lambda: f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def make_topic(eventually: Any) -> Callable[..., str]:
    """`make_topic(broker, partitions=1, **configs)` gives the name of a new topic."""

    def make(broker: Any, partitions: int = 1, **configs: str) -> str:
        name = f"test-{uuid.uuid4().hex[:12]}"
        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic(name, partitions, 1, dotted)])
            eventually(lambda: name in admin.list_topics())
            # The leaders answer: a record sent with acks=0 would be lost before they do.
            admin.list_offsets({TopicPartition(name, number): "latest" for number in range(partitions)})
        return name

    return make
