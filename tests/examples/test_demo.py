"""The demo as a person runs it: a process of its own, on a few days of the year."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from examples.flights import check, figures
from examples.flights.data import FlightData
from examples.flights.topics import Topics

from barnabas.testing import free_ports

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 240
COMMAND = [sys.executable, "-m", "examples.flights"]
IMPATIENT = """
import sys
from examples.flights import __main__, demo
demo.CONNECT_TIMEOUT_SECONDS = 1.0
sys.exit(__main__.main())
"""

pytestmark = pytest.mark.usefixtures("spark_home")


def run(
    *arguments: str, command: Sequence[str] = COMMAND, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def fetched(address: str) -> str:
    with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS) as answer:
        return answer.read().decode()


@pytest.mark.timeout(TIMEOUT_SECONDS + 30)
def test_three_days_go_through_kafka_and_spark_and_come_back_right(tmp_path: Path, year: FlightData) -> None:
    ended = run("--days", "3", "--folder", str(tmp_path))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    expected = figures.expected(year.first_days(3))
    assert f"{len(expected)} results of 2,699 flights in topic 'delays' are the same" in ended.stdout
    assert str(tmp_path / "delays.png") in ended.stdout
    assert (tmp_path / "delays.png").exists()
    archived = pd.read_parquet(tmp_path / "delays.parquet").astype({"day": str})
    assert check.differences(expected, archived) == []


@pytest.mark.timeout(TIMEOUT_SECONDS + 30)
def test_the_page_shows_the_query_and_stays_if_it_is_told_to(tmp_path: Path) -> None:
    command = [*COMMAND, "--days", "1", "--keep", "--folder", str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        try:
            assert demo.stdout is not None
            printed = ""
            for line in demo.stdout:
                printed += line
                if "until Ctrl-C" in line:
                    break
            address = printed.partition("while they run: ")[2].partition("\n")[0]
            assert address in printed.rpartition("stays at ")[2], printed
            listed = fetched(address)
            for name in ("delays", "archive"):
                assert re.search(rf'<a href="/query\?id=[^"]+">{name}</a>', listed), listed
                assert re.search(rf'<a href="/query/checkpoint\?at=[^"]+">{name}</a>', listed), listed
            query = re.search(r'href="(/query\?id=[^"]+)">delays<', listed)
            assert query is not None
            shown = fetched(address.removesuffix("/queries") + query[1])
            assert "Where the time went" in shown
            assert "flights-0" in shown
            assert "stateStoreSave" in shown
            demo.send_signal(signal.SIGINT)
            rest, _ = demo.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            demo.kill()
    assert demo.returncode == 0, printed + rest


@pytest.mark.chaos
@pytest.mark.timeout(TIMEOUT_SECONDS + 30)
def test_values_in_avro_by_a_registry_come_back_right(tmp_path: Path, year: FlightData) -> None:
    ended = run("--days", "2", "--format", "avro", "--folder", str(tmp_path))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    assert "Schemas embedded, on http" in ended.stdout
    assert re.search(r"Page +of topics, .*: http://127.0.0.1:\d+/queries\n", ended.stdout)
    archived = pd.read_parquet(tmp_path / "delays.parquet").astype({"day": str})
    assert check.differences(figures.expected(year.first_days(2)), archived) == []


@pytest.mark.chaos
@pytest.mark.timeout(TIMEOUT_SECONDS + 30)
def test_a_replay_against_the_clock_ends_with_right_results_on_ctrl_c(
    tmp_path: Path, apache_kafka: Any, topic: Callable[[], str], eventually: Callable[..., object]
) -> None:
    prefix = f"{topic()}-"
    where = ["--bootstrap", apache_kafka.bootstrap, "--prefix", prefix, "--folder", str(tmp_path)]
    command = [*COMMAND, *where, "--days", "6", "--follow", "--speed", "20000"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        try:

            def is_a_day_over() -> bool:
                assert demo.poll() is None, demo.stdout and demo.stdout.read()
                return bool((tmp_path / "checkpoints" / "delays").exists()) and not has_no_results()

            def has_no_results() -> bool:
                return check.read_back(apache_kafka.bootstrap, Topics(prefix).delays, is_once=True).empty

            eventually(is_a_day_over, timeout=TIMEOUT_SECONDS)
            demo.send_signal(signal.SIGINT)
            output, _ = demo.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            demo.kill()
    assert demo.returncode == 0, output
    assert "are the same as computed from the files" in output
    assert "Departures from New York" in output
    assert not pd.read_parquet(tmp_path / "delays.parquet").empty


def test_an_unreachable_kafka_is_one_clear_error(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_ports()[0]}"
    arguments = ["--bootstrap", address, "--folder", str(tmp_path)]
    ended = run(*arguments, command=[sys.executable, "-c", IMPATIENT])
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert f"none of bootstrap_servers answered within 1000 ms: {address}" in ended.stderr


def test_without_java_the_error_says_what_to_install(tmp_path: Path) -> None:
    ended = run("--folder", str(tmp_path), PATH="/nowhere", JAVA_HOME="")
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert "Java 17" in line
    assert "apt-get install" in line


def test_a_speed_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    ended = run("--follow", "--speed", "0", "--folder", str(tmp_path))
    assert ended.returncode == 2
    assert "must be from 1 to 1000000, not 0" in ended.stderr
