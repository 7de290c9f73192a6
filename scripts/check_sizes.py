"""Finds folders and files that have grown too large to find one's way in.

    python3 scripts/check_sizes.py [folder of a checkout]

Looks at the Python and Rust that git knows of and somebody has written by hand. GENERATED lists the rest;
whether that is as its generator makes it is for `codegen/generate.py --check` to say.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path, PurePosixPath

MOST_FILES = 25
MOST_LINES = 800
SUFFIXES = (".py", ".pyi", ".rs")
GENERATED = ("src/barnabas/broker_errors.py", "src/barnabas/protocol/messages")


def is_generated(file: PurePosixPath) -> bool:
    return any(file.is_relative_to(generated) for generated in GENERATED)


def written_files(root: Path) -> list[PurePosixPath]:
    """Files under version control, or to be, that are written by hand."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    files = {PurePosixPath(name) for name in listed.stdout.decode().split("\0") if name.endswith(SUFFIXES)}
    return sorted(file for file in files if not is_generated(file) and (root / file).is_file())


def problems(root: Path) -> list[str]:
    """What is too large, a line each."""
    files = written_files(root)
    found: list[str] = []
    for folder, count in sorted(Counter(file.parent for file in files).items()):
        if count > MOST_FILES:
            found.append(f"{folder}/ has {count} files, {MOST_FILES} at most: give some of them a folder")
    for file in files:
        lines = (root / file).read_bytes().count(b"\n")
        if lines > MOST_LINES:
            found.append(f"{file} has {lines} lines, {MOST_LINES} at most: take it apart")
    return found


def main() -> None:
    found = problems(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
