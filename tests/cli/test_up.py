from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.programs import running

from barnabas import Admin
from barnabas.testing import free_ports

from .conftest import run_here

LAST_PROPERTY = "ssl.truststore.location="
"""Of a listener with TLS."""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "barnabas.cli", *arguments]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120, check=False)


def start_broker(data_dir: Path, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    """A broker under way, and the address that it printed."""
    process = subprocess.Popen(
        command("up", "--port", "0", "--data-dir", str(data_dir), *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_up_serves_until_ctrl_c_and_keeps_its_data(tmp_path: Path) -> None:
    broker, address = start_broker(tmp_path, "--config", "num.partitions=3")
    with running(broker):
        assert run("topics", "create", "kept", "-b", address).returncode == 0
        broker.send_signal(signal.SIGINT)
        assert broker.wait(60) == 0
    broker, address = start_broker(tmp_path)
    with running(broker):
        described = run("topics", "describe", "kept", "-b", address).stdout
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0
    assert len([line for line in described.splitlines() if line.split()[:1] in (["0"], ["1"], ["2"])]) == 3


def test_up_runs_several_nodes_as_one_cluster(tmp_path: Path) -> None:
    broker, addresses = start_broker(tmp_path, "--nodes", "3")
    with running(broker):
        assert len(addresses.split(",")) == 3
        created = run("topics", "create", "t", "--replication-factor", "3", "-b", addresses.split(",")[2])
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0
    assert created.returncode == 0, created.stderr


def test_up_has_listeners_with_tls_and_users_and_tells_clients_how_to_come_in(tmp_path: Path) -> None:
    data = tmp_path / "data"
    broker, first = start_broker(
        *(data, "--nodes", "2", "--listener", "PLAINTEXT", "--listener", "SASL_SSL", "--listener", "SSL"),
        *("--user", 'alice=a"quoted\\secret', "--user", "bob=b", "--make-certificates"),
    )
    with running(broker):
        told = printed_properties(broker, 3)
        assert list(told) == ["PLAINTEXT", "SASL_SSL", "SSL"]
        assert told["PLAINTEXT"] == [f"bootstrap.servers={first}", "security.protocol=PLAINTEXT"]
        found: set[str] = set()
        for name, properties in told.items():
            path = tmp_path / f"{name}.properties"
            path.write_text("\n".join(properties))
            listed = run_here("")("brokers", "list", "--json", "--command-config", str(path))
            addresses = {f"{each['host']}:{each['port']}" for each in json.loads(listed.stdout)}
            assert addresses == {*properties[0].removeprefix("bootstrap.servers=").split(",")}
            found |= addresses
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0
    assert len(found) == 6
    # The authority stays, so that clients need nothing new.
    assert (tmp_path / "data-certificates" / "ca.pem").exists()


TWO_LISTENERS = (
    *("--config", "listeners=INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0"),
    *("--config", "listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT"),
    *("--config", "inter.broker.listener.name=INSIDE"),
)


def test_up_tells_all_listeners_of_the_brokers_settings(tmp_path: Path) -> None:
    broker, first = start_broker(tmp_path, *TWO_LISTENERS)
    with running(broker):
        assert broker.stdout is not None
        lines = [broker.stdout.readline().strip() for _ in range(8)]
        other = lines[6].removeprefix("bootstrap.servers=")
        assert lines == [
            *("", "# INSIDE", f"bootstrap.servers={first}", "security.protocol=PLAINTEXT"),
            *("", "# OUTSIDE", f"bootstrap.servers={other}", "security.protocol=PLAINTEXT"),
        ]
        assert other != first
        assert run("brokers", "list", "-b", other).returncode == 0
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0


def test_up_tells_all_listeners_in_json_too(tmp_path: Path) -> None:
    broker, line = start_broker(tmp_path, *TWO_LISTENERS, "--json")
    with running(broker):
        stdout = broker.stdout
        assert stdout is not None
        lines = [line, *iter(lambda: stdout.readline().rstrip("\n"), "}"), "}"]
        told = json.loads("\n".join(lines))
        assert list(told["listeners"]) == ["INSIDE", "OUTSIDE"]
        addresses = {each["bootstrap.servers"] for each in told["listeners"].values()}
        assert told["bootstrap"] in addresses
        assert len(addresses) == 2
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0


def printed_properties(broker: subprocess.Popen[str], count: int) -> dict[str, list[str]]:
    """What is printed for each of so many listeners, behind an empty line each."""
    assert broker.stdout is not None
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    while len(found) < count or not any(line.startswith(LAST_PROPERTY) for line in lines):
        line = broker.stdout.readline().rstrip("\n")
        if line.startswith("# "):
            lines = found[line.removeprefix("# ")] = []
        elif line:
            lines.append(line)
    return found


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--listener", "TLS"], "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (["--listener", "PLAINTEXT:x"], "'x' is no port"),
        (["--listener", "PLAINTEXT:99999"], "'99999' is no port"),
        (["--listener", "PLAINTEXT", "--listener", "PLAINTEXT"], "PLAINTEXT is there twice"),
        (["--listener", "SSL"], "--make-certificates"),
        (["--listener", "SASL_PLAINTEXT"], "--user NAME=PASSWORD"),
        (["--listener", "PLAINTEXT", "--user", "a=b"], "none of PLAINTEXT has SASL"),
        (["--listener", "PLAINTEXT", "--make-certificates"], "none of PLAINTEXT has TLS"),
        (["--user", "a=b"], "--listener SASL_SSL"),
        (["--listener", "PLAINTEXT", "--config", "listeners=PLAINTEXT://:1"], "say it once"),
        (["--listener", "PLAINTEXT:5000", "--listener", "SSL:5001", "--nodes", "2"], "PLAINTEXT is at 5000"),
        (["--listener", "SASL_PLAINTEXT", "--user", "a"], "'a' is not name=value"),
    ],
)
def test_listeners_that_cannot_be_are_one_clear_line(options: list[str], told: str, tmp_path: Path) -> None:
    done = run_here("")("up", "--data-dir", str(tmp_path / "data"), *options, ok=False)
    assert done.returncode
    assert len(done.stderr.splitlines()) == 1
    assert told in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    port = free_ports()[0]
    with socket.create_server(("127.0.0.1", port)):
        done = run("up", "--port", str(port), "--data-dir", str(tmp_path))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert str(port) in done.stderr


def test_a_data_folder_in_use_is_one_clear_line(tmp_path: Path) -> None:
    broker, _ = start_broker(tmp_path)
    with running(broker):
        done = run("up", "--port", "0", "--data-dir", str(tmp_path))
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert str(tmp_path) in done.stderr


def test_an_unknown_broker_setting_is_one_clear_line(tmp_path: Path) -> None:
    done = run("up", "--port", "0", "--data-dir", str(tmp_path), "--config", "no.such.setting=1")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "no.such.setting" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--host", "0.0.0.0"],
        ["--host", "::"],
        ["--host", "0.0.0.0", "--listener", "PLAINTEXT"],
        ["--config", "advertised.listeners=PLAINTEXT://0.0.0.0:9092"],
        ["--advertise", "0.0.0.0"],
    ],
)
def test_an_address_by_which_no_client_can_come_is_refused_as_by_kafka(
    arguments: list[str], tmp_path: Path
) -> None:
    done = run("up", "--port", "0", "--data-dir", str(tmp_path), *arguments)
    assert done.returncode == 1
    assert "advertised.listeners cannot use the nonroutable meta-address" in done.stderr
    assert "--advertise HOST" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("listener", [[], ["--listener", "PLAINTEXT"]])
@pytest.mark.parametrize("nodes", [1, 2])
def test_clients_are_told_the_name_that_is_advertised(
    listener: list[str], nodes: int, tmp_path: Path
) -> None:
    broker, addresses = start_broker(
        tmp_path, "--host", "0.0.0.0", "--advertise", "localhost", "--nodes", str(nodes), *listener
    )
    with running(broker):
        told = addresses.split(",")
        assert len(told) == nodes
        assert all(address.startswith("localhost:") for address in told)
        # By an address that is listened on and not told.
        with Admin(f"127.0.0.1:{told[0].rpartition(':')[2]}") as admin:
            assert {f"{node.host}:{node.port}" for node in admin.describe_cluster().nodes} == set(told)
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0


def test_a_name_to_be_told_stands_in_one_place(tmp_path: Path) -> None:
    done = run(
        *("up", "--data-dir", str(tmp_path), "--advertise", "here"),
        *("--config", "advertised.listeners=PLAINTEXT://there:9092"),
    )
    assert done.returncode == 1
    assert "--advertise tells nothing beside --config advertised.listeners=..." in done.stderr
