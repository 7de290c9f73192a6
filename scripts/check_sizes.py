"""Finds folders and files that have grown too large to find one's way in, and lines of the documents that
are too long to read.

    python3 scripts/check_sizes.py [folder of a checkout]

Looks at the Python and Rust that git knows of and somebody has written by hand. GENERATED lists the rest,
which in other files begins at MARK; whether that is as its generator makes it is for
`codegen/generate.py --check` and `codegen/plain_calls.py --check` to say. The documents are README.md,
CHANGELOG.md and docs/; there only the row of a table may be longer, since it cannot wrap.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path, PurePosixPath

MOST_FILES = 25
MOST_LINES = 800
MOST_CHARACTERS = 120
SUFFIXES = (".py", ".pyi", ".rs")
DOCUMENTS = ("README.md", "CHANGELOG.md", "docs")
# Their modules are those that kafka-python and pykafka have.
NAMED_BY_ORIGINALS = ("src/barnabas/compat/kafka", "src/barnabas/compat/pykafka")
MARK = b"# From here on made by codegen/"
GENERATED = ("src/barnabas/broker_errors.py", "src/barnabas/error_codes.py", "src/barnabas/protocol/messages")


def is_generated(file: PurePosixPath) -> bool:
    return any(file.is_relative_to(generated) for generated in GENERATED)


def is_document(file: PurePosixPath) -> bool:
    return file.suffix == ".md" and any(file.is_relative_to(document) for document in DOCUMENTS)


def known_files(root: Path) -> list[PurePosixPath]:
    """Files under version control, or to be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    files = {PurePosixPath(name) for name in listed.stdout.decode().split("\0")}
    return sorted(file for file in files if (root / file).is_file())


def problems(root: Path) -> list[str]:
    """What is too large, a line each."""
    known = known_files(root)
    files = [file for file in known if file.suffix in SUFFIXES and not is_generated(file)]
    found: list[str] = []
    for folder, count in sorted(Counter(file.parent for file in files).items()):
        if count > MOST_FILES and not any(map(folder.is_relative_to, NAMED_BY_ORIGINALS)):
            found.append(f"{folder}/ has {count} files, {MOST_FILES} at most: give some of them a folder")
    for file in files:
        lines = (root / file).read_bytes().partition(MARK)[0].count(b"\n")
        if lines > MOST_LINES:
            found.append(f"{file} has {lines} lines, {MOST_LINES} at most: take it apart")
    for file in known:
        if is_document(file):
            found += long_lines(root, file)
    return found


def long_lines(root: Path, file: PurePosixPath) -> list[str]:
    """Code blocks are not spared: they scroll sideways."""
    return [
        f"{file}:{number} has {len(line)} characters, {MOST_CHARACTERS} at most: wrap it"
        for number, line in enumerate((root / file).read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > MOST_CHARACTERS and not line.startswith("|")
    ]


def main() -> None:
    found = problems(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
