"""The broker as a program: starting, stopping, and refusing to start."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.broker.configs.setting_kinds import parse_user
from barnabas.broker.data_directory import DataDirectoryError
from barnabas.broker.log.files import described
from barnabas.broker.server import Broker
from barnabas.broker_errors import InvalidConfigError
from barnabas.errors import ClosedError, MisuseError
from barnabas.net.server import ListenError
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.testing import EmbeddedBroker

from .conftest import batch_of, values
from .in_process import Client, run


def start_program(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "barnabas.broker", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_its_address_and_ends_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    with start_program("--data-dir", str(tmp_path), "--port", "0") as process:
        assert process.stdout is not None
        host, _, port = process.stdout.readline().strip().partition(":")
        socket.create_connection((host, int(port)), timeout=5).close()
        process.send_signal(number)
        assert process.wait(60) == 0
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_users_may_have_any_name_and_a_password_is_not_shown() -> None:
    assert parse_user("$ConnectionString=Endpoint=sb://hub/;Key=a=") == (
        "$ConnectionString",
        "Endpoint=sb://hub/;Key=a=",
    )
    for wrong in ("secret", "=secret"):
        with pytest.raises(InvalidConfigError, match=r"^a user is not of the form name=password") as caught:
            parse_user(wrong)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("log.retention=5", "unknown setting log.retention; did you mean log.retention.ms?"),
        (
            "num.partitions=many",
            "Invalid value many for configuration num.partitions: Not a number of type INT",
        ),
        ("nonsense", "'nonsense' is not of the form name=value"),
    ],
)
def test_a_bad_setting_is_one_clear_line(tmp_path: Path, setting: str, complaint: str) -> None:
    with start_program("--data-dir", str(tmp_path), "--port", "0", "--config", setting) as process:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 1
        assert errors.splitlines()[-1].startswith("barnabas: ")
        assert complaint in errors
        assert "Traceback" not in errors


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Broker(tmp_path / "first")
        await first.start()
        second = Broker(tmp_path / "second", port=first.port)
        with pytest.raises(ListenError, match=f"127.0.0.1:{first.port}: the port is in use"):
            await second.start()
        await first.stop()
        await second.start()
        await second.stop()

    asyncio.run(scenario())


def test_a_data_directory_has_one_broker_at_a_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Broker(tmp_path)
        await first.start()
        second = Broker(tmp_path)
        with pytest.raises(DataDirectoryError, match=f"{tmp_path} is in use by another broker"):
            await second.start()
        await first.stop()
        await second.start()
        await second.stop()

    asyncio.run(scenario())


def test_a_broker_that_does_not_run_has_no_address(tmp_path: Path) -> None:
    with pytest.raises(ClosedError, match="does not run"):
        _ = Broker(tmp_path).bootstrap


def test_unknown_settings_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    broker = Broker(tmp_path, config={"log.segment.byte": "1"})
    with pytest.raises(InvalidConfigError, match=r"did you mean log.segment.bytes\?"):
        asyncio.run(broker.start())


def test_damaged_metadata_is_named_and_nothing_is_deleted(tmp_path: Path) -> None:
    async def create(client: Client) -> None:
        await client.create_topic("t")

    run(tmp_path, create)
    metadata = tmp_path / "metadata.json"
    content = metadata.read_bytes()
    metadata.write_bytes(content[:-10])
    with pytest.raises(DataDirectoryError, match=r"metadata\.json cannot be read"):
        asyncio.run(Broker(tmp_path).start())
    metadata.unlink()
    with pytest.raises(DataDirectoryError, match=r"holds logs but no metadata\.json"):
        asyncio.run(Broker(tmp_path).start())
    assert (tmp_path / "t-0").is_dir()
    metadata.write_bytes(content)
    run(tmp_path, create_again_fails)


async def create_again_fails(client: Client) -> None:
    with pytest.raises(AssertionError, match="Topic 't' already exists"):
        await client.create_topic("t")


def test_a_topic_that_is_deleted_and_made_anew_begins_empty(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        first = await client.create_topic("t")
        await client.produce("t", batch_of(values("a")))
        gone = DeleteTopicsRequest.DeleteTopicState(name="t")
        await client.send(DeleteTopicsRequest(topics=[gone], timeout_ms=1_000))
        second = await client.create_topic("t")
        assert first.topic_id != second.topic_id
        assert (await client.fetch("t", 0)).high_watermark == 0

    run(tmp_path, scenario)


def test_a_restart_in_good_order_keeps_everything(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        address = broker.bootstrap
        broker.restart()
        assert broker.bootstrap == address
        assert "cut off" not in broker.log


def test_a_data_directory_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryError, match="the data directory has no name"):
        Broker("")
    with pytest.raises(MisuseError, match="data_dir has no name"):
        EmbeddedBroker("")
    command = [sys.executable, "-m", "barnabas.broker", "--data-dir", "", "--port", "0"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (
        1,
        "barnabas: the data directory has no name: choose a folder for the broker alone\n",
    )
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    wanted = f"{file}/data cannot be the data directory: Not a directory; choose a folder that this user"
    with pytest.raises(DataDirectoryError, match=wanted):
        asyncio.run(Broker(file / "data").start())


def test_an_error_of_the_disk_says_which_file_and_what_to_do() -> None:
    gone = FileNotFoundError(errno.ENOENT, "No such file or directory", "/data/t-0/x.log")
    assert described(gone) == (
        "No such file or directory (/data/t-0/x.log); the data directory was moved or removed: put it back, "
        "or stop the broker"
    )
    assert described(OSError(errno.ENOSPC, "")).endswith("free space there")
    assert described(OSError("odd")) == "odd; check the disk"


def test_a_full_disk_at_the_start_says_which_file(tmp_path: Path) -> None:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    start = "import sys; from barnabas.broker.__main__ import main; sys.exit(main())\n"
    arguments = ["--port", "0", "--data-dir", str(tmp_path)]
    command = [sys.executable, "-c", full + start, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"barnabas: the broker cannot start with the data in {tmp_path}: File too large")
    assert f"({tmp_path}/metadata.json)" in line
    assert line.endswith("; free space there")
