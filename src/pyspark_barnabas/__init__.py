"""Spark looks for packages named `pyspark_*` by itself, so `format("barnabas")` needs no register call."""

from barnabas.spark import DefaultSource

__all__ = ["DefaultSource"]
