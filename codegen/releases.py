"""Writes barnabas/protocol/releases.py: which versions of each API brokers of each Kafka release offer.

The answer is in each release's own classes, which Maven fetches (about 120 MB, kept in build/jars). Run it
by hand when there is a new release; nothing else needs the jars.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jars
from generate import PACKAGE, formatted
from python_source import HEADER

# One of each line of releases: the versions that are offered do not change within one.
RELEASES = (
    *("0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.1.1", "2.2.2", "2.3.1"),
    *("2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2"),
    *("3.6.2", "3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.0", "4.2.0", "4.3.0"),
)
FIRST_WITH_KRAFT = "3.3.2"
"""Before it KRaft was for trying; a broker of such a release is one with ZooKeeper."""
GONE = (0, -1)

Versions = dict[int, tuple[int, int]]


def line_of(release: str) -> str:
    """`2.8.2` is of 2.8, `0.10.2.2` of 0.10.2."""
    return release.rpartition(".")[0]


def read_versions(release: str) -> Versions:
    """What brokers of a release offer. Raises: MissingToolError without a JDK."""
    jars.require_tool("javac", "openjdk-17-jdk-headless")
    has_kraft = RELEASES.index(release) >= RELEASES.index(FIRST_WITH_KRAFT)
    command = ["java", "-cp", jars.class_path(f"org.apache.kafka:kafka-clients:{release}")]
    command += [str(Path(__file__).with_name("DumpVersions.java")), "BROKER" if has_kraft else "ZK_BROKER"]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    rows = [[int(number) for number in line.split("\t")] for line in completed.stdout.splitlines()]
    return {api_key: (lowest, highest) for api_key, lowest, highest in rows}


def render(tables: dict[str, Versions]) -> str:
    """The source of releases.py: of each API the releases in which its versions changed."""
    lines = [
        HEADER.format(title="Which versions of each API each Kafka release offers.").replace(
            "codegen/generate.py", "codegen/releases.py"
        ),
        "from collections.abc import Mapping\n\n",
        f"RELEASES = {tuple(tables)!r}\n",
        '"""Lines of releases, the oldest first."""\n\n',
        "CHANGES: Mapping[int, Mapping[str, tuple[int, int]]] = {\n",
    ]
    for api_key in sorted({key for table in tables.values() for key in table}):
        changes: dict[str, tuple[int, int]] = {}
        last = GONE
        for line, table in tables.items():
            versions = table.get(api_key, GONE)
            if versions != last:
                changes[line] = last = versions
        lines.append(f"    {api_key}: {changes!r},\n")
    lines += [
        "}\n",
        '"""By API key: the lowest and highest version from a line of releases on, until the next that is ',
        'named; a highest of -1 is an API that is gone."""\n',
    ]
    return "".join(lines)


def main() -> int:
    path = PACKAGE / "protocol" / "releases.py"
    jars.fetch([f"org.apache.kafka:kafka-clients:{release}" for release in RELEASES])
    source = render({line_of(release): read_versions(release) for release in RELEASES})
    path.write_text(formatted({path: source})[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
