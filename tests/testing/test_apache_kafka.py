from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.testing import ApacheKafka, MissingProgramError, ServerStartError, distribution, run_kafka_tool
from barnabas.testing.metadata_probe import is_broker_ready
from barnabas.testing.process import is_port_free

TOPICS = "org.apache.kafka.tools.TopicCommand"


def topics_of(kafka: ApacheKafka) -> list[str]:
    result = kafka.tool(TOPICS, "--bootstrap-server", kafka.bootstrap, "--list")
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_a_topic_survives_a_kill_and_a_restart() -> None:
    with ApacheKafka() as kafka:
        address = kafka.bootstrap
        kafka.tool(TOPICS, "--bootstrap-server", address, "--create", "--topic", "kept")
        kafka.kill()
        kafka.start()
        assert kafka.bootstrap == address
        assert topics_of(kafka) == ["kept"]
        kafka.restart()
        assert topics_of(kafka) == ["kept"]


def test_a_given_data_folder_outlives_its_broker(tmp_path: Path) -> None:
    with ApacheKafka(data_dir=tmp_path) as kafka:
        kafka.tool(TOPICS, "--bootstrap-server", kafka.bootstrap, "--create", "--topic", "kept")
    with ApacheKafka(data_dir=tmp_path) as kafka:
        assert topics_of(kafka) == ["kept"]


def test_a_temporary_broker_leaves_no_data_behind() -> None:
    with ApacheKafka() as kafka:
        *_, settings, _ = Path(f"/proc/{kafka.pid}/cmdline").read_text().split("\0")
        folder = Path(settings).parent
        assert folder.parent == distribution.home() / "data"
        assert folder.exists()
    assert not folder.exists()


def test_settings_reach_the_broker_over_the_defaults(eventually: Callable[..., str]) -> None:
    with ApacheKafka(config={"num.partitions": "7"}) as kafka:
        server = ["--bootstrap-server", kafka.bootstrap, "--topic", "seven"]
        kafka.tool(TOPICS, *server, "--create")
        described = eventually(lambda: kafka.tool(TOPICS, *server, "--describe").stdout)
        assert "PartitionCount: 7" in described


def test_a_broker_that_cannot_start_has_its_log_quoted() -> None:
    with (
        pytest.raises(ServerStartError, match=r"log\.retention\.ms"),
        ApacheKafka(config={"log.retention.ms": "x"}),
    ):
        pass


def test_an_older_release_runs_as_well() -> None:
    with ApacheKafka("3.9.2") as kafka:
        kafka.tool(TOPICS, "--bootstrap-server", kafka.bootstrap, "--create", "--topic", "old")
        assert topics_of(kafka) == ["old"]


def test_a_release_of_the_zookeeper_years_runs_and_starts_again_after_a_kill(
    eventually: Callable[..., bool],
) -> None:
    topics = "kafka.admin.TopicCommand"
    with ApacheKafka("2.8.2") as kafka:
        server = ["--bootstrap-server", kafka.bootstrap]
        created = kafka.tool(topics, *server, "--create", "--topic", "old")
        assert created.returncode == 0, created.stderr
        kafka.kill()
        kafka.start()
        eventually(lambda: kafka.tool(topics, *server, "--list").stdout.split() == ["old"])


def test_a_broker_dies_with_the_process_that_started_it(eventually: Callable[..., bool]) -> None:
    program = (
        "import sys; from barnabas.testing import ApacheKafka\n"
        "kafka = ApacheKafka().start(); print(kafka.port, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        port = int(starter.stdout.readline())
        eventually(lambda: is_broker_ready(port))
        starter.send_signal(signal.SIGKILL)
    eventually(lambda: is_port_free(port))


def test_a_kafka_tool_reads_its_input(apache_kafka: ApacheKafka, topic: Callable[[], str]) -> None:
    name = topic()
    server = ["--bootstrap-server", apache_kafka.bootstrap, "--topic", name]
    run_kafka_tool(TOPICS, *server, "--create")
    produced = run_kafka_tool("org.apache.kafka.tools.ConsoleProducer", *server, input="one\ntwo\n")
    assert produced.returncode == 0, produced.stderr
    consumed = run_kafka_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer", *server, "--from-beginning", "--max-messages", "2"
    )
    assert consumed.stdout.split() == ["one", "two"]


def test_without_java_the_error_gives_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(MissingProgramError, match="apt-get install openjdk-17"):
        ApacheKafka().start()


def test_without_maven_the_error_gives_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = distribution.java_command()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(java)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("BARNABAS_KAFKA_HOME", str(tmp_path / "kafka"))
    with pytest.raises(MissingProgramError, match="apt-get install maven"):
        ApacheKafka().start()


def test_a_release_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BARNABAS_KAFKA_HOME", str(tmp_path / "kafka"))
    with pytest.raises(ServerStartError, match=r"could not fetch Apache Kafka 4\.99\.0"):
        ApacheKafka("4.99.0").start()


def test_a_malformed_version_is_refused() -> None:
    with pytest.raises(ValueError, match="is not like"):
        ApacheKafka("../../etc").start()


def test_a_port_in_use_is_named(apache_kafka: ApacheKafka) -> None:
    with pytest.raises(ServerStartError, match=f"port {apache_kafka.port} of 127.0.0.1 is in use"):
        ApacheKafka(port=apache_kafka.port).start()


def test_the_zookeeper_of_a_release_starts_again_on_its_port_with_what_it_knew() -> None:
    topics = "kafka.admin.TopicCommand"
    with ApacheKafka("2.8.2") as kafka:
        before = kafka.zookeeper
        kafka.restart_zookeeper(away_seconds=0.2)
        assert kafka.zookeeper == before
        server = ["--bootstrap-server", kafka.bootstrap]
        created = kafka.tool(topics, *server, "--create", "--topic", "after")
        assert created.returncode == 0, created.stderr


def test_a_release_without_zookeeper_says_so() -> None:
    kafka = ApacheKafka()
    with pytest.raises(ServerStartError, match="has no ZooKeeper"):
        _ = kafka.zookeeper
    with pytest.raises(ServerStartError, match="has no ZooKeeper"):
        kafka.restart_zookeeper()
