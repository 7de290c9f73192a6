from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

OLD = "from kafka import KafkaConsumer, SimpleClient\nKafkaConsumer('topic')\n"


def scan(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "barnabas.cli", "migrate", "scan", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        check=False,
    )


def test_what_breaks_is_listed_with_its_place_reason_and_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(OLD)
    done = scan(".", folder=tmp_path)
    assert done.returncode == 1
    assert "app.py:1:1: breaks with kafka-python 2: kafka.SimpleClient\n" in done.stdout
    assert "    kafka has no SimpleClient\n    instead: KafkaConsumer and KafkaProducer" in done.stdout
    assert "app.py:2:1: changes with kafka-python 3: KafkaConsumer\n" in done.stdout
    assert "1 break, 1 change" in done.stderr


def test_changes_alone_end_with_status_0(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("from kafka import KafkaConsumer\nKafkaConsumer('topic')\n")
    assert scan("app.py", folder=tmp_path).returncode == 0
    done = scan("app.py", "--only-breaks", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing to change" in done.stderr


def test_json_has_a_finding_each(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(OLD)
    found = json.loads(scan(".", "--json", "--only-breaks", folder=tmp_path).stdout)
    assert found == [
        {
            "file": "app.py",
            "line": 1,
            "column": 1,
            "effect": "breaks",
            "with": "kafka-python 2",
            "what": "kafka.SimpleClient",
            "reason": "kafka has no SimpleClient",
            "instead": "KafkaConsumer and KafkaProducer; KafkaAdminClient for metadata and offsets",
        }
    ]


@pytest.mark.parametrize("version", ["2", "2.0.2", "2.3.1"])
def test_versions_are_those_of_releases(tmp_path: Path, version: str) -> None:
    (tmp_path / "app.py").write_text("from kafka import BrokerConnection\n")
    assert scan(".", "--to", version, folder=tmp_path).returncode == 0
    assert scan(".", "--from", version, folder=tmp_path).returncode == 1


@pytest.mark.parametrize("arguments", [["--to", "4"], ["--from", "3", "--to", "2"], ["--from", "new"]])
def test_versions_that_make_no_way_are_wrong_usage(tmp_path: Path, arguments: list[str]) -> None:
    assert scan(".", *arguments, folder=tmp_path).returncode == 2


def test_a_path_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    assert scan("nowhere", folder=tmp_path).returncode == 2
