"""The Spark that is measured."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession


def session(jars: str = "", **settings: str) -> SparkSession:
    """With Spark's default settings, but for what it would print, serve and look up."""
    # Otherwise Spark's workers run the python3 of PATH, which need not be the one with Barnabas in it.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("bench")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .config("spark.jars", jars)
    )
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
