"""What `barnabas pipeline plan` shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Cli

Created = Callable[..., str]


@pytest.fixture
def filled(cli: Cli, created: Created) -> str:
    """Two partitions with 30 records and 3."""
    name = created(partitions=2)
    for partition, count in ((0, 30), (1, 3)):
        lines = "".join(f"{number}\n" for number in range(count))
        cli("produce", name, "--partition", str(partition), input=lines)
    return name


def test_a_batch_is_planned_by_task_with_its_skew(cli: Cli, filled: str) -> None:
    found = json.loads(cli("pipeline", "plan", f"subscribe={filled}", "--json").stdout)
    ranges = [(r["task"], r["partition"], r["start"], r["end"], r["leader"]) for r in found["ranges"]]
    assert ranges == [(0, 0, 0, 30, 1), (1, 1, 0, 3, 1)]
    assert (found["mode"], found["tasks"], found["offsets"]) == ("batch", 2, 33)
    assert found["skew"] == round(30 / 16.5, 3)
    assert found["bytes"] == sum(each["bytes"] for each in found["ranges"]) >= 33
    cut = json.loads(
        cli("pipeline", "plan", f"subscribe={filled}", "maxRecordsPerPartition=10", "--json").stdout
    )
    assert cut["tasks"] == 4


def test_people_get_a_table_and_a_summary(cli: Cli, filled: str) -> None:
    done = cli("pipeline", "plan", f"subscribe={filled}", "maxPartitions=1")
    assert done.stdout.split()[:3] == ["TASK", "TOPIC", "PARTITION"]
    assert len(done.stdout.splitlines()) == 3
    assert "would read 33 offsets of 2 partitions" in done.stderr
    assert "in 1 task; the largest has 33 offsets, 1.0 times the mean" in done.stderr
    only = cli("pipeline", "plan", f"subscribe={filled}", "--summary")
    assert only.stdout == ""
    nothing = cli("pipeline", "plan", f"subscribe={filled}", "--stream")
    assert "the next micro-batch would read nothing" in nothing.stderr


def test_a_micro_batch_goes_on_where_a_checkpoint_stands(cli: Cli, filled: str, tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "commits").mkdir()
    (tmp_path / "metadata").write_text('{"id":"6b1c"}')
    offsets = json.dumps({filled: {"0": 25, "1": 3}})
    (tmp_path / "offsets" / "4").write_text(f"v1\n{{}}\n{offsets}")
    (tmp_path / "commits" / "4").write_text("v1\n{}")
    arguments = ("pipeline", "plan", f"subscribe={filled}", "maxOffsetsPerTrigger=4", "--checkpoint")
    for place in (str(tmp_path), tmp_path.as_uri()):
        found = json.loads(cli(*arguments, place, "--json").stdout)
        assert [(r["partition"], r["start"], r["end"]) for r in found["ranges"]] == [(0, 25, 29)]
    wrong = cli(*arguments, str(tmp_path), "--source", "3", ok=False)
    assert wrong.returncode != 0
    assert "has the Kafka sources 0" in wrong.stderr


def test_what_is_wrong_with_an_option_is_one_line(cli: Cli) -> None:
    done = cli("pipeline", "plan", "subscribe=a", "maxPartition=1", ok=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "maxPartition" in done.stderr
