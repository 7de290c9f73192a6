from __future__ import annotations

import pytest
from tests.compat.kafka.generation_runs import genuine, ours

from barnabas.compat.kafka_engine.generations import GENERATIONS

ALL = pytest.mark.parametrize("generation", GENERATIONS)


@ALL
@pytest.mark.parametrize("part", ["errors", "codes", "structs", "names"])
def test_each_class_is_as_the_genuine_package_has_it(generation: str, part: str) -> None:
    assert ours("error_classes", generation)[part] == genuine("error_classes", generation)[part]
