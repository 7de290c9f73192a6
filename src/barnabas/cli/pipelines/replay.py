"""`barnabas pipeline replay`: a project's queries again, over a range that has an end.

PySpark's own client of declarative pipelines runs the project, in this process. What its sources read, where
its checkpoints are and what its sinks' transactions are called is put in on the way; the project stays as it
is.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from barnabas.cli.options import UsageError, pairs
from barnabas.cli.output import note
from barnabas.errors import BarnabasError, MissingExtraError
from barnabas.records.times import timestamp_ms

FORMAT = "barnabas"
# What says where a source begins and ends: the project's own gives way.
_EDGES = tuple(
    f"{edge}{name}"
    for edge in ("starting", "ending")
    for name in ("timestamp", "offsets", "offsetsbytimestamp")
)
_LOCAL = "local[*]"


class ReplayError(BarnabasError):
    """Spark has not run the project."""


def replay(
    project: Annotated[
        Path, typer.Argument(exists=True, help="The project's folder, or its spark-pipeline.yml.")
    ] = Path(),
    start: Annotated[
        str,
        typer.Option(
            "--from", metavar="TIME|OFFSETS", help="2h, 2026-01-31T12:00, earliest, or JSON by partition."
        ),
    ] = "earliest",
    until: Annotated[
        str, typer.Option("--until", metavar="TIME|OFFSETS", help="The same, exclusive; now if left out.")
    ] = "0s",
    storage: Annotated[
        str | None,
        typer.Option(metavar="URI", help="Checkpoints of the replay: name those of one that was broken off."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Put this into the project's configuration."),
    ] = None,
    remote: Annotated[
        str, typer.Option(metavar="URL", help="A server of Spark Connect; by default Spark runs here.")
    ] = _LOCAL,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the project, read nothing.")] = False,
) -> None:
    """Have a project of declarative pipelines read a range of its topics again.

    Checkpoints are of its own, so that the project goes on later as if nothing had been; transactions of
    sinks too. What flows write goes where it always goes, unless --set names other topics.
    """
    options = {**_edge("starting", start, "--from"), **_edge("ending", until, "--until")}
    specification = _specification(project)
    try:
        from pyspark.errors import PySparkException
        from pyspark.pipelines import cli
    except ImportError as error:
        raise MissingExtraError("barnabas pipeline replay", "pipelines") from error
    try:
        found = cli.load_pipeline_spec(specification)
        storage = _checked_storage(storage, found.storage)
        # It cannot be made again with other values: it takes none of its own patterns of files.
        object.__setattr__(found, "storage", storage)
        object.__setattr__(found, "configuration", {**found.configuration, **pairs(setting, "--set")})
        note(_how_to_go_on(specification, options, storage, setting, remote))
        os.environ |= {"SPARK_REMOTE": remote, "SPARK_CONNECT_MODE_ENABLED": "1"}
        with _replaced(cli, "load_pipeline_spec", lambda _: found), _replayed(options, storage):  # pyright: ignore[reportUnknownLambdaType]
            cli.run(specification, full_refresh=[], full_refresh_all=False, refresh=[], dry=dry_run)
    except PySparkException as error:
        raise ReplayError(str(error)) from error


def _checked_storage(given: str | None, of_project: str) -> str:
    """Raises: UsageError."""
    if given is None:
        return f"{of_project.rstrip('/')}-replay-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    if given.rstrip("/") == of_project.rstrip("/"):
        raise UsageError(f"--storage is {given!r}, where the project itself keeps its checkpoints")
    return given


def _edge(edge: str, text: str, option: str) -> dict[str, str]:
    """As options of a source."""
    if text.strip().lower() in ("earliest", "latest") or text.strip().startswith("{"):
        return {f"{edge}Offsets": text.strip()}
    return {f"{edge}Timestamp": str(timestamp_ms(text, option))}


def _specification(project: Path) -> Path:
    """Raises: UsageError."""
    if project.is_file():
        return project.resolve()
    found = [
        path for name in ("spark-pipeline.yml", "spark-pipeline.yaml") if (path := project / name).is_file()
    ]
    if len(found) != 1:
        raise UsageError(
            f"{project} has {len(found) or 'no'} spark-pipeline.yml or .yaml: name the one to replay"
        )
    return found[0].resolve()


def _how_to_go_on(
    specification: Path, options: Mapping[str, str], storage: str, setting: list[str] | None, remote: str
) -> str:
    """The command by which this replay goes on, whenever it is broken off: with times that do not move."""
    edges = {name.partition("ing")[0]: value for name, value in options.items()}
    parts = ["barnabas", "pipeline", "replay", str(specification)]
    parts += ["--from", edges["start"], "--until", edges["end"], "--storage", storage]
    parts += [part for each in setting or () for part in ("--set", each)]
    parts += [] if remote == _LOCAL else ["--remote", remote]
    return f"if it is broken off, this goes on:\n  {shlex.join(parts)}"


@contextmanager
def _replayed(options: Mapping[str, str], storage: str) -> Generator[None]:
    """Within it, whatever the project reads and writes by our format is the replay's."""
    from pyspark.pipelines.output import Output, Sink
    from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
    from pyspark.sql.connect.streaming.readwriter import DataStreamReader

    load, register = DataStreamReader.load, SparkConnectGraphElementRegistry.register_output
    suffix = hashlib.sha256(storage.encode()).hexdigest()[:12]

    def bounded(
        self: Any, path: Any = None, format: str | None = None, schema: Any = None, **given: Any
    ) -> Any:
        if (format or self._format) != FORMAT:
            return load(self, path, format, schema, **given)
        self.options(**given)
        edges = (*_EDGES, "startingoffsetsbytimestampstrategy", "boundedstream")
        self._options = {name: value for name, value in self._options.items() if name.lower() not in edges}
        self.options(**options, boundedStream="true", startingOffsetsByTimestampStrategy="latest")
        return load(self, path, format, schema)

    def registered(self: Any, output: Output) -> None:
        if isinstance(output, Sink) and output.format == FORMAT:
            output = dataclasses.replace(output, options=_of_its_own(output.options, suffix))
        register(self, output)

    with (
        _replaced(DataStreamReader, "load", bounded),
        _replaced(SparkConnectGraphElementRegistry, "register_output", registered),
    ):
        yield


@contextmanager
def _replaced(owner: object, name: str, value: Any) -> Generator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _of_its_own(options: Mapping[str, str], suffix: str) -> dict[str, str]:
    """A sink's options with another name for its transactions: under the project's, batches that it has
    committed already would be left out."""
    name = "transactionalIdPrefix"
    return {
        key: f"{value}-replay-{suffix}" if key.lower() == name.lower() else value
        for key, value in options.items()
    }
