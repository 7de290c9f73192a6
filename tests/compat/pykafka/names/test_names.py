from __future__ import annotations

import pytest
from tests.compat.pykafka.names.names import missing, undocumented


@pytest.mark.integration
def test_every_public_name_of_pykafka_is_there_and_takes_what_it_took() -> None:
    assert missing() == []


def test_every_name_of_the_documentation_is_there() -> None:
    assert list(undocumented()) == []
