"""Columns in which ids of schemas are changed at once, held against records that are changed one by one."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from barnabas.cli.copying.schemas import OnUnframed, SchemaTransfer, SubjectNames
from barnabas.records.texts import SIDES, Side

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
UNKNOWN = 9
Part = bytes | None


class Row(NamedTuple):
    key: Part
    value: Part
    headers: list[tuple[str, Part]]


class ByNumbers(SchemaTransfer):
    """Has other ids for all schemas but one, without a registry."""

    def __init__(self, on_unframed: OnUnframed) -> None:
        registry: Any = None
        super().__init__(registry, registry, SubjectNames(None), sides=SIDES, on_unframed=on_unframed)

    def _swapped(self, prefix: bytes, topic: str, target: str, side: Side) -> bytes | str:
        return swapped(prefix, side)


def swapped(prefix: bytes, side: Side) -> bytes | str:
    if prefix[-1] == UNKNOWN:
        return "is not known"
    return prefix[:-1] + bytes([prefix[-1] + (100 if side == "key" else 200)])


def one(data: Part, side: Side) -> Part | str:
    """The key, the value or the header with another schema; or that there is none."""
    if data is None:
        return None
    for magic, size in ((b"\0", 5), (b"\1", 17)):
        if data.startswith(magic) and len(data) >= size:
            found = swapped(data[:size], side)
            return found if isinstance(found, str) else found + data[size:]
    return "names none"


def one_row(row: Row) -> Row | None:
    """None where it cannot be read."""
    parts: dict[Side, Part] = {"key": row.key, "value": row.value}
    headers = list(row.headers)
    for side in SIDES:
        named = [place for place, (name, _) in enumerate(headers) if name == f"__{side}_schema_id"]
        for place in named:
            name, data = headers[place]
            found = one(data, side)
            if data is None or isinstance(found, str):
                return None
            headers[place] = (name, found)
        if not named:
            found = one(parts[side], side)
            if isinstance(found, str):
                return None
            parts[side] = found
    return Row(parts["key"], parts["value"], headers)


def some_data(chance: random.Random) -> Part:
    number = chance.choice([1, 2, 3, UNKNOWN])
    return chance.choice(
        [
            None,
            b"",
            b"\0",
            b"\0\0\0\0" + bytes([number]),
            b"\0\0\0\0" + bytes([number]) + b"some data",
            b"\1" + bytes(15) + bytes([number]) + b"\0" * chance.choice([0, 2]),
            b"\1\0\0\0",
            b"text",
        ]
    )


def some_rows(chance: random.Random) -> list[Row]:
    names = ("h", "__key_schema_id", "__value_schema_id")
    return [
        Row(
            some_data(chance),
            some_data(chance),
            [(chance.choice(names), some_data(chance)) for _ in range(chance.choice([0, 0, 0, 1, 3]))],
        )
        for _ in range(chance.randint(0, 12))
    ]


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    headers = [[{"key": name, "value": value} for name, value in row.headers] for row in rows]
    return pa.RecordBatch.from_pydict(
        {
            "topic": pa.array(["t"] * len(rows), pa.string()),
            "partition": pa.array([0] * len(rows), pa.int32()),
            "offset": pa.array(range(len(rows)), pa.int64()),
            "key": pa.array([row.key for row in rows], pa.binary()),
            "value": pa.array([row.value for row in rows], pa.binary()),
            "headers": pa.array(headers, HEADERS),
        }
    )


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    return [
        Row(row["key"], row["value"], [(each["key"], each["value"]) for each in row["headers"] or ()])
        for row in batch.to_pylist()
    ]


@pytest.mark.parametrize("seed", range(100))
def test_all_rows_become_what_each_would(seed: int) -> None:
    chance = random.Random(seed)
    rows = some_rows(chance)
    begin = chance.randint(0, len(rows))
    part = rows[begin : chance.randint(begin, len(rows))]
    batch = batch_of(rows).slice(begin, len(part))
    kept = ByNumbers("keep").rewritten(batch, "t", "t")
    assert rows_of(kept) == [one_row(row) or row for row in part]
    left = ByNumbers("skip").rewritten(batch, "t", "t")
    assert rows_of(left) == [found for row in part if (found := one_row(row)) is not None]
