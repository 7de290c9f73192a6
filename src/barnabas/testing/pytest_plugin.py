"""Fixtures for programs that use Kafka, by whichever client: pytest finds them where Barnabas is installed.

    def test_orders_are_counted(kafka, kafka_topic):
        subprocess.run(["my-program"], env={**os.environ, "BROKERS": kafka.bootstrap})

    def test_a_leader_that_moves_is_no_trouble(kafka_faults, kafka_topic):
        kafka_faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic=kafka_topic, times=3)

Owns the fixtures and the option `--kafka`, which says what they start. docs/testing.md is for users. Every
worker of pytest-xdist has brokers of its own, for its whole run, so that faults of one test meet no other.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from barnabas.testing import (
        ApacheKafka,
        ApacheKafkaCluster,
        EmbeddedBroker,
        EmbeddedRegistry,
        FaultControl,
    )
    from barnabas.testing.broker_process import BrokerProcess
    from barnabas.testing.put_back import BrokerBefore

OPTION = "barnabas_kafka"
_STARTED: pytest.StashKey[dict[str, BrokerProcess | ApacheKafkaCluster]] = pytest.StashKey()
"""What runs for the whole run, by its fixture."""
_BEFORE: pytest.StashKey[dict[str, BrokerBefore]] = pytest.StashKey()
"""Of a test, as they were before it."""
LONGEST_NAME = 40
MISSED_SOON = {"broker.session.timeout.ms": "3000"}
_ENVIRONMENT_HELP = "lines of NAME={bootstrap}, with {faults} and {registry} as well, for kafka_environment"


class RunningKafka:
    """A Kafka that runs already, by `--kafka HOST:PORT`."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("barnabas", "Kafka for tests")
    text = "what the fixture `kafka` is: embedded, apache (needs Java), or HOST:PORT of one that runs"
    group.addoption("--kafka", dest=OPTION, default=None, metavar="KAFKA", help=text)
    parser.addini(OPTION, text, default="embedded")
    parser.addini("barnabas_environment", _ENVIRONMENT_HELP, type="linelist", default=[])


@pytest.fixture(scope="session")
def kafka_config() -> Mapping[str, str]:
    """Settings of the broker, by Kafka's names. To be overridden in a conftest.py."""
    return {}


def _chosen(request: pytest.FixtureRequest) -> str:
    return request.config.getoption(OPTION) or request.config.getini(OPTION)


def _started(request: pytest.FixtureRequest) -> dict[str, BrokerProcess | ApacheKafkaCluster]:
    return request.config.stash.setdefault(_STARTED, {})


