from __future__ import annotations

from tests.compat.pykafka.names.names import STILL_MISSING, missing, undocumented


def test_every_public_name_of_pykafka_is_there_and_takes_what_it_took() -> None:
    assert set(missing()) - set(STILL_MISSING.read_text().splitlines()) == set()


def test_every_name_of_the_documentation_is_there() -> None:
    assert set(undocumented()) - set(STILL_MISSING.read_text().splitlines()) == set()
