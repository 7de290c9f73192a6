"""The same scripts with the genuine pykafka and with Barnabas's: both must show a program the same."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
from tests.compat.playing.theatre import Theatre
from tests.compat.pykafka.differential.brokers import (
    NEW_RELEASE,
    OLD_RELEASE,
    TheatreWithZooKeeper,
    theatre_on,
)
from tests.compat.pykafka.differential.pending import PENDING
from tests.compat.pykafka.differential.played.script import FRAIL, NONE, Script, all_scripts
from tests.compat.pykafka.differential.runner import Runner, releases_of

from barnabas.testing import ApacheKafka

COMPARED = [
    pytest.param(
        script,
        release,
        id=f"{script.name}-{release}",
        # They wait for what clients do when nobody answers.
        marks=[pytest.mark.chaos] if script.broker in FRAIL else [],
    )
    for script in all_scripts()
    for release in releases_of(script)
    if release not in PENDING.get(script.name, ())
]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def old_theatre() -> Iterator[Theatre]:
    with theatre_on(OLD_RELEASE) as theatre:
        yield theatre


@pytest.fixture(scope="module")
def new_theatre(apache_kafka: ApacheKafka) -> Iterator[Theatre]:
    theatre = TheatreWithZooKeeper(apache_kafka, None)
    yield theatre
    theatre.close()


@pytest.fixture(scope="module")
def frail_theatres() -> Iterator[Callable[[str], Theatre]]:
    """Brokers that scripts stop, by their release."""
    with contextlib.ExitStack() as stack:
        known: dict[str, Theatre] = {}

        def theatre(release: str) -> Theatre:
            if release not in known:
                known[release] = stack.enter_context(theatre_on(release))
            return known[release]

        yield theatre


@pytest.mark.parametrize(("script", "release"), COMPARED)
def test_both_packages_show_a_program_the_same(
    script: Script, release: str, runner: Runner, request: pytest.FixtureRequest
) -> None:
    old = theatre = None
    if script.broker in FRAIL:
        theatres = request.getfixturevalue("frail_theatres")
        old, theatre = theatres(OLD_RELEASE), theatres(release)
    elif script.broker != NONE:
        old = theatre = request.getfixturevalue("old_theatre")
        if release == NEW_RELEASE:
            theatre = request.getfixturevalue("new_theatre")
    found = runner.difference(script, old, theatre)
    assert not found, f"\n{found}"


def test_every_pending_script_exists() -> None:
    releases = {script.name: set(releases_of(script)) for script in all_scripts()}
    assert all(pending <= releases.get(name, set()) for name, pending in PENDING.items())
