"""The same scripts with the real confluent-kafka and with Barnabas's: both must show a program the same."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from tests.compat.differential.pending import PENDING
from tests.compat.differential.runner import difference
from tests.compat.differential.script import Broker, Script, all_scripts
from tests.compat.differential.stage import House

from barnabas.testing import ApacheKafka, EmbeddedBroker, SecureListeners

RUNS = [
    pytest.param(broker, script, id=f"{script.name}-{broker}")
    for broker in Broker
    for script in all_scripts()
    if broker in script.brokers and script.name not in PENDING
]


@pytest.fixture(scope="module", autouse=True)
def quick_collections() -> Iterator[None]:
    """What all tests of a run have in memory is not looked at again and again."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session")
def apache_house(apache_kafka: ApacheKafka) -> Iterator[House]:
    house = House.of(apache_kafka)
    yield house
    house.close()


@pytest.fixture(scope="session")
def embedded_house(embedded_broker: EmbeddedBroker) -> Iterator[House]:
    house = House.of(embedded_broker)
    yield house
    house.close()


@pytest.fixture(scope="session")
def secure_house() -> Iterator[House]:
    with ApacheKafka(security=SecureListeners()) as kafka:
        house = House.of(kafka)
        yield house
        house.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Producer abort_transaction failed:RuntimeWarning")
@pytest.mark.parametrize(("broker", "script"), RUNS)
def test_both_libraries_show_a_program_the_same(
    broker: Broker, script: Script, request: pytest.FixtureRequest
) -> None:
    house = None if broker is Broker.NONE else request.getfixturevalue(f"{broker.value}_house")
    found = difference(script, house)
    if house is None:
        # A client that a script leaves in a cycle asks for a broker that is not there until it is collected.
        gc.collect()
    assert not found, f"\n{found}"


def test_every_pending_script_exists() -> None:
    assert {script.name for script in all_scripts()} >= PENDING
