"""What nothing will join is sent at once, however long records may linger."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa
import pytest

from barnabas.spark.options import sink_options
from barnabas.spark.writing.decisions import Decision, DecisionLog
from barnabas.spark.writing.exactly_once import Run, prepare_rows
from barnabas.spark.writing.sink import write_rows
from barnabas.testing import EmbeddedBroker

LINGER_SECONDS = 60.0
OPTIONS = {"kafka.linger.ms": str(int(LINGER_SECONDS * 1000)), "topic": "rows"}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with EmbeddedBroker() as broker:
        yield broker.bootstrap


@pytest.fixture
def rows() -> Iterator[pa.RecordBatch]:
    return iter([pa.record_batch({"value": [b"a", b"b"]})])


@pytest.fixture(autouse=True)
def nothing_lingers() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < LINGER_SECONDS / 2


def test_the_last_rows_of_a_task_do_not_linger(bootstrap: str, rows: Iterator[pa.RecordBatch]) -> None:
    options = sink_options(OPTIONS | {"kafka.bootstrap.servers": bootstrap})
    assert write_rows(rows, options).rows == 2


def test_the_last_rows_of_a_transaction_do_not_linger(bootstrap: str, rows: Iterator[pa.RecordBatch]) -> None:
    options = sink_options(
        OPTIONS
        | {
            "kafka.bootstrap.servers": bootstrap,
            "delivery": "exactly-once",
            "transactionalIdPrefix": "sink",
        }
    )
    assert prepare_rows(rows, options, Run("sink", time.time_ns())).transaction is not None


def test_a_decision_does_not_linger(bootstrap: str) -> None:
    settings = {"bootstrap_servers": bootstrap, "linger_ms": OPTIONS["kafka.linger.ms"]}
    with closing(DecisionLog(settings, "decisions")) as log:
        log.write("sink", Decision(7, is_done=True))
        assert log.last("sink") == Decision(7, is_done=True)
