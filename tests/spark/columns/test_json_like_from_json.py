"""`value.format=json` and Spark's from_json read the same documents in the same way."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from tests.spark.columns.json_documents import DIFFERENT, VALUES, WHOLE
from tests.spark.conftest import Kafka

from barnabas.testing import EmbeddedBroker

pytestmark = pytest.mark.differential

Read = Callable[..., DataFrame]
REFUSED = "refused"
CORRUPT = "_corrupt"
# In forms that Python's types have no bounds for.
COMPARED = {
    "DATE": "unix_date(value.x)",
    "TIMESTAMP": "unix_micros(value.x)",
    "TIMESTAMP_NTZ": "unix_micros(cast(value.x as timestamp))",
}


@pytest.fixture(scope="module")
def kafka(embedded_broker: EmbeddedBroker) -> Kafka:
    """One kind of broker: what is compared are decoders."""
    return Kafka(embedded_broker.bootstrap)


def plain(value: Any) -> Any:
    """A text with JSON in it by what it means: from_json writes it anew, and ours is as it was written."""
    match value:
        case str():
            try:
                return repr(json.loads(value, parse_int=float))
            except ValueError:
                return value
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case _:
            return repr(value)


def read_by_both(kafka: Kafka, read: Read, data_type: str, documents: Sequence[str]) -> list[tuple[Any, Any]]:
    """Of each document what ours and from_json make of the field `x`, or REFUSED."""
    topic = kafka.create()
    kafka.write(topic, [document.encode() for document in documents])
    compared = COMPARED.get(data_type, "value.x")
    from_json = f.from_json(
        f.col("value").cast("string"),
        f"x {data_type}, {CORRUPT} STRING",
        {"columnNameOfCorruptRecord": CORRUPT},
    )
    theirs = (
        read(kafka, subscribe=topic)
        .withColumn("value", from_json)
        .selectExpr("offset", f"{compared} as x", f"value.{CORRUPT} is not null as is_refused")
    )
    options = {"value.format": "json", "value.schema": f"x {data_type}", "mode": "permissive"}
    ours = read(kafka, subscribe=topic, **options).selectExpr(
        "offset", f"{compared} as x", "valueError is not null as is_refused"
    )
    found = [
        [REFUSED if row.is_refused else plain(row.x) for row in frame.orderBy("offset").collect()]
        for frame in (ours, theirs)
    ]
    return list(zip(*found, strict=True))


def check(found: Sequence[tuple[Any, Any]], data_type: str, documents: Sequence[str]) -> None:
    differing = {
        document: pair for document, pair in zip(documents, found, strict=True) if pair[0] != pair[1]
    }
    known = {document for of_type, document in DIFFERENT if of_type == data_type}
    assert {document: pair for document, pair in differing.items() if document not in known} == {}
    assert known <= differing.keys(), "these do not differ any more"


@pytest.mark.parametrize("data_type", VALUES)
def test_a_value_of_a_type_is_read_as_from_json_reads_it(kafka: Kafka, read: Read, data_type: str) -> None:
    values = VALUES[data_type]
    found = read_by_both(kafka, read, data_type, [f'{{"x": {value}}}' for value in values])
    check(found, data_type, values)


def test_a_document_is_read_as_from_json_reads_it(kafka: Kafka, read: Read) -> None:
    check(read_by_both(kafka, read, "INT", WHOLE), "", WHOLE)
