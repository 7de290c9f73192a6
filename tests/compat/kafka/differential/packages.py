"""The genuine kafka-python of each generation, in a folder of its own under build/.

Owns where they come from: the package registry, once. Must not import them.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "build" / "kafka-python"

RELEASES = {"1.2": "1.2.1", "2": "2.3.1", "3": "3.0.12"}
"""By generation."""
CODECS = ("python-snappy", "lz4", "zstandard")
# 3.6 is the last Python that kafka-python 1.2.1 runs on; wheels say what they need of the C library.
FOR_1_2_1 = ("six", "python-snappy==0.6.1")
ON_PYTHON_3_6 = (
    *("--python-version", "3.6", "--implementation", "cp", "--no-deps", "--only-binary=:all:"),
    *(f"--platform=manylinux{year}_x86_64" for year in ("1", "2010", "2014")),
)


def genuine(generation: str) -> Path:
    """The folder with the package of a generation, for this Python, or 3.6 for 1.2.1; it is fetched when
    missing."""
    wanted = [f"kafka-python=={RELEASES[generation]}"]
    if generation == "1.2":
        wanted += [*FOR_1_2_1, *ON_PYTHON_3_6]
    else:
        wanted += CODECS
    return _installed(FOLDER / RELEASES[generation], wanted)


def _installed(folder: Path, wanted: list[str]) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = folder.with_name(f"{folder.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target"]
            subprocess.run([*pip, str(unfinished), *wanted], check=True)
            unfinished.rename(folder)
    return folder
