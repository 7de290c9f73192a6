"""The fixtures for programs that use Kafka, in runs of pytest of their own; docs/testing.md's examples."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from barnabas.testing import ApacheKafka, EmbeddedBroker

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
PLUGIN = "barnabas.testing.pytest_plugin"


# A run that hangs ends by itself, and shows where it hangs.
PYTEST = """
import faulthandler, os, sys
faulthandler.dump_traceback_later(240, exit=True, file=os.dup(2))
import pytest
sys.exit(pytest.console_main())
"""


def run_pytest(folder: Path, program: str, *arguments: str) -> str:
    (folder / "test_program.py").write_text(program)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-c", PYTEST, "-p", PLUGIN, "-p", "no:cacheprovider", "-q", *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=folder,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_examples_of_the_documents_run(block: str, tmp_path: Path) -> None:
    assert "passed" in run_pytest(tmp_path, block)


PROGRAM = """
import os

import pytest
from barnabas import Admin, Producer


@pytest.fixture(scope="session")
def kafka_config():
    return {"num.partitions": "3"}


@pytest.mark.parametrize("number", range(4))
def test_topics_are_a_tests_own(kafka, kafka_topics, number):
    names = [kafka_topics(partitions=2, cleanup_policy="compact"), kafka_topics()]
    assert names[0] != names[1]
    assert names[0].startswith(f"test-topics-are-a-tests-own-{number}-")
    with Producer(kafka.bootstrap) as producer:
        assert producer.send(names[0], b"a", key=b"k", partition=1).result(30).offset == 0


def test_faults_do_not_stay(kafka_faults, kafka_topic):
    kafka_faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=1)
    assert kafka_faults.requests("Produce") == []


def test_faults_did_not_stay(kafka_faults, kafka_topic):
    with Producer(kafka_faults.bootstrap) as producer:
        producer.send(kafka_topic, b"a").result(30)
    assert len(kafka_faults.requests("Produce")) == 1


def test_programs_find_it_in_their_environment(kafka_environment, kafka_faults, schema_registry):
    assert kafka_environment["KAFKA_BOOTSTRAP_SERVERS"] == kafka_faults.bootstrap
    assert os.environ["SCHEMA_REGISTRY_URL"] == schema_registry.url
    assert os.environ["OWN_NAME"] == f"{kafka_faults.bootstrap}/{schema_registry.url}"
"""
INI = "[pytest]\nbarnabas_environment = OWN_NAME={bootstrap}/{registry}\n"


@pytest.mark.parametrize("workers", ["0", "2"])
def test_fixtures_serve_one_worker_or_several(workers: str, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(INI)
    assert "7 passed" in run_pytest(tmp_path, PROGRAM, "-n", workers)


def test_the_same_tests_run_on_a_kafka_that_is_there(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(INI)
    assert "7 passed" in run_pytest(tmp_path, PROGRAM, "--kafka", apache_kafka.bootstrap)


def test_a_kafka_that_cannot_be_is_said(embedded_broker: EmbeddedBroker, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="embedded, apache or HOST:PORT"):
        run_pytest(tmp_path, "def test_it(kafka): pass", "--kafka", "kraft")


def test_pytest_finds_the_plugin_by_the_name_of_its_module() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}
