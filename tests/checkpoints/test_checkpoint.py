"""What cannot be read as a checkpoint; those of real queries are in tests/spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barnabas.checkpoints.checkpoint import Checkpoint
from barnabas.checkpoints.folders import CheckpointError


def write(folder: Path, batches: dict[int, str], *, committed: int = -1) -> Path:
    for name in ("offsets", "commits"):
        (folder / name).mkdir()
    (folder / "metadata").write_text('{"id":"6b1c"}')
    for batch, offsets in batches.items():
        (folder / "offsets" / str(batch)).write_text(f'v1\n{{"batchTimestampMs":17{batch}}}\n{offsets}')
        if batch <= committed:
            (folder / "commits" / str(batch)).write_text("v1\n{}")
    return folder


def test_a_batch_that_is_not_committed_is_planned_from_the_one_before(tmp_path: Path) -> None:
    found = Checkpoint(write(tmp_path, {7: '{"t":{"0":5}}', 8: '{"t":{"0":9,"1":2}}'}, committed=7))
    assert (found.query_id, found.last_committed, found.last_batch, found.unfinished) == ("6b1c", 7, 8, [8])
    assert found.planned_at_ms == 178
    (source,) = found.sources
    assert (source.position, source.planned) == ({"t": {"0": 5}}, {"t": {"0": 9, "1": 2}})


def test_all_batches_after_the_last_committed_one_are_unfinished(tmp_path: Path) -> None:
    batches = {number: json.dumps({"t": {"0": number}}) for number in range(5)}
    assert Checkpoint(write(tmp_path, batches, committed=2)).unfinished == [3, 4]


def test_a_batch_that_does_not_say_when_it_was_planned_is_read_nevertheless(tmp_path: Path) -> None:
    folder = write(tmp_path, {0: '{"t":{"0":5}}'}, committed=0)
    (folder / "offsets" / "0").write_text('v1\n{}\n{"t":{"0":5}}')
    assert Checkpoint(folder).planned_at_ms is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("metadata", "{}", "does not hold the id of a query"),
        ("offsets/0", "v9\n{}\n{}", "it is of version v9, not v1"),
        ("offsets/0", 'v1\n{}\n"rate"', "no Kafka source"),
    ],
)
def test_what_is_of_another_kind_is_told_as_such(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    folder = write(tmp_path, {0: '{"t":{"0":5}}'}, committed=0)
    (folder / name).write_text(content)
    with pytest.raises(CheckpointError, match=message):
        Checkpoint(folder)


def test_a_folder_that_is_no_checkpoint_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not the checkpoint of a streaming query"):
        Checkpoint(tmp_path)
    with pytest.raises(CheckpointError, match="holds no batch yet"):
        Checkpoint(write(tmp_path, {}))
