"""Runs a script on the facade as one generation, and on the genuine package.

The newest genuine package is installed beside us; what a script printed on the others is in `recorded/`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from barnabas.compat.kafka_engine.generations import ENVIRONMENT_VARIABLE

HERE = Path(__file__).parent
NEWEST = "3"


def _printed(arguments: list[str], generation: str) -> Any:
    environment = {**os.environ, ENVIRONMENT_VARIABLE: generation}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@cache
def ours(script: str, generation: str) -> Any:
    """What the facade has the script print."""
    return _printed(["-W", "error", "-m", "barnabas.compat", str(HERE / f"{script}_script.py")], generation)


def ours_with(script: Path, generation: str, *arguments: str) -> Any:
    """What the facade has a script print that is given arguments."""
    return _printed(["-W", "ignore", "-m", "barnabas.compat", str(script), *arguments], generation)


@cache
def genuine(script: str, generation: str) -> Any:
    """What the genuine package has the script print, or had it print when it was recorded."""
    if generation == NEWEST:
        return _printed([str(HERE / f"{script}_script.py")], generation)
    return json.loads((HERE / "recorded" / f"{script}_{generation}.json").read_text())
