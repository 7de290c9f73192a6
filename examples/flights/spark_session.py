"""Spark for the demo: a JVM of its own, small, quick to start, with its log in a file.

Knows nothing of flights.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from barnabas.testing.distribution import java_command

# pandas is not used inside Spark here
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)

_CHECKPOINT_FILE_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


class SparkStartError(Exception):
    """Spark's JVM ended while starting; the message names its log."""


def start(folder: Path, cores: int = 2) -> SparkContext:
    """Starts Spark on `cores` threads. What it must write, its log too (`spark.log`), goes under `folder`.

    A context, not a session: a session belongs to the thread that makes it, and Spark looks for the format of
    a sink only in the session of the thread that starts the query.

    Raises: MissingProgramError (no Java, or one too old), SparkStartError.
    """
    java_command("Spark")
    # workers of this Python, or they would not find format("barnabas")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    log_settings = Path(__file__).with_name("log4j2.properties")
    java_options = [
        f"-Dlog4j2.configurationFile={log_settings.as_uri()}",
        # the best compiler and collector would pay off after minutes; this ends before
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Xms1g",
        "-Xmn600m",
    ]
    settings = {
        "spark.master": f"local[{cores}]",
        "spark.app.name": "flights",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.local.dir": str(folder / "spark"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        # plain renames: the default starts a process for each file of a checkpoint to set its permissions
        "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_FILE_MANAGER,
        "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
        "spark.sql.shuffle.partitions": str(cores),
        # groups of one batch before Spark falls back to sorting: a year of flights has 11,864
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    }
    log_path = folder / "spark.log"
    with log_path.open("ab") as log:
        conf = SparkConf().setAll(list(settings.items()))
        try:
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
        except Exception as error:
            raise SparkStartError(f"Spark did not start; {log_path} says why") from error
    return SparkContext(conf=conf, gateway=gateway)
