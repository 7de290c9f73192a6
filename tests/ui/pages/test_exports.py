"""Downloads of what a search finds."""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from barnabas import Producer
from barnabas.testing import ApacheKafka, EmbeddedBroker
from barnabas.ui.records import exporting

OpenPage = Callable[..., TestClient]
AnyBroker = ApacheKafka | EmbeddedBroker


@pytest.fixture
def people(topic: Callable[[], str], shown_broker: AnyBroker) -> str:
    """Three records of JSON with a name, a number and a header."""
    name = topic()
    with Producer(shown_broker.bootstrap) as producer:
        for number in range(3):
            producer.send(
                name,
                json.dumps({"name": "Ada", "n": number}).encode(),
                key=f"k{number}".encode(),
                headers=[("name", b"Ada"), ("trace", b"t-1")],
                timestamp=1_700_000_000_000,
            )
        producer.flush()
    return name


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files are written before they are sent."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_lines_of_json_have_what_the_search_finds(open_page: OpenPage, people: str, own_folder: Path) -> None:
    asked = {"cel": "value.n > 0", "kind": "jsonl"}
    answer = open_page().get(f"/topics/{people}/export", params=asked)
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["value"] for line in lines] == [{"name": "Ada", "n": 1}, {"name": "Ada", "n": 2}]
    assert lines[0]["headers"] == [["name", "Ada"], ["trace", "t-1"]]
    assert f'filename="{people}.jsonl"' in answer.headers["content-disposition"]
    assert answer.headers["x-records"] == "2"
    assert list(own_folder.iterdir()) == []


def test_a_table_has_a_row_for_each_record(open_page: OpenPage, people: str) -> None:
    text = open_page().get(f"/topics/{people}/export", params={"kind": "csv"}).text
    assert text.splitlines()[0] == "topic,partition,offset,timestamp,key,value,headers"
    assert len(text.splitlines()) == 4


def test_a_parquet_file_has_columns_of_the_values(open_page: OpenPage, people: str) -> None:
    content = open_page().get(f"/topics/{people}/export", params={"kind": "parquet"}).content
    table = pq.read_table(io.BytesIO(content))
    assert table["value"].to_pylist() == [{"name": "Ada", "n": number} for number in range(3)]
    assert table["key"].to_pylist() == ["k0", "k1", "k2"]
    assert table["offset"].to_pylist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_what_is_masked_is_in_no_file(open_page: OpenPage, people: str, kind: str) -> None:
    page = open_page(masked=("name",))
    content = page.get(f"/topics/{people}/export", params={"kind": kind}).content
    if kind == "parquet":
        content = str(pq.read_table(io.BytesIO(content)).to_pylist()).encode()
    assert b"k1" in content
    assert b"Ada" not in content


def test_a_file_that_is_not_whole_says_so_in_its_name(
    open_page: OpenPage, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "MOST_EXPORTED", 2)
    answer = open_page().get(f"/topics/{people}/export", params={"kind": "jsonl"})
    assert len(answer.text.splitlines()) == 2
    assert f'filename="{people}-incomplete.jsonl"' in answer.headers["content-disposition"]


@pytest.mark.parametrize(
    ("asked", "why"), [({"kind": "xml"}, "are exported as jsonl, csv, parquet"), ({"cel": "1 +"}, "in CEL")]
)
def test_what_cannot_be_exported_is_told(
    open_page: OpenPage, people: str, own_folder: Path, asked: dict[str, str], why: str
) -> None:
    answer = open_page().get(f"/topics/{people}/export", params=asked)
    assert answer.status_code == 400
    assert why in answer.text
    assert list(own_folder.iterdir()) == []
