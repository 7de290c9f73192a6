"""What the clients of kafka-python 1 do beyond what 1.2.1 did, or nobody can compare."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.programs import running

import barnabas
from barnabas.compat.kafka_engine.generations import ENVIRONMENT_VARIABLE
from barnabas.testing import ApacheKafka, ApacheKafkaCluster, EmbeddedBroker

PROGRAM = Path(__file__).parent / "simple_program.py"
# A client that waited for as long as a broker may take to answer would need two minutes.
LONGEST_END_SECONDS = 60.0
Broker = ApacheKafka | ApacheKafkaCluster | EmbeddedBroker


def printed(
    broker: Broker,
    function: str,
    *arguments: str,
    generation: str = "1.2",
    may_complain: bool = False,
    within: float = 120.0,
) -> Any:
    """What a function of the program gives, with the facade as one generation."""
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-m", "barnabas.compat"]
    done = subprocess.run(
        [*command, str(PROGRAM), function, broker.bootstrap, *arguments],
        capture_output=True,
        text=True,
        timeout=within,
        env={**os.environ, ENVIRONMENT_VARIABLE: generation},
    )
    assert done.returncode == 0, done.stderr
    if not may_complain:
        assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("generation", ["1.2", "2", "3"])
@pytest.mark.integration
def test_what_is_written_is_read_in_each_generation(
    broker: Broker, make_topic: Callable[..., str], generation: str
) -> None:
    name = make_topic(broker, partitions=2)
    values = printed(broker, "write_and_read", name, generation=generation)
    assert sorted(values) == [f"value {number}" for number in range(10)]


def test_names_may_be_bytes_as_in_python_2(broker: Broker, make_topic: Callable[..., str]) -> None:
    assert printed(broker, "use_bytes", make_topic(broker)) == ["text", "bytes"]


def test_a_topic_is_created_when_somebody_writes_to_it(broker: Broker, topic: Callable[[], str]) -> None:
    assert printed(broker, "write_and_read", topic()) == [f"value {number}" for number in range(10)]


def test_markers_of_transactions_are_passed_over(
    apache_kafka: ApacheKafka, make_topic: Callable[..., str]
) -> None:
    name = make_topic(apache_kafka)
    with barnabas.Producer(apache_kafka.bootstrap, transactional_id=f"markers of {name}") as producer:
        producer.init_transactions()
        for number in range(3):
            producer.begin_transaction()
            producer.send(name, b"%d" % number)
            producer.commit_transaction()
    # Three records and three markers.
    assert printed(apache_kafka, "read_one_by_one", name, "3") == [[0, "0"], [2, "1"], [4, "2"]]


def test_offsets_are_those_of_the_group_for_other_clients(
    broker: Broker, make_topic: Callable[..., str]
) -> None:
    name = make_topic(broker)
    printed(broker, "commit", name, f"group of {name}", "7")
    partition = barnabas.TopicPartition(name, 0)
    with barnabas.Admin(broker.bootstrap) as admin:
        committed = admin.list_group_offsets(f"group of {name}", [partition])
    assert committed[partition].offset == 7


def test_the_coordinator_of_a_group_is_told(broker: Broker) -> None:
    host, _, port = broker.bootstrap.rpartition(":")
    assert printed(broker, "coordinator", "some group") == [0, 1, host, int(port)]


def test_messages_that_were_read_before_an_error_are_not_lost(
    broker: Broker, make_topic: Callable[..., str]
) -> None:
    name = make_topic(broker)
    error = "ConsumerFetchSizeTooSmall"
    assert printed(broker, "read_around_an_error", name) == [error, ["small"], error]


def test_what_comes_during_a_commit_is_committed_later(
    broker: Broker, make_topic: Callable[..., str]
) -> None:
    name = make_topic(broker)
    assert printed(broker, "read_during_a_commit", name, f"group of {name}") == [True, 1, True, 0, 2]


def test_partitions_are_divided_between_processes(broker: Broker, make_topic: Callable[..., str]) -> None:
    name = make_topic(broker, partitions=3)
    processes, values = printed(broker, "read_in_processes", name)
    assert processes == 2
    assert sorted(values) == [f"value {number}" for number in range(9)]


def test_processes_that_nobody_stopped_end_with_the_program_which_commits(
    broker: Broker, make_topic: Callable[..., str]
) -> None:
    name = make_topic(broker)
    group = f"group of {name}"
    assert printed(broker, "leave_processes", name, group) == ["a", "b"]
    assert printed(broker, "committed", name, group) == 2


@pytest.mark.integration
def test_processes_end_with_a_program_that_is_killed(
    broker: Broker, make_topic: Callable[..., str], eventually: Callable[..., Any]
) -> None:
    program = ("-m", "barnabas.compat", "--kafka-python", "1.2", str(PROGRAM), "tell_processes")
    command = [sys.executable, *program, broker.bootstrap, make_topic(broker, partitions=2)]
    with running(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
        assert process.stdout is not None
        told, sleeper = json.loads(process.stdout.readline())
        try:
            # Two that read, and the manager of the queue between them and the program.
            assert len(told) == 3
            assert all(map(is_alive, told))
            process.kill()
            process.wait()
            eventually(lambda: not any(map(is_alive, told)), 20)
        finally:
            for pid in (*told, sleeper):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """What has ended may wait for somebody to ask how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_program_ends_soon_although_its_broker_is_gone(
    own_broker: ApacheKafka | EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    name = make_topic(own_broker)
    arguments = "commit_without_a_broker", name, str(own_broker.pid)
    assert printed(own_broker, *arguments, may_complain=True, within=LONGEST_END_SECONDS) == [1, False]


def test_leaders_are_several_brokers(
    apache_cluster: ApacheKafkaCluster, make_topic: Callable[..., str]
) -> None:
    name = make_topic(apache_cluster, partitions=6)
    leaders, produced, fetched = printed(apache_cluster, "ask_all_leaders", name)
    assert leaders > 1
    assert produced == fetched == [5, 3, 1, 0, 2, 4]
