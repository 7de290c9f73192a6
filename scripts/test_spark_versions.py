"""Runs Spark's tests with the older releases of PySpark that we support, each in an environment of its own.

    .venv/bin/python scripts/test_spark_versions.py [4.0 4.1 4.2] [-- arguments for pytest]

What a release does not offer is left out: tests say by a marker from which one on they run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARKERS = {"4.1": "from_pyspark_4_1", "4.2": "from_pyspark_4_2"}
VERSIONS = ("4.0", "4.1", "4.2")
TESTS = ("batch_read", "stream_read", "sink", "exactly_once", "data_loss", "tasks")
# What the tests need besides; these releases of PySpark know no later pandas.
PACKAGES = ("pandas<3", "pyarrow", "pytest", "pytest-timeout", "hypothesis", "confluent-kafka")

# They leave sockets of their own to the garbage collector.
OF_OLD_RELEASES = ("-W", "ignore::ResourceWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning")


def main() -> None:
    given, _, for_pytest = " ".join(sys.argv[1:]).partition("--")
    failed = [version for version in given.split() or VERSIONS if run(version, for_pytest.split()) != 0]
    if failed:
        sys.exit(f"failed with PySpark {', '.join(failed)}")


def run(version: str, arguments: list[str]) -> int:
    folder = ROOT / "build" / f"pyspark-{version}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, f"pyspark=={version}.*", *PACKAGES], check=True)
        (folder / "ready").touch()
    print(f"PySpark {version}", flush=True)
    later = [f"not {marker}" for since, marker in MARKERS.items() if since > version]
    chosen = ["-m", " and ".join([*later, "not long"])]
    tests = [f"tests/spark/test_{name}.py" for name in TESTS]
    command = [str(python), "-m", "pytest", *OF_OLD_RELEASES, *chosen, *(arguments or tests)]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}).returncode


if __name__ == "__main__":
    main()
