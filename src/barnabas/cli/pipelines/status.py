"""`barnabas pipeline status`: how far streaming queries are, running or not, against the ends of topics.

Reads what a `PipelineListener` serves, checkpoints and consumer groups; needs no Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import barnabas
from barnabas import TopicPartition
from barnabas.checkpoints.checkpoint import Checkpoint
from barnabas.checkpoints.folders import folder_at, written_at
from barnabas.cli.admin.common import ends_of
from barnabas.cli.options import (
    AsJson,
    Bootstrap,
    CommandConfig,
    Settings,
    UsageError,
    client_settings,
)
from barnabas.cli.output import note, print_json, print_table
from barnabas.errors import KafkaConnectionError
from barnabas.http.fetching import fetch
from barnabas.http.messages import HttpRequest, NoAnswerError
from barnabas.settings.table import AdminConfig
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Admin
    from barnabas.cli.json_shapes.services import QueryJson

LISTENER_TIMEOUT_SECONDS = 5.0
LONGEST_STATUS_BYTES = 64 << 20
PAGE = "/status"

State = Literal["running", "ended", "failed", "down", "unknown"]


@frozen
class PartitionPosition:
    """How far a query is in one partition. Rates are known of a query that runs and is listened to."""

    source: int | None
    topic: str
    partition: int
    position: int
    rows_per_second: float | None = None
    bytes_per_second: float | None = None
    end: int | None = None

    @property
    def lag(self) -> int | None:
        return None if self.end is None else max(self.end - self.position, 0)


@frozen
class Query:
    """What one of the places that were asked says. `origin` names it; `batch_time` is when the last batch
    began, where a listener says so, and otherwise when it was done. `is_batch_done`: not, if the batch is
    under way, or was when the query went down."""

    origin: str
    name: str | None
    query_id: str | None
    state: State
    partitions: tuple[PartitionPosition, ...]
    error: str | None = None
    batch_id: int | None = None
    batch_time: str | None = None
    is_batch_done: bool = True


def status(
    listener: Annotated[
        str | None,
        typer.Option(
            "--listener",
            "-l",
            envvar="BARNABAS_LISTENER",
            metavar="URL",
            help="The URL of a PipelineListener, such as http://localhost:9464: all of its queries.",
        ),
    ] = None,
    checkpoint: Annotated[
        list[str] | None,
        typer.Option(
            "--checkpoint",
            "-C",
            metavar="FOLDER",
            help="A query's checkpoint, whether it runs or not: a path, or an address such as "
            "s3://bucket/delays (repeatable).",
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group", "-g", metavar="GROUP", help="A group that commitOffsetsToGroup names (repeatable)."
        ),
    ] = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print how far streaming queries are in each partition, and what there is left to read.

    Takes any of --listener, --checkpoint and --group. Lag is against the brokers' end offsets of now.
    """
    if listener is None and not checkpoint and not group:
        raise UsageError("whose status? Give --listener URL, --checkpoint FOLDER or --group GROUP")
    is_only_one = not checkpoint and not group
    listened = [] if listener is None else _listened(listener, is_required=is_only_one)
    queries = [*listened] if listened is not None else []
    known = {query.query_id for query in queries}
    for place in checkpoint or ():
        found = _of_checkpoint(place, "unknown" if listener is None else "down")
        if found.query_id not in known:
            queries.append(found)
    settings = client_settings(AdminConfig, bootstrap, command_config, setting)
    with barnabas.Admin(**settings) as admin:
        queries += [_of_group(admin, name) for name in group or ()]
        queries = _with_ends(admin, queries)
    if as_json:
        print_json({"queries": [_as_json(query) for query in queries]})
        return
    for query in queries:
        _print(query)
    if not queries:
        note(f"{listener} knows of no query yet")


