"""`barnabas spark`, on a copy of a few modules in place of PySpark's archives."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.cli.conftest import Cli


def test_archives_are_compiled_and_put_back(cli: Cli, tmp_path: Path) -> None:
    libraries = tmp_path / "python" / "lib"
    libraries.mkdir(parents=True)
    with zipfile.ZipFile(libraries / "pyspark.zip", "w") as archive:
        archive.writestr("pyspark/__init__.py", "")
    before = (libraries / "pyspark.zip").read_bytes()
    command = ("spark", "precompile", "--spark-home", str(tmp_path))
    assert "compiled for cpython-" in cli(*command).stderr
    [found] = json.loads(cli(*command, "--json").stdout)
    assert (found["path"], found["modules"]) == (str(libraries / "pyspark.zip"), 1)
    assert "as PySpark comes" in cli(*command, "--undo").stderr
    assert (libraries / "pyspark.zip").read_bytes() == before
    missing = cli("spark", "precompile", "--spark-home", str(tmp_path / "no"), ok=False)
    assert "is this Spark's home?" in missing.stderr
