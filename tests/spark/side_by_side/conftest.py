"""One session with Spark's own connector in it besides ours, and one broker with topics for both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.spark.conftest import Kafka
from tests.spark.side_by_side.outcomes import Runner
from tests.spark.side_by_side.prepared import Prepared, prepare

from barnabas.testing import ApacheKafka


@pytest.fixture(scope="session")
def topics() -> Iterator[Prepared]:
    config = {
        "log.retention.ms": "-1",
        "auto.create.topics.enable": "false",
        "log.cleaner.backoff.ms": "100",
        "log.retention.check.interval.ms": "100",
    }
    with ApacheKafka("4.3.0", config=config) as broker:
        prepared = prepare(Kafka(broker.bootstrap))
        yield prepared
        prepared.close()


@pytest.fixture(scope="session")
def runner(spark: SparkSession, topics: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(spark, topics, tmp_path_factory.mktemp("side-by-side"))
