"""Which queries stand out, and why, in a sentence. Pure."""

from __future__ import annotations

from typing import Literal

from barnabas.ui.groups.lag_history import Growth
from barnabas.ui.rendering import duration
from barnabas.ui.streaming.checkpoints import SeenCheckpoint
from barnabas.ui.streaming.listened import SeenBatch, SeenQuery
from barnabas.values import frozen
from barnabas.wording import counted

# Times the usual.
STALLED = 5
SLOW = 3
SHORTEST_STALL_SECONDS = 60.0
# Of a query of which one cannot tell yet what is usual.
UNKNOWN_STALL_SECONDS = 600.0
SHORTEST_SLOW_SECONDS = 10.0
FEWEST_BATCHES = 5

Level = Literal["bad", "warn"]


@frozen
class Trouble:
    """`word` for the list, `reason` a sentence."""

    level: Level
    word: str
    reason: str


def trouble_of(query: SeenQuery, growth: Growth | None) -> Trouble | None:
    """`growth`: of the query's lag. None where nothing is wrong."""
    if query.state == "failed":
        return Trouble("bad", "failed", f"It failed: {_first_line(query.error or '')}")
    if not query.is_running:
        return None
    return _stall(query) or _falling_behind(query, growth) or _slow_batch(query)


def trouble_of_checkpoint(checkpoint: SeenCheckpoint, now: float, *, is_running: bool) -> Trouble | None:
    """`is_running`: a listener tells that the query runs, and then what is wrong as well."""
    if is_running or not checkpoint.unfinished or checkpoint.planned_at_ms is None:
        return None
    seconds = now - checkpoint.planned_at_ms / 1000
    if seconds < UNKNOWN_STALL_SECONDS:
        return None
    return Trouble(
        "warn",
        "not committed",
        f"Batch {checkpoint.unfinished[-1]} was planned {duration(seconds)} ago and is not committed: the "
        "query is down, or stalled.",
    )


def _stall(query: SeenQuery) -> Trouble | None:
    silent, usual = query.seconds_since_event, query.usual_interval
    if silent is None:
        return None
    limit = UNKNOWN_STALL_SECONDS if usual is None else max(STALLED * usual, SHORTEST_STALL_SECONDS)
    if silent <= limit:
        return None
    if not query.batches:
        return Trouble("warn", "stalled", f"No batch has ended since it started {duration(silent)} ago.")
    if not query.lag:
        return None
    waiting = counted(query.lag, "record waits", "records wait", grouping=",")
    usually = "" if usual is None else f"; one usually ends every {duration(usual)}"
    return Trouble("bad", "stalled", f"No batch has ended for {duration(silent)}, though {waiting}{usually}.")


def _falling_behind(query: SeenQuery, growth: Growth | None) -> Trouble | None:
    interval = query.usual_interval
    # Between two batches lag grows of itself.
    if growth is None or (interval is not None and growth.seconds < 3 * interval):
        return None
    grown = counted(growth.records, "record", grouping=",")
    usual = query.usual_seconds
    told = "" if usual is None else f"; a batch takes {duration(usual)}"
    return Trouble(
        "warn",
        "falls behind",
        f"It falls behind: in {duration(growth.seconds)} its lag has grown by {grown}{told}.",
    )


def _slow_batch(query: SeenQuery) -> Trouble | None:
    usual = query.usual_seconds
    if usual is None or len(query.batches) < FEWEST_BATCHES or not query.lag:
        return None
    last = query.batches[-1]
    if last.seconds < max(SLOW * usual, SHORTEST_SLOW_SECONDS):
        return None
    return Trouble(
        "warn",
        "slow",
        f"Its last batch took {duration(last.seconds)}, where {duration(usual)} is usual{_longest(last)}.",
    )


def _longest(batch: SeenBatch) -> str:
    if not batch.phases:
        return ""
    name, seconds = batch.phases[0]
    return f"; {duration(seconds)} of it in {name}"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
