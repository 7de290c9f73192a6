"""The genuine pykafka, with what it needs, in a folder of its own under build/.

Owns where it comes from: the package registry, once. Must not import it.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

RELEASE = "2.8.0"
FOLDER = Path(__file__).parents[3] / "build" / "pykafka" / RELEASE
# It asks pkg_resources, which newer ones of setuptools have no more.
NEEDED = ("kazoo", "tabulate", "gevent", "setuptools<81")


def genuine() -> Path:
    """The folder with the package, for this Python; it is fetched when missing."""
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with (FOLDER.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not FOLDER.exists():
            unfinished = FOLDER.with_name(f"{RELEASE}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            wanted = [f"pykafka=={RELEASE}", *NEEDED]
            subprocess.run([*pip, "--target", str(unfinished), *wanted], check=True)
            unfinished.rename(FOLDER)
        # It brings its tests as a package of that name, in which those here would not be found.
        shutil.rmtree(FOLDER / "tests", ignore_errors=True)
    return FOLDER
