"""What a test leaves behind fails that test, by its name, and no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = """
[tool.pytest.ini_options]
addopts = [
    "--import-mode=importlib",
    "-ptests.suite.tiers",
    "-ptests.suite.unit_guard",
    "-ptests.suite.leak_guard",
]
filterwarnings = ["error"]
"""
TESTS = """
import asyncio
import os
import socket
import subprocess
import threading

import pytest

import barnabas

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
kept = []


@pytest.fixture(scope="module")
def of_the_module(tmp_path_factory):
    process = subprocess.Popen(["sleep", "60"], **QUIET)
    with (tmp_path_factory.mktemp("kept") / "file").open("w") as file:
        yield file
    process.kill()
    process.wait()


def test_leaves_a_thread():
    threading.Thread(target=threading.Event().wait, name="that waits", daemon=True).start()


def test_leaves_a_file(tmp_path):
    kept.append((tmp_path / "left").open("w"))


def test_leaves_a_pipe():
    kept.append(os.pipe())


def test_leaves_sockets():
    kept.append(socket.socketpair())


@pytest.mark.integration
def test_leaves_a_process():
    kept.append(subprocess.Popen(["sleep", "30"], **QUIET))


@pytest.mark.integration
def test_leaves_a_client():
    kept.append(barnabas.Producer("127.0.0.1:1", client_id="kept"))


@pytest.mark.integration
def test_drops_a_client():
    producer = barnabas.Producer("127.0.0.1:1", client_id="dropped")
    kept.append(lambda: producer)
    kept.pop().itself = producer


@pytest.mark.integration
def test_leaves_its_connection_to_the_garbage():
    async def main():
        await asyncio.open_connection(sock=one)

    one, other = socket.socketpair()
    with other:
        asyncio.run(main())


@pytest.mark.integration
def test_fails_and_leaves_a_thread():
    threading.Thread(target=threading.Event().wait, name="of a failure", daemon=True).start()
    assert 1 == 2


def test_ends_what_it_began(tmp_path):
    threading.Thread(target=threading.Event().wait, args=(0.2,)).start()
    with (tmp_path / "file").open("w"):
        pass


@pytest.mark.integration
def test_uses_what_others_use_too(of_the_module):
    assert not of_the_module.closed
"""
LEFT = {
    "test_leaves_a_thread": "the thread that waits",
    "test_leaves_a_file": "the descriptor ",
    "test_leaves_a_pipe": "the descriptor ",
    "test_leaves_sockets": "the descriptor ",
    "test_leaves_a_process": "the process ",
    "test_leaves_a_client": "the producer 'kept'",
    "test_fails_and_leaves_a_thread": "the thread of a failure",
}
WARNED_OF = {
    "test_drops_a_client": "unclosed producer 'dropped'",
    "test_leaves_its_connection_to_the_garbage": "unclosed",
}


def test_a_test_that_leaves_something_behind_fails_and_no_other_does(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "test_seeded.py").write_text(TESTS)
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-rA",
            "-p",
            "no:cacheprovider",
            "--leak-seconds=1",
            "test_seeded.py",
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    lines = [line.partition("test_seeded.py::") for line in ended.stdout.splitlines()]
    told = {
        kind: dict(rest.split(" - ", 1) for found, _, rest in lines if found == f"{kind} ")
        for kind in ("ERROR", "FAILED")
    }
    assert told["ERROR"].keys() == LEFT.keys(), ended.stdout
    for name, left in LEFT.items():
        assert f"the test leaves {left}" in told["ERROR"][name]
    assert told["FAILED"].keys() == {*WARNED_OF, "test_fails_and_leaves_a_thread"}, ended.stdout
    for name, warning in WARNED_OF.items():
        assert warning in ended.stdout.partition(f" {name} _")[2].partition("\n____")[0]
