"""Kafka as a Spark source and sink, without a JAR: `format("barnabas")`.

    flights = spark.readStream.format("barnabas").option("kafka.bootstrap.servers", "localhost:9092")
    flights = flights.option("subscribe", "flights").load()
    flights.select("key", "value").writeStream.format("barnabas").option(...).option("topic", "copy")

Options mean what they mean to Spark's own Kafka connector. `options`, `offsets`, `ranges` and `java_pattern`
are pure; `source` and `sink` run on the clients of `barnabas.sync` and on Arrow.
"""

from __future__ import annotations

from barnabas.errors import MissingExtraError

try:
    from barnabas.spark.data_source import DefaultSource
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("numpy", "pandas", "pyarrow", "pyspark"):
        raise
    raise MissingExtraError("barnabas.spark", "spark") from None

__all__ = ["DefaultSource"]
