"""Where the Kafka jars come from: Maven, once, into build/jars. Knows nothing of what is inside them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

JARS_DIRECTORY = Path(__file__).resolve().parent.parent / "build" / "jars"

NEWEST_KAFKA = "4.3.0"
OLDER_KAFKA = "3.9.1"
"""The last release that still spoke the versions which 4.0 dropped (KIP-896) and the ZooKeeper requests."""

CLIENTS = f"org.apache.kafka:kafka-clients:{NEWEST_KAFKA}"
OLDER_CLIENTS = f"org.apache.kafka:kafka-clients:{OLDER_KAFKA}"
GROUP_COORDINATOR = f"org.apache.kafka:kafka-group-coordinator:{NEWEST_KAFKA}"
SHARE_COORDINATOR = f"org.apache.kafka:kafka-share-coordinator:{NEWEST_KAFKA}"
TRANSACTION_COORDINATOR = f"org.apache.kafka:kafka-transaction-coordinator:{NEWEST_KAFKA}"
COORDINATORS = (GROUP_COORDINATOR, SHARE_COORDINATOR, TRANSACTION_COORDINATOR)
"""Whose records are in internal topics."""
SERVER = (
    *(
        f"org.apache.kafka:kafka-{part}:{NEWEST_KAFKA}"
        for part in (
            *("coordinator-common", "group-coordinator-api", "metadata", "raft", "server", "server-common"),
            *("storage", "storage-api"),
        )
    ),
    "commons-validator:commons-validator:1.10.1",
)
"""Where the settings of brokers are."""
JAVA_LIBRARIES = (
    "org.slf4j:slf4j-api:1.7.36",
    "com.fasterxml.jackson.core:jackson-core:2.21.2",
    "com.fasterxml.jackson.core:jackson-databind:2.21.2",
    "com.fasterxml.jackson.core:jackson-annotations:2.21",
)
"""What Kafka's classes need at run time to be read, written and turned into JSON."""

_ALL = (CLIENTS, OLDER_CLIENTS, *COORDINATORS, *SERVER, *JAVA_LIBRARIES)


class MissingToolError(Exception):
    """A program is missing; the message gives the command that installs it."""


def require_tool(program: str, package: str) -> str:
    """The path of `program`. Raises MissingToolError naming the Debian `package` that brings it."""
    path = shutil.which(program)
    if path is None:
        raise MissingToolError(f"{program} is not installed: apt-get install {package}")
    return path


def jar(coordinates: str) -> Path:
    """The jar of `group:artifact:version`. The first missing one has Maven fetch all of them in one run."""
    path = _path(coordinates)
    if not path.exists():
        fetch(_ALL)
    return path


def class_path(*coordinates: str) -> str:
    """A Java class path of these jars and of the libraries they need."""
    return ":".join(str(jar(each)) for each in (*coordinates, *JAVA_LIBRARIES))


def _path(coordinates: str) -> Path:
    _, artifact, version = coordinates.split(":")
    return JARS_DIRECTORY / f"{artifact}-{version}.jar"


def fetch(coordinates: Iterable[str]) -> None:
    """Has Maven fetch those that are missing, in one run."""
    missing = [each for each in coordinates if not _path(each).exists()]
    if not missing:
        return
    JARS_DIRECTORY.mkdir(parents=True, exist_ok=True)
    items = "".join(
        "<artifactItem><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></artifactItem>".format(
            *each.split(":")
        )
        for each in missing
    )
    project = JARS_DIRECTORY / "pom.xml"
    project.write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>barnabas</groupId><artifactId>codegen</artifactId><version>1</version>"
        "<packaging>pom</packaging><build><plugins><plugin>"
        "<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>"
        "<version>3.8.1</version><configuration>"
        f"<outputDirectory>{JARS_DIRECTORY}</outputDirectory>"
        f"<artifactItems>{items}</artifactItems>"
        "</configuration></plugin></plugins></build></project>\n"
    )
    maven = require_tool("mvn", "maven")
    subprocess.run(
        [maven, "--quiet", "--batch-mode", "--file", str(project), "dependency:copy"], check=True, timeout=300
    )
