from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
RECORDED: dict[str, Any] = json.loads((FOLDER / "recorded_bytes.json").read_text())


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    command = [sys.executable, "-m", "barnabas.compat", "--only", "pykafka", str(FOLDER / "bytes_script.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_bytes_and_what_is_read_from_them_are_those_of_pykafka(name: str, ours: dict[str, Any]) -> None:
    assert ours[name] == RECORDED[name]


def test_all_is_recorded(ours: dict[str, Any]) -> None:
    assert ours.keys() == RECORDED.keys()
