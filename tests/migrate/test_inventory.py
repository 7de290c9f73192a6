"""What is recorded of kafka-python is what its releases have, and what a scan says breaks does so there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.compat.kafka.differential.packages import RELEASES, genuine

from barnabas.migrate.findings import Effect
from barnabas.migrate.scan import scan, scan_text

ROOT = Path(__file__).parents[2]

# Each runs with the older one and ends with the error with the newer one; none needs a broker.
BREAKING = {
    "from kafka import KafkaClient": "ImportError",
    "from kafka.errors import NoBrokersAvailable": "ImportError",
    "import kafka.conn": "ModuleNotFoundError",
    "import kafka.client_async": "ModuleNotFoundError",
    "from kafka.admin.new_topic import NewTopic": "ModuleNotFoundError",
    "from kafka.structs import GroupInformation": "ImportError",
    "from kafka.sasl import register_sasl_mechanism": "ModuleNotFoundError",
    "from kafka import KafkaAdminClient as A; A.list_consumer_groups": "AttributeError",
    "from kafka import KafkaAdminClient\nKafkaAdminClient.send_request": "AttributeError",
    "from kafka.cluster import ClusterMetadata as C\nC().coordinator_for_group": "AttributeError",
}
PROGRAM = """
import json, sys
ends = []
for source in json.loads(sys.stdin.read()):
    try:
        exec(source, {})
        ends.append("")
    except Exception as error:
        ends.append(type(error).__name__)
print(json.dumps(ends))
"""


def ends(generation: str) -> list[str]:
    """How each program ends with the genuine package."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(list(BREAKING)),
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(genuine(generation))},
        check=True,
    )
    return json.loads(done.stdout)


def test_the_names_are_recorded_as_the_releases_have_them() -> None:
    packages = [f"{generation}={genuine(generation)}" for generation in RELEASES]
    script = ROOT / "scripts" / "record_kafka_python_names.py"
    done = subprocess.run([sys.executable, str(script), "--check", *packages], timeout=120, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("generation", list(RELEASES))
def test_nothing_breaks_for_a_program_that_stays_where_it_is(generation: str) -> None:
    # The package itself is such a program: its modules use each other.
    found = scan([genuine(generation) / "kafka"], generation, generation)
    assert [each for each in found if each.with_.startswith("kafka-python")] == []


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[str, str]]:
    return dict(zip(BREAKING, zip(ends("2"), ends("3"), strict=True), strict=True))


@pytest.mark.parametrize("source", list(BREAKING), ids=lambda source: source.split("import ")[-1])
def test_what_a_scan_says_breaks_does_break(source: str, outcomes: dict[str, tuple[str, str]]) -> None:
    assert outcomes[source] == ("", BREAKING[source])
    found = scan_text(source, "app.py", "2", "3")
    assert {each.effect for each in found} == {Effect.BREAKS}
