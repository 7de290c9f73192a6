"""`barnabas pipeline plan`: what a query of Spark's would read from Kafka, without running it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from barnabas.checkpoints.checkpoint import Checkpoint
from barnabas.checkpoints.folders import folder_at
from barnabas.cli.options import AsJson, Bootstrap, UsageError, pairs
from barnabas.cli.output import note, plural, print_json, print_table
from barnabas.errors import MissingExtraError

if TYPE_CHECKING:
    from barnabas.cli.json_shapes.services import PlannedRangeJson, ReadPlanJson
    from barnabas.spark.reading.read_plan import ReadPlan

SERVERS = "kafka.bootstrap.servers"


def plan(
    options: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUE...",
            help="The options of the query's source, such as subscribe=flights maxOffsetsPerTrigger=100000.",
        ),
    ],
    bootstrap: Bootstrap = None,
    is_stream: Annotated[
        bool, typer.Option("--stream", help="The first micro-batch of a new streaming query.")
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="The next micro-batch of the query that has this checkpoint: a path, or an address such as "
            "s3://bucket/delays.",
        ),
    ] = None,
    source: Annotated[
        int | None,
        typer.Option(min=0, help="Which of the checkpoint's sources, by number, where it has several."),
    ] = None,
    only_summary: Annotated[
        bool, typer.Option("--summary", help="Print the summary alone, without the table.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show partitions, ranges of offsets, bytes and tasks of a query, and how even they are.

    Only offsets and the sizes of logs are read, from which bytes are estimated; where brokers tell no sizes,
    a few records are read, too.
    """
    given = pairs(options, "option")
    if not any(name.lower() == SERVERS for name in given):
        given[SERVERS] = bootstrap or "localhost:9092"
    found = _planned(given, is_stream, None if checkpoint is None else _position(checkpoint, source))
    if as_json:
        print_json(_document(found))
        return
    if not only_summary:
        print_table(
            ("TASK", "TOPIC", "PARTITION", "START", "END", "OFFSETS", "BYTES", "LEADER"),
            (dataclasses.astuple(each) for each in found.ranges),
        )
    note(_summary(found))


def _planned(given: dict[str, str], is_stream: bool, position: dict[str, Any] | None) -> ReadPlan:
    try:
        # Here and not above, since no other command should need PySpark.
        from barnabas.spark.options import source_options
        from barnabas.spark.reading.read_plan import plan_batch, plan_micro_batch
    except ModuleNotFoundError as error:
        raise MissingExtraError("barnabas pipeline plan", "spark") from error
    options = source_options(given)
    if is_stream or position is not None:
        return plan_micro_batch(options, position)
    return plan_batch(options)


def _position(place: str, number: int | None) -> dict[str, Any]:
    """Where the query stands. Raises: CheckpointError, MissingExtraError, UsageError."""
    sources = {source.number: source for source in Checkpoint(folder_at(place)).sources}
    if number is None and len(sources) > 1:
        raise UsageError(f"{place} has the Kafka sources {_listed(sources)}: say which with --source")
    wanted = next(iter(sources)) if number is None else number
    if wanted not in sources:
        raise UsageError(f"--source {wanted}: {place} has the Kafka sources {_listed(sources)}")
    return dict(sources[wanted].position)


def _listed(sources: dict[int, Any]) -> str:
    return ", ".join(map(str, sorted(sources)))


def _document(found: ReadPlan) -> ReadPlanJson:
    sizes = found.task_sizes
    return {
        "mode": found.mode,
        "tasks": len(sizes),
        "partitions": len({(each.topic, each.partition) for each in found.ranges}),
        "offsets": found.offsets,
        "bytes": found.bytes,
        "largest_task_offsets": max(sizes, default=0),
        "skew": round(found.skew, 3),
        "ranges": [cast("PlannedRangeJson", dataclasses.asdict(each)) for each in found.ranges],
    }


def _summary(found: ReadPlan) -> str:
    what = {"batch": "the batch query", "stream": "the next micro-batch"}[found.mode]
    if not found.ranges:
        return f"{what} would read nothing"
    partitions = len({(each.topic, each.partition) for each in found.ranges})
    return (
        f"{what} would read {plural(found.offsets, 'offset')} of {plural(partitions, 'partition')}, "
        f"about {found.bytes:,} bytes, in {plural(len(found.task_sizes), 'task')}; the largest has "
        f"{max(found.task_sizes):,} offsets, {found.skew:.1f} times the mean"
    )
