from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

from barnabas.testing import free_ports


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
    with broker:
        assert run("topics", "create", "kept", "-b", address).returncode == 0
        broker.send_signal(signal.SIGINT)
        assert broker.wait(60) == 0
    broker, address = start_broker(tmp_path)
    with broker:
        described = run("topics", "describe", "kept", "-b", address).stdout
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0
    assert len([line for line in described.splitlines() if line.split()[:1] in (["0"], ["1"], ["2"])]) == 3


def test_up_runs_several_nodes_as_one_cluster(tmp_path: Path) -> None:
    broker, addresses = start_broker(tmp_path, "--nodes", "3")
    with broker:
        assert len(addresses.split(",")) == 3
        created = run("topics", "create", "t", "--replication-factor", "3", "-b", addresses.split(",")[2])
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(60) == 0
    assert created.returncode == 0, created.stderr


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    port = free_ports()[0]
    with socket.create_server(("127.0.0.1", port)):
        done = run("up", "--port", str(port), "--data-dir", str(tmp_path))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert str(port) in done.stderr


def test_a_data_folder_in_use_is_one_clear_line(tmp_path: Path) -> None:
    broker, _ = start_broker(tmp_path)
    with broker:
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