@pytest.fixture(autouse=True)
def _kafka_as_before(request: pytest.FixtureRequest) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Puts back what a test, or a fixture of it, has changed of `kafka` and `kafka_cluster`: a broker that is
    paused or down, nodes, faults, disk and clock."""
    started = _started(request)
    names = started.keys() & request.fixturenames
    befores: dict[str, BrokerBefore] = {}
    if names:
        from barnabas.testing.put_back import BrokerBefore

        befores = request.node.stash[_BEFORE] = {name: BrokerBefore(started[name]) for name in names}
    yield
    # What a test asks for only while it runs is taken to have been new before.
    for name in (started.keys() & request.fixturenames) - names:
        from barnabas.testing.put_back import BrokerBefore

        BrokerBefore(started[name], is_new=True).put_back()
    for before in befores.values():
        before.put_back()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    # Before fixtures end: a client that one of them closes would wait for a broker that is paused. Faults are
    # left to the fixtures that have set them. What cannot be put back fails the test when they have ended.
    if _BEFORE in item.stash:
        from barnabas.errors import BarnabasError

        with contextlib.suppress(BarnabasError):
            for before in item.stash[_BEFORE].values():
                before.run_again()


@pytest.fixture(scope="session")
def kafka(
    request: pytest.FixtureRequest, kafka_config: Mapping[str, str]
) -> Iterator[EmbeddedBroker | ApacheKafka | RunningKafka]:
    """A broker for the whole run, with `.bootstrap`."""
    from barnabas.testing import ApacheKafka, EmbeddedBroker

    chosen = _chosen(request)
    if chosen == "embedded":
        with EmbeddedBroker(config=kafka_config) as broker:
            _started(request)["kafka"] = broker
            yield broker
    elif chosen == "apache":
        with ApacheKafka(config=kafka_config) as broker:
            _started(request)["kafka"] = broker
            yield broker
    elif re.fullmatch(r".+:\d+", chosen):
        yield RunningKafka(chosen)
    else:
        raise pytest.UsageError(f"--kafka is embedded, apache or HOST:PORT, not {chosen!r}")


@pytest.fixture(scope="session")
def kafka_cluster(
    request: pytest.FixtureRequest, kafka_config: Mapping[str, str]
) -> Iterator[EmbeddedBroker | ApacheKafkaCluster]:
    """Three nodes for the whole run, with `.bootstrap` and `.node(2)`, which tests start again: embedded
    ones, or with `--kafka apache` those of Apache Kafka. One that was killed is missed after three seconds.
    """
    from barnabas.testing import ApacheKafkaCluster, EmbeddedBroker

    chosen = _chosen(request)
    if chosen == "embedded":
        with EmbeddedBroker(config={**MISSED_SOON, **kafka_config}, nodes=3) as broker:
            _started(request)["kafka_cluster"] = broker
            yield broker
    elif chosen == "apache":
        with ApacheKafkaCluster(config=kafka_config) as cluster:
            _started(request)["kafka_cluster"] = cluster
            yield cluster
    else:
        pytest.skip(f"kafka_cluster is embedded or apache, and --kafka is {chosen}")


@pytest.fixture(scope="session")
def _kafka_fault_control(kafka: EmbeddedBroker | ApacheKafka | RunningKafka) -> Iterator[FaultControl]:
    from barnabas.testing import EmbeddedBroker, KafkaProxy

    if isinstance(kafka, EmbeddedBroker):
        yield kafka.faults
    else:
        with KafkaProxy(kafka.bootstrap) as proxy:
            yield proxy.faults


@pytest.fixture
def kafka_faults(_kafka_fault_control: FaultControl) -> Iterator[FaultControl]:
    """Faults on demand, none at first and none left behind. They meet clients of `kafka_faults.bootstrap`,
    which is that of `kafka` where it is embedded, and a proxy before any other Kafka."""
    _kafka_fault_control.clear()
    yield _kafka_fault_control
    _kafka_fault_control.clear()


@pytest.fixture
def kafka_topics(
    request: pytest.FixtureRequest, kafka: EmbeddedBroker | ApacheKafka | RunningKafka
) -> Iterator[Callable[..., str]]:
    """`kafka_topics(partitions=1, cleanup_policy="compact")` creates a topic and gives its name, which no
    other test has."""
    from barnabas import Admin, NewTopic

    made: list[str] = []
    test = re.sub(r"[^A-Za-z0-9-]+", "-", str(request.node.name)).strip("-")[:LONGEST_NAME]

    def create(partitions: int = 1, replication_factor: int = 1, **config: str) -> str:
        name = f"{test}-{uuid.uuid4().hex[:8]}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        with Admin(kafka.bootstrap) as admin:
            admin.create_topics([NewTopic(name, partitions, replication_factor, settings)])
        made.append(name)
        return name

    yield create
    # The others go with their topics.
    if made and isinstance(kafka, RunningKafka):
        with Admin(kafka.bootstrap) as admin:
            admin.delete_topics(made)


@pytest.fixture
def kafka_topic(kafka_topics: Callable[..., str]) -> str:
    """A new topic with one partition, which no other test has: its name."""
    return kafka_topics()


@pytest.fixture(scope="session")
def schema_registry() -> Iterator[EmbeddedRegistry]:
    """A schema registry for the whole run, with `.url`. Needs the extra `registry-server`."""
    from barnabas.testing import EmbeddedRegistry

    with EmbeddedRegistry() as registry:
        yield registry


@pytest.fixture
def kafka_environment(
    request: pytest.FixtureRequest, kafka_faults: FaultControl, monkeypatch: pytest.MonkeyPatch
) -> Mapping[str, str]:
    """What programs under test find in their environment, which is set in this process as well until the test
    ends: KAFKA_BOOTSTRAP_SERVERS, BARNABAS_BOOTSTRAP, BARNABAS_FAULTS, with the fixture `schema_registry`
    SCHEMA_REGISTRY_URL, and what the setting `barnabas_environment` names."""
    values = {"bootstrap": kafka_faults.bootstrap, "faults": kafka_faults.url, "registry": ""}
    told = {
        "KAFKA_BOOTSTRAP_SERVERS": kafka_faults.bootstrap,
        "BARNABAS_BOOTSTRAP": kafka_faults.bootstrap,
        "BARNABAS_FAULTS": kafka_faults.url,
    }
    if "schema_registry" in request.fixturenames:
        registry: EmbeddedRegistry = request.getfixturevalue("schema_registry")
        values["registry"] = told["SCHEMA_REGISTRY_URL"] = registry.url
    for line in request.config.getini("barnabas_environment"):
        name, _, pattern = line.partition("=")
        told[name.strip()] = pattern.strip().format(**values)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    return {**os.environ, **told}
