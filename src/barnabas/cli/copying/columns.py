"""Columns of polled records as the columns that are sent. Knows no client."""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from barnabas.cli.consuming.filters import RecordFilter
from barnabas.values import frozen

if TYPE_CHECKING:
    import pyarrow

SOURCE_HEADERS = ("source.topic", "source.partition", "source.offset", "source.timestamp")
"""The headers that name a record's source; the timestamp in milliseconds since 1970."""


@frozen
class _Row:
    """What a filter looks at."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def wanted(batch: pyarrow.RecordBatch, is_wanted: RecordFilter) -> pyarrow.RecordBatch:
    import pyarrow

    columns = (batch.column(name).to_pylist() for name in ("key", "value", "headers"))
    mask = [
        is_wanted(_Row(key, value, [(each["key"], each["value"]) for each in headers or ()]))
        for key, value, headers in zip(*columns, strict=True)
    ]
    return batch.filter(pyarrow.array(mask, pyarrow.bool_()))


def by_topic(batch: pyarrow.RecordBatch) -> Iterator[tuple[str, pyarrow.RecordBatch]]:
    """The rows of each topic, in their order."""
    compute = _compute()
    topics = batch.column("topic").unique().to_pylist()
    for topic in topics:
        yield topic, batch if len(topics) == 1 else batch.filter(compute.equal(batch.column("topic"), topic))


def to_send(
    batch: pyarrow.RecordBatch, *, keeps_partitions: bool, has_source_headers: bool
) -> pyarrow.RecordBatch:
    """The columns that become records. A record that has no timestamp gets that of now."""
    import pyarrow

    compute = _compute()
    timestamps = batch.column("timestamp")
    has_time = compute.greater_equal(timestamps.cast(pyarrow.int64()), 0)
    columns = {
        "key": batch.column("key"),
        "value": batch.column("value"),
        "headers": with_source_headers(batch) if has_source_headers else batch.column("headers"),
        "timestamp": compute.if_else(has_time, timestamps, pyarrow.scalar(None, timestamps.type)),
    }
    if keeps_partitions:
        columns["partition"] = batch.column("partition")
    return pyarrow.RecordBatch.from_pydict(columns)


def with_source_headers(batch: pyarrow.RecordBatch) -> pyarrow.Array:
    """The column of headers, with those behind the record's own that name its source."""
    import pyarrow

    compute = _compute()
    count = batch.num_rows
    own = batch.column("headers")
    milliseconds = compute.divide(batch.column("timestamp").cast(pyarrow.int64()), 1000)
    texts = [
        batch.column("topic"),
        *(column.cast(pyarrow.string()) for column in (batch.column("partition"), batch.column("offset"))),
        milliseconds.cast(pyarrow.string()),
    ]
    rows = compute.subtract(
        compute.cumulative_sum(pyarrow.repeat(pyarrow.scalar(1, pyarrow.int64()), count)), 1
    )
    added = pyarrow.StructArray.from_arrays(
        [
            pyarrow.concat_arrays([pyarrow.repeat(name, count) for name in SOURCE_HEADERS]),
            pyarrow.concat_arrays([text.cast(pyarrow.string()).cast(pyarrow.binary()) for text in texts]),
        ],
        names=["key", "value"],
    )
    headers = pyarrow.concat_arrays([own.flatten().cast(added.type), added])
    owners = pyarrow.concat_arrays(
        [compute.list_parent_indices(own).cast(pyarrow.int64()), *[rows] * len(SOURCE_HEADERS)]
    )
    lengths = compute.add(compute.fill_null(compute.list_value_length(own), 0), len(SOURCE_HEADERS))
    ends = compute.cumulative_sum(lengths).cast(pyarrow.int32())
    offsets = pyarrow.concat_arrays([pyarrow.array([0], pyarrow.int32()), ends])
    # The sort is stable: a record's own headers stay before the added ones, and all in their order.
    return pyarrow.ListArray.from_arrays(offsets, headers.take(compute.sort_indices(owners)))


def _compute() -> Any:
    # Its functions are made when it is imported, and have no types.
    import pyarrow.compute

    return pyarrow.compute
