"""Rows of CSV and Parquet files as records."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Here = Callable[..., Any]
Made = Callable[..., str]
READ = ("--from-beginning", "--until-end", "--json")


def consumed(here: Here, name: str, *options: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in here("consume", name, *READ, *options).stdout.splitlines()]
    for each in found:
        del each["topic"]
    return found


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_consume_wrote_to_a_file_comes_back_the_same(
    here: Here, made: Made, tmp_path: Path, suffix: str
) -> None:
    name, copy, path = made(2), made(2), tmp_path / f"kept{suffix}"
    lines = [
        {"key": "a", "value": "text, with a comma", "headers": [["h", "1"]], "partition": 0, "timestamp": 1},
        {"key": "b", "value": '{"id": 1}', "headers": [], "partition": 1, "timestamp": 2},
    ]
    here("produce", name, "-J", input="".join(f"{json.dumps(line)}\n" for line in lines))
    here("consume", name, "--from-beginning", "--until-end", "--output", str(path))
    assert here("produce", copy, "--rows", "-f", str(path)).stderr == f"2 records sent to {copy}\n"
    assert sorted(consumed(here, copy), key=str) == sorted(consumed(here, name), key=str)


def test_a_row_without_a_value_is_a_value_of_json_by_its_types(
    here: Here, made: Made, tmp_path: Path
) -> None:
    name, path = made(), tmp_path / "orders.parquet"
    table = pa.table(
        {
            "id": [1, 2],
            "price": pa.array([decimal.Decimal("12.50"), None], pa.decimal128(10, 2)),
            "at": pa.array([datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), None]),
            "tags": [["x"], []],
        }
    )
    pq.write_table(table, path)
    here("produce", name, "--rows", "-f", str(path), "--key-column", "id", "-H", "from=file")
    first, second = consumed(here, name, "--value-format", "auto")
    assert (first["key"], first["headers"]) == ("1", [["from", "file"]])
    assert first["value"] == {"id": 1, "price": 12.5, "at": "2026-01-01T00:00:00.000Z", "tags": ["x"]}
    assert (second["key"], second["value"]["id"]) == ("2", 2)


def test_rows_of_csv_have_the_types_that_they_look_like(here: Here, made: Made, tmp_path: Path) -> None:
    name, path = made(), tmp_path / "orders.csv"
    path.write_text("id,who,paid\n1,ann,true\n2,bob,false\n")
    here("produce", name, "--rows", "-f", str(path), "--key-column", "who")
    assert [(each["key"], json.loads(each["value"])) for each in consumed(here, name)] == [
        ("ann", {"id": 1, "who": "ann", "paid": True}),
        ("bob", {"id": 2, "who": "bob", "paid": False}),
    ]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--rows",), "--rows needs --file"),
        (("--rows", "-f", "{folder}/rows.txt"), "ends in none of .csv, .parquet"),
        (("--rows", "-f", "{folder}/bad.parquet"), "cannot be read"),
        (("--rows", "-f", "{folder}/good.csv", "--key-column", "x"), "'x' is no column of"),
        (("--rows", "-J"), "--rows excludes --json-lines"),
        (("--key-column", "x"), "--key-column is for --rows"),
    ],
)
def test_what_are_no_rows_is_refused_and_nothing_is_sent(
    here: Here, made: Made, tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    (tmp_path / "rows.txt").write_text("a\n")
    (tmp_path / "bad.parquet").write_text("no Parquet")
    (tmp_path / "good.csv").write_text("a\n1\n")
    name = made()
    done = here("produce", name, *(each.format(folder=tmp_path) for each in options), input="", ok=False)
    assert done.returncode == 1
    assert why in done.stderr
    assert consumed(here, name) == []
