"""What pages of the documents show of Spark is run as it stands there, in the session that tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.docs.page_examples import PageRunner, name, needs_spark, pages_with_examples

from barnabas.testing import EmbeddedBroker, EmbeddedRegistry

ON_SPARK = [page for page in pages_with_examples() if needs_spark(page)]


@pytest.fixture(scope="module")
def registry() -> Iterator[EmbeddedRegistry]:
    with EmbeddedRegistry() as registry:
        yield registry


@pytest.mark.chaos
@pytest.mark.from_pyspark_4_2
@pytest.mark.parametrize("page", ON_SPARK, ids=name)
def test_the_examples_of_a_page_on_spark_run(
    page: Path,
    spark: SparkSession,
    registry: EmbeddedRegistry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with EmbeddedBroker(storage="memory") as broker:
        PageRunner(broker, registry, tmp_path).run(page)
