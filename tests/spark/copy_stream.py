"""Copies a topic to another one as a stream. Made to be killed.

    python -m tests.spark.copy_stream MASTER BOOTSTRAP SOURCE TARGET CHECKPOINT DELIVERY FOLLOW

MASTER may be a server of Spark Connect, `sc://...`. With FOLLOW `until-there` it ends with what the source
holds.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

OPTIONS = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "1000"}
# A JVM that is not there for long takes a third less time without its better compiler.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
    # Of no account where the driver has no executors but itself.
    "spark.executor.extraJavaOptions": _JAVA_OPTIONS,
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
}
FOR_EVER, UNTIL_THERE = "for-ever", "until-there"


def session(master: str) -> SparkSession:
    if master.startswith("sc://"):
        return SparkSession.builder.remote(master).getOrCreate()
    builder = SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> None:
    master, bootstrap, source, target, checkpoint, delivery, follow = sys.argv[1:]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = session(master)
    servers = {"kafka.bootstrap.servers": bootstrap}
    stream = spark.readStream.format("barnabas").options(**servers, **OPTIONS, subscribe=source).load()
    writer = stream.select("key", "value").writeStream.format("barnabas").outputMode("append")
    writer = writer.options(**servers, topic=target, delivery=delivery, checkpointLocation=checkpoint)
    if follow == UNTIL_THERE:
        writer = writer.trigger(availableNow=True)
    writer.start().awaitTermination()


if __name__ == "__main__":
    main()
