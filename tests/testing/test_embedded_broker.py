from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas import Admin, ConfigResource
from barnabas.client.admin.types import ResourceType
from barnabas.testing import ApacheKafka, EmbeddedBroker, ServerStartError, run_kafka_tool
from barnabas.testing.metadata_probe import is_broker_ready, known_broker_ports
from barnabas.testing.process import is_port_free

TOPICS = "org.apache.kafka.tools.TopicCommand"


def topics_of(broker: EmbeddedBroker) -> list[str]:
    result = run_kafka_tool(TOPICS, "--bootstrap-server", broker.bootstrap, "--list")
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_a_topic_survives_a_kill_and_a_restart(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        address = broker.bootstrap
        run_kafka_tool(TOPICS, "--bootstrap-server", address, "--create", "--topic", "kept")
        broker.kill()
        broker.start()
        assert broker.bootstrap == address
        assert topics_of(broker) == ["kept"]
        broker.restart()
        assert topics_of(broker) == ["kept"]
    with EmbeddedBroker(tmp_path) as broker:
        assert topics_of(broker) == ["kept"]


def test_a_paused_broker_answers_when_it_is_resumed(eventually: Callable[..., bool]) -> None:
    with EmbeddedBroker() as broker:
        broker.pause()
        broker.resume()
        eventually(lambda: is_broker_ready(broker.port))


def test_records_of_years_ago_are_not_deleted_for_their_age_in_a_tests_lifetime(
    broker: ApacheKafka | EmbeddedBroker,
) -> None:
    resource = ConfigResource(ResourceType.BROKER, "1")
    with Admin(broker.bootstrap) as admin:
        configs = admin.describe_configs([resource])[resource]
    assert configs["log.retention.check.interval.ms"].value == "86400000"


def test_a_broker_that_cannot_start_has_its_output_quoted() -> None:
    with (
        pytest.raises(ServerStartError, match=r"no\.such\.setting"),
        EmbeddedBroker(config={"no.such.setting": "1"}),
    ):
        pass


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_broker_is_ready_though_its_advertised_address_leads_nowhere(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddedBroker, "_start_timeout_seconds", 20.0)
    config = {"advertised.listeners": "PLAINTEXT://nowhere.example:9999"}
    with EmbeddedBroker(config=config, nodes=nodes) as broker:
        assert known_broker_ports(broker.port) == {9999 + place for place in range(nodes)}


def test_a_port_in_use_is_named(embedded_broker: EmbeddedBroker) -> None:
    with pytest.raises(ServerStartError, match=f"port {embedded_broker.port} of 127.0.0.1 is in use"):
        EmbeddedBroker(port=embedded_broker.port).start()


def test_a_broker_dies_with_the_process_that_started_it(eventually: Callable[..., bool]) -> None:
    program = (
        "import sys; from barnabas.testing import EmbeddedBroker\n"
        "broker = EmbeddedBroker().start(); print(broker.port, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        port = int(starter.stdout.readline())
        eventually(lambda: is_broker_ready(port))
        starter.send_signal(signal.SIGKILL)
    eventually(lambda: is_port_free(port))


def test_a_data_dir_that_cannot_be_is_an_error_of_the_start(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    log = tmp_path / "folder" / "broker.log"
    log.mkdir(parents=True)
    for data_dir, reason in (
        (file, "File exists"),
        (file / "x", "Not a directory"),
        (log.parent, "Is a dir"),
    ):
        with pytest.raises(ServerStartError, match=rf"{reason}.*{data_dir}.*choose a folder that this user"):
            EmbeddedBroker(data_dir).start()
