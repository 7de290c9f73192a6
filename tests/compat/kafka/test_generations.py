from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from barnabas.compat.kafka_engine.generations import ENVIRONMENT_VARIABLE, GENERATIONS, differences

VERSION = "import kafka; print(kafka.__version__)"


def output_of(script: str, *arguments: str, version: str | None = None) -> str:
    """What a script prints, or the last line of its error, in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name != ENVIRONMENT_VARIABLE}
    if version is not None:
        environment[ENVIRONMENT_VARIABLE] = version
    command = [sys.executable, "-W", "error", *(arguments or ("-c", dedent(script)))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    return (done.stdout or done.stderr).strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("given", "seen"), [("1.2", "1.2.1"), ("1", "1.2.1"), ("2.0.2", "2.3.1"), ("2", "2.3.1"), ("3", "3.0.12")]
)
def test_install_chooses_the_generation_of_a_version(given: str, seen: str) -> None:
    script = f"from barnabas.compat import install\ninstall('kafka', version={given!r})\n{VERSION}"
    assert output_of(script) == seen


def test_the_environment_chooses_where_the_program_says_nothing() -> None:
    assert (
        output_of(f"from barnabas.compat import install\ninstall('kafka')\n{VERSION}", version="2") == "2.3.1"
    )


def test_the_newest_generation_is_seen_where_nothing_is_said() -> None:
    assert output_of(f"from barnabas.compat import install\ninstall('kafka')\n{VERSION}") == "3.0.12"


def test_the_command_line_chooses(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(VERSION)
    arguments = ("-m", "barnabas.compat", "--kafka-python", "1.2", str(program))
    assert output_of("", *arguments) == "1.2.1"


def test_a_version_without_a_facade_is_an_error_that_names_the_choice() -> None:
    last_line = output_of("from barnabas.compat import install\ninstall('kafka', version='0.9')")
    assert "there is no facade for kafka-python 0.9" in last_line
    assert "1.2, 2, 3" in last_line


def test_a_generation_cannot_be_changed_once_the_facade_is_imported() -> None:
    script = """
        from barnabas.compat import kafka, install
        install("kafka", version="3")
        install("kafka", version="1.2")
    """
    assert "kafka is imported already as kafka-python 3" in output_of(script)


def test_a_version_without_kafka_among_the_names_is_refused() -> None:
    last_line = output_of("from barnabas.compat import install\ninstall('confluent_kafka', version='2')")
    assert "is of kafka-python" in last_line


def test_every_difference_has_a_sentence_and_a_value_in_each_generation() -> None:
    for name, meaning in differences().items():
        assert meaning[:1].isupper(), name
        assert all(hasattr(each, name) for each in GENERATIONS.values())
