from __future__ import annotations

import pytest
from tests.compat.kafka.names import PAGE, STILL_MISSING, missing, page

from barnabas.compat.kafka_python.generations import GENERATIONS


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_public_name_of_the_original_is_there_and_takes_what_it_took(generation: str) -> None:
    listed = {
        line.partition(" ")[2]
        for line in STILL_MISSING.read_text().splitlines()
        if line.startswith(f"{generation} ")
    }
    assert set(missing(generation)) - listed == set()


def test_the_page_of_names_that_are_not_there_is_of_now() -> None:
    assert PAGE.read_text() == page()
