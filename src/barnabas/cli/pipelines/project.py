"""`barnabas pipeline init`: a project for `spark-pipelines run`, with topics as source and sink.

Owns what is filled in; the project's files are in `pipeline_project/`.
"""

from __future__ import annotations

import json
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import barnabas
from barnabas import NewTopic
from barnabas.broker_errors import TopicAlreadyExistsError
from barnabas.cli.options import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    CommandConfig,
    Settings,
    UsageError,
    client_settings,
)
from barnabas.cli.output import note
from barnabas.client.admin.types import BROKER_DEFAULT
from barnabas.settings.table import AdminConfig

STORAGE = "pipeline-storage"
# Where Spark keeps how far the flow to the sink is, below the storage.
SINK_CHECKPOINT = "_checkpoints/output/to_output/0"
# So called here, since these files are no part of this package; `spark` comes from nowhere in them.
PYTHON_SUFFIX = ".py.txt"
FILLED_IN = ("spark-pipeline.yml", "README.md")


def init(
    directory: Annotated[Path, typer.Argument(help="The project's folder; it is made, or has to be empty.")],
    input_topic: Annotated[
        str, typer.Option("--input", "-i", metavar="TOPIC", help="The topic to read.")
    ] = "events",
    output_topic: Annotated[
        str, typer.Option("--output", "-o", metavar="TOPIC", help="The topic to write to.")
    ] = "events-as-json",
    delivery: Annotated[
        Literal["at-least-once", "exactly-once"],
        typer.Option("--delivery", help="exactly-once needs brokers with transactions."),
    ] = "at-least-once",
    create_topics: Annotated[
        bool, typer.Option("--create-topics", help="Create the topics that are not there.")
    ] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Make a project that `spark-pipelines run` takes: from one topic to another."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory} is there already and is not an empty folder")
    if input_topic == output_topic:
        raise UsageError(
            f"--input and --output are both {input_topic!r}: the pipeline would read what it writes"
        )
    root = directory.resolve()
    servers = bootstrap or DEFAULT_BOOTSTRAP
    values = {
        "name": root.name,
        "storage": json.dumps((root / STORAGE).as_uri()),
        "bootstrap": servers,
        "input": input_topic,
        "output": output_topic,
        "delivery": delivery,
        "checkpoint": f"{STORAGE}/{SINK_CHECKPOINT}",
    }
    if create_topics:
        _create_topics(
            [input_topic, output_topic], client_settings(AdminConfig, bootstrap, command_config, setting)
        )
    _copy(resources.files("barnabas.cli.pipelines") / "pipeline_project", root, values)
    note(f"made {directory}: cd {directory} && spark-pipelines run")
    note("it needs the extra pipelines (pip install 'barnabas[pipelines]') and Java; README.md has more")


def _create_topics(topics: list[str], settings: dict[str, Any]) -> None:
    with barnabas.Admin(**settings) as admin:
        for topic in topics:
            try:
                admin.create_topics([NewTopic(topic, BROKER_DEFAULT, BROKER_DEFAULT)])
            except TopicAlreadyExistsError:
                continue
            note(f"created topic {topic}")


def _copy(source: Traversable, target: Path, values: dict[str, str]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if entry.is_dir():
            _copy(entry, target / entry.name, values)
            continue
        text = entry.read_text(encoding="utf-8")
        name = entry.name.replace(PYTHON_SUFFIX, ".py")
        (target / name).write_text(text.format(**values) if name in FILLED_IN else text, encoding="utf-8")
