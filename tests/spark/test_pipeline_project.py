"""The project that `barnabas pipeline init` makes, run by Spark's own `spark-pipelines`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.conftest import Kafka, Message, committed

RUN_TIMEOUT_SECONDS = 300
SPARK_PIPELINES = Path(sys.executable).with_name("spark-pipelines")


def run(kafka: Kafka, folder: Path, *command: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_SECONDS,
        env={**os.environ, **environment, "BARNABAS_BOOTSTRAP": kafka.bootstrap},
        check=False,
    )
    assert (done.returncode == 0) is ok, done.stdout + done.stderr
    return done


def barnabas(kafka: Kafka, folder: Path, *arguments: str, ok: bool = True) -> str:
    done = run(kafka, folder, sys.executable, "-m", "barnabas.cli", "pipeline", *arguments, ok=ok)
    return done.stdout + done.stderr


@pytest.mark.timeout(3 * RUN_TIMEOUT_SECONDS)
def test_the_project_copies_what_is_new_in_each_run(
    real_kafka: Kafka, tmp_path: Path, connect_url: str
) -> None:
    source, sink = real_kafka.create(2), real_kafka.create()
    project = tmp_path / "project"
    topics = ("--input", source, "--output", sink)
    barnabas(real_kafka, tmp_path, "init", "project", *topics, "--delivery", "exactly-once")
    for batch in (0, 1):
        real_kafka.write(source, [Message(b"text %d" % batch, b"key", partition=1)])
        run(real_kafka, project, str(SPARK_PIPELINES), "run", "--remote", connect_url)
    assert [(each.key, json.loads(each.value or b"")) for each in real_kafka.read(sink, 2)] == [
        (b"key", {"text": "text 0", "partition": 1, "offset": 0}),
        (b"key", {"text": "text 1", "partition": 1, "offset": 1}),
    ]
    checkpoint = "pipeline-storage/_checkpoints/output/to_output/0"
    assert checkpoint in (project / "README.md").read_text()
    (query,) = json.loads(barnabas(real_kafka, project, "status", "--checkpoint", checkpoint, "--json"))[
        "queries"
    ]
    assert (query["batch_id"], query["lag"]) == (1, 0)

    # Once more, but for the first record and for what came since: the project itself knows nothing of it.
    again = real_kafka.create()
    real_kafka.write(source, [Message(b"later", partition=1)])
    edges = [json.dumps({source: {"0": 0, "1": offset}}) for offset in (1, 2)]
    arguments = ["--from", edges[0], "--until", edges[1], "--set", f"spark.barnabas.output={again}"]
    replay = ["replay", *arguments, "--remote", connect_url, "--storage", (tmp_path / "again").as_uri()]
    told = barnabas(real_kafka, project, *replay)
    assert f"if it is broken off, this goes on:\n  barnabas pipeline replay {project}" in told
    assert [json.loads(each)["text"] for each in committed(real_kafka, again)] == ["text 1"]
    run(real_kafka, project, str(SPARK_PIPELINES), "run", "--remote", connect_url)
    assert [json.loads(each)["text"] for each in committed(real_kafka, sink)] == ["later", "text 0", "text 1"]


def test_a_project_can_make_its_topics(real_kafka: Kafka, tmp_path: Path) -> None:
    source = real_kafka.create()
    sink = f"{source}-copy"
    topics = ("--input", source, "--output", sink)
    told = barnabas(real_kafka, tmp_path, "init", "project", *topics, "--create-topics")
    assert f"created topic {sink}" in told
    assert f"created topic {source}\n" not in told
    assert real_kafka.offsets(sink) == [(0, 0)]


def test_a_folder_with_something_in_it_is_left_alone(real_kafka: Kafka, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "notes.txt").write_text("mine")
    assert "is not an empty folder" in barnabas(real_kafka, tmp_path, "init", "project", ok=False)
    assert [each.name for each in (tmp_path / "project").iterdir()] == ["notes.txt"]


@pytest.mark.chaos
def test_a_replay_is_of_a_project_and_keeps_its_own_checkpoints(real_kafka: Kafka, tmp_path: Path) -> None:
    told = barnabas(real_kafka, tmp_path, "replay", str(tmp_path), ok=False)
    assert f"{tmp_path} has no spark-pipeline.yml" in told
    barnabas(real_kafka, tmp_path, "init", "project")
    storage = (tmp_path / "project" / "pipeline-storage").as_uri()
    told = barnabas(real_kafka, tmp_path, "replay", "project", "--storage", storage, ok=False)
    assert "where the project itself keeps its checkpoints" in told


def test_a_pipeline_does_not_read_what_it_writes(real_kafka: Kafka, tmp_path: Path) -> None:
    same = ("--input", "flights", "--output", "flights")
    assert "would read what it writes" in barnabas(real_kafka, tmp_path, "init", "project", *same, ok=False)
    assert not (tmp_path / "project").exists()