def _listened(url: str, *, is_required: bool) -> list[Query] | None:
    """What a listener says. Raises: KafkaConnectionError if nobody answers and nothing else was asked for."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"--listener {url!r} is no address such as http://localhost:9464")
    base = url.rstrip("/").removesuffix(PAGE).removesuffix("/metrics")
    request = HttpRequest(base + PAGE, {})
    try:
        answer = fetch(
            request,
            timeout_seconds=LISTENER_TIMEOUT_SECONDS,
            follows_redirects=True,
            longest_answer_bytes=LONGEST_STATUS_BYTES,
        )
    except NoAnswerError as error:
        message = f"{base} does not answer ({error}): the driver of its queries is down, or is elsewhere"
        if is_required:
            raise KafkaConnectionError(f"{message}; --checkpoint shows how far a query was") from None
        note(message)
        return None
    if not answer.is_success:
        raise UsageError(f"{base} is not a PipelineListener: it answers {answer.status} to {PAGE}")
    try:
        found: list[dict[str, Any]] = json.loads(answer.body)["queries"]
    except (ValueError, KeyError, TypeError):
        raise UsageError(
            f"{base} is not a PipelineListener: its answer to {PAGE} cannot be understood"
        ) from None
    return [_of_listener(base, query) for query in found]


def _of_listener(url: str, query: Mapping[str, Any]) -> Query:
    ended: State = "failed" if query["error"] else "ended"
    is_running = query["is_running"]
    return Query(
        origin=url,
        name=query["name"],
        query_id=query["id"],
        state="running" if is_running else ended,
        error=query["error"],
        batch_id=query["batch_id"],
        batch_time=query["batch_began"],
        partitions=tuple(
            PartitionPosition(
                source=source["source"],
                topic=each["topic"],
                partition=each["partition"],
                position=each["position"],
                rows_per_second=each["rows_per_second"] if is_running else None,
                bytes_per_second=each["bytes_per_second"] if is_running else None,
            )
            for source in query["sources"]
            for each in source["partitions"]
        ),
    )


def _of_checkpoint(place: str, state: State) -> Query:
    """Raises: CheckpointError, MissingExtraError."""
    found = Checkpoint(folder_at(place))
    log = "commits" if found.is_committed else "offsets"
    written = written_at(found.folder / log / str(found.last_batch))
    return Query(
        origin=place,
        name=None,
        query_id=found.query_id,
        state=state,
        batch_id=found.last_batch,
        batch_time=None if written is None else written.isoformat(timespec="milliseconds"),
        is_batch_done=found.is_committed,
        partitions=tuple(
            PartitionPosition(source.number, topic, int(number), offset)
            for source in found.sources
            for topic, entries in sorted(source.position.items())
            for number, offset in sorted(entries.items(), key=lambda entry: int(entry[0]))
        ),
    )


def _of_group(admin: Admin, group: str) -> Query:
    committed = {tp: each.offset for tp, each in admin.list_group_offsets(group).items() if each}
    if not committed:
        raise UsageError(
            f"group {group!r} has no committed offsets: does the query have the option commitOffsetsToGroup, "
            "and a batch behind it?"
        )
    partitions = tuple(
        PartitionPosition(None, tp.topic, tp.partition, committed[tp]) for tp in sorted(committed)
    )
    return Query(f"group {group}", None, None, "unknown", partitions)


def _with_ends(admin: Admin, queries: Iterable[Query]) -> list[Query]:
    """With the brokers' end offsets; those of topics that are gone, or have no leader, are not known."""
    queries = list(queries)
    wanted = {TopicPartition(each.topic, each.partition) for query in queries for each in query.partitions}
    ends = ends_of(admin, wanted) if wanted else {}
    return [
        replace(
            query,
            partitions=tuple(
                replace(each, end=ends.get(TopicPartition(each.topic, each.partition)))
                for each in query.partitions
            ),
        )
        for query in queries
    ]


def _total_lag(query: Query) -> int | None:
    known = [lag for each in query.partitions if (lag := each.lag) is not None]
    return sum(known) if known else None


def _as_json(query: Query) -> QueryJson:
    return {
        "from": query.origin,
        "name": query.name,
        "id": query.query_id,
        "state": query.state,
        "error": query.error,
        "batch_id": query.batch_id,
        "batch_time": query.batch_time,
        "is_batch_done": query.is_batch_done,
        "lag": _total_lag(query),
        "partitions": [
            {
                "source": each.source,
                "topic": each.topic,
                "partition": each.partition,
                "position": each.position,
                "end_offset": each.end,
                "lag": each.lag,
                "rows_per_second": each.rows_per_second,
                "bytes_per_second": each.bytes_per_second,
            }
            for each in query.partitions
        ],
    }


def _print(query: Query) -> None:
    words = [word for word in (query.name, query.query_id) if word]
    title = f"{query.origin}  {' '.join(words)}".rstrip()
    facts: list[str] = [] if query.state == "unknown" else [query.state]
    if query.batch_id is not None:
        done = "" if query.is_batch_done else " is not done"
        when = f" ({query.batch_time})" if query.batch_time else ""
        facts.append(f"batch {query.batch_id}{done}{when}")
    lag = _total_lag(query)
    if lag is not None:
        facts.append(f"lag {lag}")
    print(f"{title}  {', '.join(facts)}")
    if query.error:
        print(f"  {query.error.strip().splitlines()[0]}")
    columns = ["TOPIC", "PARTITION", "POSITION", "END", "LAG", "ROWS/S", "BYTES/S"]
    print_table(
        columns,
        [
            (
                each.topic,
                each.partition,
                each.position,
                each.end,
                each.lag,
                _rounded(each.rows_per_second),
                _rounded(each.bytes_per_second),
            )
            for each in query.partitions
        ],
    )


def _rounded(rate: float | None) -> int | None:
    return None if rate is None else round(rate)
