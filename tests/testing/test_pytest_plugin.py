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
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        # Spark's JVM ends before what it compiles better pays.
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
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


LEFT_OVERS = """
import pytest
from barnabas import Producer

LEAVE = [
    lambda kafka: kafka.pause(),
    lambda kafka: kafka.kill(),
    lambda kafka: kafka.faults.delay("Produce", ms=1),
    lambda kafka: kafka.faults.move_clock(3_600_000),
    lambda kafka: kafka.faults.pause_node(1),
]


@pytest.fixture
def topic(kafka, kafka_topic):
    yield kafka_topic
    with Producer(kafka.bootstrap, request_timeout_ms=2_000, delivery_timeout_ms=5_000) as producer:
        producer.send(kafka_topic, b"last").result(30)


@pytest.mark.parametrize("leave", LEAVE)
@pytest.mark.xfail(strict=True, raises=ZeroDivisionError)
def test_that_fails_on_its_way(kafka, topic, leave):
    leave(kafka)
    1 / 0


def test_behind_it(kafka):
    assert kafka.faults.state() == {
        "faults": [],
        "disk": {"is_full": False},
        "clock": {"moved_ms": 0},
        "nodes": [
            {"node_id": 1, "is_running": True, "is_paused": False, "is_parted": False, "is_lagging": False}
        ],
    }


@pytest.mark.parametrize("upset", ["fault", "disk"])
@pytest.mark.xfail(strict=True, raises=ZeroDivisionError)
def test_with_an_upset_that_fails_on_its_way(kafka, upset):
    if upset == "fault":
        kafka.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER")
    else:
        kafka.faults.disk_full()
    1 / 0


def test_behind_the_upset(kafka, topic):
    assert kafka.faults.state()["faults"] == []


@pytest.fixture
def late_answers(kafka):
    with kafka.faults.delay("Metadata", ms=1) as delay:
        yield delay


def test_a_fixture_ends_its_own_fault(kafka, late_answers):
    assert kafka.faults.state()["faults"] == [late_answers.rule_id]


def test_that_asks_for_it_late(request):
    request.getfixturevalue("kafka").pause()


def test_behind_that(kafka):
    assert not kafka.is_paused


@pytest.fixture(scope="class")
def slow_kafka(kafka):
    kafka.faults.disk_full()
    with kafka.faults.delay("Metadata", ms=1) as delay:
        yield delay
    kafka.faults.disk_full(False)


class TestWithFaultsOfTheirOwn:
    @pytest.mark.parametrize("time", range(2))
    def test_what_a_wider_fixture_has_changed_stays(self, kafka, slow_kafka, time):
        assert kafka.faults.state()["faults"] == [slow_kafka.rule_id]
        assert kafka.faults.state()["disk"] == {"is_full": True}


@pytest.mark.parametrize("leave", ["kill", "pause", "part", "lag"])
@pytest.mark.xfail(strict=True, raises=ZeroDivisionError)
def test_of_a_cluster_that_fails_on_its_way(kafka_cluster, leave):
    getattr(kafka_cluster.node(2), leave)()
    1 / 0


def test_of_a_cluster_behind_it(kafka_cluster):
    names = ("is_paused", "is_parted", "is_lagging")
    for node in kafka_cluster.faults.state()["nodes"]:
        assert node["is_running"]
        assert not any(node[name] for name in names)
"""


def test_what_a_test_leaves_behind_is_put_back_also_where_it_failed(tmp_path: Path) -> None:
    assert "8 passed, 11 xfailed" in run_pytest(tmp_path, LEFT_OVERS)
