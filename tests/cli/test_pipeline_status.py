"""`barnabas pipeline status` without Spark: checkpoints as files, wherever they are."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from barnabas import Producer
from barnabas.testing import EmbeddedBroker

from .conftest import Cli

WRITTEN = "2026-01-31T12:00:00.250+00:00"


def write_checkpoint(folder: Path, topic: str) -> None:
    """Of a query that has read 2 records, in a batch that is done."""
    for log, content in (("offsets", f"v1\n{{}}\n{json.dumps({topic: {'0': 2}})}"), ("commits", "v1\n{}")):
        (folder / log).mkdir()
        (folder / log / "3").write_text(content)
        os.utime(folder / log / "3", ns=(0, 1_769_860_800_250_000_000))
    (folder / "metadata").write_text('{"id": "6b1c"}')


def test_a_checkpoint_is_read_at_a_path_and_at_an_address(
    here: Cli, made: Callable[..., str], embedded_broker: EmbeddedBroker, tmp_path: Path
) -> None:
    topic = made()
    write_checkpoint(tmp_path, topic)
    with Producer(embedded_broker.bootstrap) as producer:
        for value in (b"a", b"b", b"c"):
            producer.send(topic, value)
    for place in (str(tmp_path), tmp_path.as_uri()):
        shown = here("pipeline", "status", "--checkpoint", place, "--json")
        (query,) = json.loads(shown.stdout)["queries"]
        assert (query["from"], query["id"], query["batch_id"]) == (place, "6b1c", 3)
        assert (query["is_batch_done"], query["lag"]) == (True, 1)
        assert query["batch_time"] == WRITTEN
        assert f"batch 3 ({WRITTEN}), lag 1" in here("pipeline", "status", "--checkpoint", place).stdout


def test_an_address_of_no_known_file_system_is_one_line(here: Cli) -> None:
    done = here("pipeline", "status", "--checkpoint", "carrier://pigeon", ok=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: carrier://pigeon is on no file system that pyarrow reads")
    assert len(done.stderr.splitlines()) == 1
