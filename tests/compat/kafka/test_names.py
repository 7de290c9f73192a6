from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.kafka.generation_runs import ours_with
from tests.compat.kafka.names import PAGE, missing, page

from barnabas.compat.kafka_engine.generations import GENERATIONS


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.integration
def test_every_public_name_of_the_original_is_there_and_takes_what_it_took(generation: str) -> None:
    assert missing(generation) == []


def test_the_page_of_names_that_are_not_there_is_of_now() -> None:
    assert PAGE.read_text() == page()


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.integration
def test_modules_are_there_once_the_package_is_imported(generation: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, kafka\n"
        "print(json.dumps([kafka.errors.KafkaError.__name__, kafka.structs.TopicPartition.__name__, "
        "hasattr(kafka, 'no_such_module')]))"
    )
    assert ours_with(program, generation) == ["KafkaError", "TopicPartition", False]
