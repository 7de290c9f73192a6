"""Copies a topic to another one as a stream. Made to be killed.

    python -m tests.spark.copy_stream MASTER BOOTSTRAP SOURCE TARGET CHECKPOINT DELIVERY FOLLOW

With FOLLOW `until-there` it ends with what the source holds.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

OPTIONS = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "1000"}
FOR_EVER, UNTIL_THERE = "for-ever", "until-there"


def main() -> None:
    master, bootstrap, source, target, checkpoint, delivery, follow = sys.argv[1:]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        # A JVM that is not there for long takes a third less time without its better compiler.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    servers = {"kafka.bootstrap.servers": bootstrap}
    stream = spark.readStream.format("barnabas").options(**servers, **OPTIONS, subscribe=source).load()
    writer = stream.select("key", "value").writeStream.format("barnabas").outputMode("append")
    writer = writer.options(**servers, topic=target, delivery=delivery, checkpointLocation=checkpoint)
    if follow == UNTIL_THERE:
        writer = writer.trigger(availableNow=True)
    writer.start().awaitTermination()


if __name__ == "__main__":
    main()
