"""The same scripts with the genuine kafka-python and with Barnabas's: both must show a program the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.compat.kafka.differential.brokers import NEW_RELEASE, OLD_RELEASE, theatre_on
from tests.compat.kafka.differential.pending import PENDING
from tests.compat.kafka.differential.played.script import NONE, SECURE, Script, all_scripts
from tests.compat.kafka.differential.runner import difference, difference_from_golden, goldens_of
from tests.compat.kafka.differential.troupe import Troupe
from tests.compat.playing.theatre import Theatre

from barnabas.testing import ApacheKafka

COMPARED = [
    (script, generation)
    for script in all_scripts()
    for generation in script.generations
    if generation not in PENDING.get(script.name, ())
]
LIVE = [
    pytest.param(script, generation, id=f"{script.name}-{generation}")
    for script, generation in COMPARED
    if generation != "1.2"
]
RECORDED = [
    pytest.param(script, release, id=f"{script.name}-{release}")
    for script, generation in COMPARED
    if generation == "1.2"
    for release in ((NEW_RELEASE,) if script.broker == NONE else (NEW_RELEASE, OLD_RELEASE))
]


@pytest.fixture(scope="module")
def troupe() -> Iterator[Troupe]:
    troupe = Troupe()
    yield troupe
    troupe.close()


@pytest.fixture(scope="module")
def new_theatre(apache_kafka: ApacheKafka) -> Iterator[Theatre]:
    theatre = Theatre(apache_kafka)
    yield theatre
    theatre.close()


@pytest.fixture(scope="module")
def old_theatre() -> Iterator[Theatre]:
    with theatre_on(OLD_RELEASE) as theatre:
        yield theatre


@pytest.fixture(scope="module")
def secure_theatre() -> Iterator[Theatre]:
    with theatre_on(NEW_RELEASE, is_secure=True) as theatre:
        yield theatre


def theatre_of(script: Script, release: str, request: pytest.FixtureRequest) -> Theatre | None:
    if script.broker == NONE:
        return None
    if script.broker == SECURE:
        return request.getfixturevalue("secure_theatre")
    return request.getfixturevalue("old_theatre" if release == OLD_RELEASE else "new_theatre")


@pytest.mark.parametrize(("script", "generation"), LIVE)
def test_both_packages_show_a_program_the_same(
    script: Script, generation: str, troupe: Troupe, request: pytest.FixtureRequest
) -> None:
    found = difference(script, generation, troupe, theatre_of(script, NEW_RELEASE, request))
    assert not found, f"\n{found}"


@pytest.mark.parametrize(("script", "release"), RECORDED)
def test_a_program_is_shown_what_kafka_python_1_2_1_showed_it(
    script: Script, release: str, troupe: Troupe, request: pytest.FixtureRequest
) -> None:
    found = difference_from_golden(script, troupe, theatre_of(script, release, request))
    assert not found, f"\n{found}"


def test_every_pending_script_exists() -> None:
    generations = {script.name: set(script.generations) for script in all_scripts()}
    assert all(pending <= generations.get(name, set()) for name, pending in PENDING.items())


def test_what_1_2_1_did_is_recorded_of_its_scripts_and_no_others() -> None:
    scripts = [script for script in all_scripts() if "1.2" in script.generations]
    recorded = {name for module in {script.module for script in scripts} for name in goldens_of(module)}
    assert recorded == {script.name for script in scripts}
