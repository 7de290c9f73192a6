"""Fetches Spark's own Kafka connector, which runs in the JVM, to compare with."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Nothing newer is published. This set runs under PySpark 4.3.
ARTIFACTS = [
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
]
AVRO = ["org.apache.spark:spark-avro_2.13:4.2.0"]
"""Spark's from_avro."""


def fetch(directory: Path, artifacts: Sequence[str] = ARTIFACTS) -> str:
    """The jars, comma-separated as `spark.jars` wants them. Raises: CalledProcessError."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        # Tests run in several processes.
        fcntl.flock(lock, fcntl.LOCK_EX)
        for artifact in artifacts:
            _, name, version = artifact.split(":")
            if not (directory / f"{name}-{version}.jar").exists():
                command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}"]
                subprocess.run([*command, f"-DoutputDirectory={directory}"], check=True, timeout=300)
    return ",".join(str(jar) for jar in sorted(directory.glob("*.jar")))
