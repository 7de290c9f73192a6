"""Reads the results back from Kafka and holds them against the figures computed from the files.

Owns the rule for "the same": counts and names exactly, measures within TOLERANCE. Knows nothing of Spark.
"""

from __future__ import annotations

from io import BytesIO

import pandas as pd
import pyarrow as pa
import pyarrow.json
from examples.flights.figures import COUNTS, KEY, MEASURES
from examples.flights.forms import AS_JSON, Form

from barnabas import Consumer, TopicPartition

TOLERANCE = 1e-9
READ_TIMEOUT_SECONDS = 30.0

_SCHEMA = pa.schema(
    [(name, pa.string()) for name in [*KEY, "airline"]]
    + [(name, pa.int64()) for name in COUNTS]
    + [(name, pa.float64()) for name in MEASURES]
)


class ReadBackError(Exception):
    """The results could not be read back whole."""


def read_back(bootstrap: str, topic: str, *, is_once: bool, form: Form = AS_JSON) -> pd.DataFrame:
    """The results in the topic `delays`, as readers of committed records see them. `is_once`: none may be
    there twice. Raises: ReadBackError."""
    batches: list[bytes] = []
    with Consumer(
        bootstrap,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    ) as consumer:
        partitions = [TopicPartition(topic, info.partition) for info in consumer.partitions_for(topic)]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            batch = consumer.poll_arrow(timeout=READ_TIMEOUT_SECONDS, headers=False, end_offsets=ends)
            if not len(batch):
                raise ReadBackError(
                    f"topic {topic!r} gave nothing for {READ_TIMEOUT_SECONDS:.0f} s before its end"
                )
            batches.append(b"\n".join(form.lines(topic, batch.column("value")).to_pylist()))
    return results(b"\n".join(batches), is_once=is_once)


def results(lines: bytes, *, is_once: bool) -> pd.DataFrame:
    """JSON lines as a table, ordered by carrier, origin and day, of each the last one: a sink that is
    at-least-once writes a micro-batch again that Spark repeats.

    Raises: ReadBackError when a line is not a result, or with `is_once` when one was written again.
    """
    if lines:
        options = pyarrow.json.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="error")
        try:
            table = pyarrow.json.read_json(BytesIO(lines), parse_options=options)
        except pa.ArrowInvalid as error:
            raise ReadBackError(f"a record is not a result of the pipeline: {error}") from error
    else:
        table = _SCHEMA.empty_table()
    found = table.to_pandas()
    again = found[found.duplicated(KEY)]
    if is_once and len(again):
        raise ReadBackError(f"{_name(next(again.itertuples()))} was written more than once")
    return found.drop_duplicates(KEY, keep="last").sort_values(KEY, ignore_index=True)


def until_last_day(expected: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """What of `expected` must be there when the replay was stopped: the days before the last one found, and
    of that day, which may have been half written, what was found."""
    if found.empty:
        return expected.iloc[:0]
    last_day = found["day"].max()
    on_last_day = expected["day"] == last_day
    keys_found = pd.MultiIndex.from_frame(found[KEY])
    is_found = pd.MultiIndex.from_frame(expected[KEY]).isin(keys_found)
    return expected[(expected["day"] < last_day) | (on_last_day & is_found)]


def differences(expected: pd.DataFrame, found: pd.DataFrame) -> list[str]:
    """One line for each figure that is not the same, and for each row that only one side has."""
    both = expected.merge(found, on=KEY, how="outer", suffixes=("", "_found"), indicator="side")
    lines = [
        f"{_name(row)}: {'missing from the topic' if row.side == 'left_only' else 'not in the files'}"
        for row in both[both["side"] != "both"].itertuples()
    ]
    common = both[both["side"] == "both"]
    for name in ["airline", *COUNTS, *MEASURES]:
        wanted, got = common[name], common[f"{name}_found"]
        same = (wanted - got).abs() <= TOLERANCE if name in MEASURES else wanted == got
        same |= wanted.isna() & got.isna()
        lines += [
            f"{_name(row)}: {name} is {getattr(row, f'{name}_found')}, from the files {getattr(row, name)}"
            for row in common[~same].itertuples()
        ]
    return lines


def _name(row: object) -> str:
    return " ".join(str(getattr(row, column)) for column in KEY)
