"""What the README shows is run as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.timeout(330)
@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_python_in_the_readme_runs(block: str, embedded_broker: EmbeddedBroker, tmp_path: Path) -> None:
    program = block.replace("localhost:9092", embedded_broker.bootstrap)
    # As in an activated environment: Spark takes the python3 of PATH.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_has_examples() -> None:
    assert len(BLOCKS) >= 5
