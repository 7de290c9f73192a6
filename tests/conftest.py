"""What all tests share: brokers of both kinds, fresh topics, and waiting with a deadline."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import hypothesis
import pytest

from barnabas import Admin, NewTopic, TopicPartition
from barnabas.testing import ApacheKafka, ApacheKafkaCluster, EmbeddedBroker

# A machine that is busy with other tests is no failure; pytest's own limit holds for each test.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")

# Of brokers that no test stops: a machine that stands still for a few seconds makes them elect nobody. There
# are many of them, and what a controller writes twice a second is a third of what each takes while idle.
PATIENCE = {
    "broker.session.timeout.ms": "30000",
    "controller.quorum.fetch.timeout.ms": "15000",
    "metadata.max.idle.interval.ms": "5000",
}

T = TypeVar("T")


def wait_for(condition: Callable[[], T], timeout: float = 60.0) -> T:
    """The first true result of `condition`. Fails with the last one when `timeout` seconds have passed."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            pytest.fail(f"not so within {timeout} s: {condition}, which last gave {result!r}")
        time.sleep(0.02)


async def wait_for_async(condition: Callable[[], Awaitable[T] | T], timeout: float = 60.0) -> T:
    """`wait_for` on an event loop; `condition` may be a coroutine function."""
    deadline = time.monotonic() + timeout
    while True:
        outcome = condition()
        result = await outcome if isinstance(outcome, Awaitable) else outcome
        if result:
            return result
        if time.monotonic() > deadline:
            pytest.fail(f"not so within {timeout} s: {condition}, which last gave {result!r}")
        await asyncio.sleep(0.02)


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
def apache_kafka() -> Iterator[ApacheKafka]:
    """One Apache Kafka for the whole run. A test that stops or kills a broker starts its own."""
    with ApacheKafka(config=PATIENCE) as kafka:
        yield kafka


@pytest.fixture(scope="session")
def embedded_broker() -> Iterator[EmbeddedBroker]:
    """One embedded broker for the whole run. A test that stops or kills a broker starts its own."""
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture(scope="session", params=["apache", "embedded"])
def broker(request: pytest.FixtureRequest) -> ApacheKafka | EmbeddedBroker:
    """Every test that takes this runs against both brokers."""
    return request.getfixturevalue({"apache": "apache_kafka", "embedded": "embedded_broker"}[request.param])


@pytest.fixture(params=["apache", "embedded"])
def own_broker(request: pytest.FixtureRequest) -> Iterator[ApacheKafka | EmbeddedBroker]:
    """A broker of both kinds in turn for this test alone, which may stop, kill, pause and restart it."""
    with {"apache": ApacheKafka, "embedded": EmbeddedBroker}[request.param]() as broker:
        yield broker


@pytest.fixture(scope="session")
def cluster() -> Iterator[ApacheKafkaCluster]:
    """Three brokers for the whole run, of which a test may stop none. Each has a rack of its own, and tells
    a consumer which replica is closest."""
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    config = {"replica.selector.class": selector, **PATIENCE}
    with ApacheKafkaCluster(racks=["rack-1", "rack-2", "rack-3"], config=config) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[ApacheKafkaCluster]:
    """Three brokers for this module's tests alone, which may stop, kill, pause and restart them, and leave
    all of them running."""
    with ApacheKafkaCluster() as cluster:
        yield cluster


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
