"""What KafkaAdminClient does beyond what the genuine packages do, which the differential suite cannot
compare."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.compat.kafka.generation_runs import ours_with

import barnabas
from barnabas.testing import ApacheKafka, EmbeddedBroker

PROGRAM = Path(__file__).parent / "admin_program.py"


def run(generation: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "barnabas.compat",
        "--kafka-python",
        generation,
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def printed(generation: str, kafka: ApacheKafka | EmbeddedBroker, function: str, *arguments: str) -> Any:
    done = run(generation, str(PROGRAM), function, kafka.bootstrap, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_two_parts_of_the_client_have_a_private_name_in_common() -> None:
    from barnabas.compat.kafka.admin.client import KafkaAdminClient

    parts = [cls for cls in KafkaAdminClient.__mro__ if cls.__module__.startswith("barnabas.compat.kafka.")]
    names = Counter(
        name
        for cls in parts
        for name, value in vars(cls).items()
        if name.startswith("_") and not name.startswith("__") and callable(value)
    )
    assert len(parts) > 8
    # The same in each.
    assert {name for name, count in names.items() if count > 1} == {"_validate_timeout"}


@pytest.mark.parametrize("generation", ["1.2", "2"])
def test_directories_are_described_in_an_old_version_where_brokers_have_only_new_ones(
    generation: str, apache_kafka: ApacheKafka, topic: Callable[[], str]
) -> None:
    name = topic()
    with barnabas.Admin(apache_kafka.bootstrap) as admin:
        admin.create_topics([barnabas.NewTopic(name, num_partitions=1)])
    assert printed(generation, apache_kafka, "log_dirs", name) == ["DescribeLogDirsResponse_v0", [name]]


@pytest.mark.integration
def test_new_partitions_are_on_the_brokers_that_a_program_assigns_them_to(topic: Callable[[], str]) -> None:
    with EmbeddedBroker(nodes=3) as broker, barnabas.Admin(broker.bootstrap) as admin:
        for generation, expected in (("1.2", [[2], [3]]), ("2", [[2], [3]]), ("3", [[2], [3], [3], [1]])):
            name = topic()
            admin.create_topics([barnabas.NewTopic(name, num_partitions=1)])
            printed(generation, broker, "assign_partitions", name)
            partitions = admin.describe_topics([name])[name].partitions
            assert [list(each.replicas) for each in partitions[1:]] == expected


@pytest.mark.parametrize("generation", ["2", "3"])
def test_members_of_a_group_are_described_and_removed_in_each_generation_by_calls_of_both(
    generation: str, apache_kafka: ApacheKafka, topic: Callable[[], str]
) -> None:
    name = topic()
    group = f"group-of-{name}"
    with barnabas.Admin(apache_kafka.bootstrap) as admin:
        admin.create_topics([barnabas.NewTopic(name, num_partitions=2)])
    with barnabas.Consumer(apache_kafka.bootstrap, group_id=group, group_protocol="classic") as consumer:
        consumer.subscribe([name])
        while len(consumer.assignment()) < 2:
            consumer.poll(0.1)
        state, kind, topics, partitions, told, assigned = printed(generation, apache_kafka, "members", group)
        assert state == "Stable"
        assert kind == "ConsumerProtocolMemberMetadata_v0"
        assert topics == told == [name]
        assert sorted(partitions) == [[name, 0], [name, 1]]
        assert assigned == [{"topic": name, "partitions": [0, 1]}]
        assert printed(generation, apache_kafka, "remove_all", group) == ["NoError"]


@pytest.mark.parametrize("generation", ["2", "3"])
def test_structs_of_programs_are_sent_as_they_are(generation: str, apache_kafka: ApacheKafka) -> None:
    assert printed(generation, apache_kafka, "requests") == [[0, 0], 2]


@pytest.mark.parametrize("generation", ["1.2", "2", "3"])
def test_the_command_line_is_run_by_the_name_of_the_original_s_module(
    generation: str, apache_kafka: ApacheKafka, topic: Callable[[], str]
) -> None:
    name = topic()
    with barnabas.Admin(apache_kafka.bootstrap) as admin:
        admin.create_topics([barnabas.NewTopic(name, num_partitions=1)])
    done = run(generation, "-m", "kafka.admin", "-b", apache_kafka.bootstrap, "topics", "list")
    assert done.returncode == 0, done.stderr
    assert repr(name) in done.stdout
    wrong = run(
        generation, "-m", "kafka.admin", "-b", apache_kafka.bootstrap, "topics", "delete", "-t", "none"
    )
    assert wrong.returncode == 1


@pytest.mark.integration
def test_the_package_itself_says_what_can_be_run() -> None:
    done = run("3", "-m", "kafka")
    assert done.returncode == 1
    assert done.stdout == "Available module interfaces: kafka.consumer, kafka.producer, kafka.admin\n"


@pytest.mark.parametrize("generation", ["2", "3"])
@pytest.mark.integration
def test_metrics_of_an_admin_client_are_reported_and_failures_are_told_once(generation: str) -> None:
    program = Path(__file__).parent / "reporting_program.py"
    before, loggers, heard = ours_with(program, generation)
    assert before == 0
    assert loggers == ["kafka"]
    assert {"admin-metrics", "admin-node-metrics.node-1", "closed"} <= set(heard)
