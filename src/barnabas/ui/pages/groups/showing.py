"""The list of groups, and the page of one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from barnabas.types import TopicPartition
from barnabas.ui.charts import Chart, count_chart, seconds_chart
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.figures import GroupSummary
from barnabas.ui.groups.lag_history import Growth, LagSample
from barnabas.ui.groups.members import shown_group
from barnabas.ui.pages.groups.asked_group import asked_group
from barnabas.ui.pages.groups.moving import WAYS
from barnabas.ui.records.reading import RecordReader
from barnabas.ui.rendering import duration, paged, render
from barnabas.values import frozen

KINDS = ("classic", "consumer", "share", "streams")
MOST_TIMED_PARTITIONS = 50
MOST_TOPIC_CHARTS = 12


@frozen
class ListedGroup:
    """`members`: None while its coordinator has not answered. `seconds`: the lag in time, estimated from the
    ends of its topics."""

    summary: GroupSummary
    members: int | None
    seconds: float | None
    growth: str | None
    """Why it stands out, if it does."""


@frozen
class TopicLag:
    """Of a group in one topic."""

    topic: str
    partitions: int
    lag: int | None
    seconds: float | None
    records_chart: Chart | None
    seconds_chart: Chart | None


@frozen
class PartitionRow:
    """Of a group in one partition. `seconds`: how old the first record is that is not done."""

    partition: TopicPartition
    committed: int | None
    lag: int | None
    seconds: float | None
    owner: str | None


async def groups(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    known = await access.groups.get()
    query = request.query_params
    wanted, kind, only = query.get("q", "").casefold(), query.get("type", ""), query.get("only", "")
    growing = access.lags.growing()
    found = [
        group
        for group in known.by_id.values()
        if wanted in group.group_id.casefold()
        and kind in ("", group.type)
        and (only != "behind" or group.group_id in growing)
    ]
    sorting = query.get("sort", "name")
    if sorting == "lag":
        found.sort(key=lambda group: -(group.lag or 0))
    rows = paged(request, found)
    members = await access.member_counts.look(rows.shown)
    listed = {
        group.group_id: ListedGroup(
            group,
            members.get(group.group_id),
            None if (latest := access.lags.latest(group.group_id)) is None else latest.seconds,
            _told(growing.get(group.group_id)),
        )
        for group in rows.shown
    }
    return render(
        request,
        "groups/list.html",
        title="Groups",
        rows=rows,
        listed=listed,
        kinds=KINDS,
        behind=len(growing.keys() & known.by_id.keys()),
        sorting=sorting,
        asked_at=access.groups.asked_at,
    )


async def group(request: Request) -> Response:
    access: ClusterAccess = request.app.state.access
    summary = await asked_group(request)
    shown = await shown_group(access.admin, summary)
    owners = shown.owners or {}
    rows = paged(request, sorted({*summary.positions, *owners}))
    seconds = await _seconds_behind(request, summary, rows.shown)
    partitions = [
        PartitionRow(
            partition,
            summary.positions.get(partition),
            summary.lags.get(partition),
            seconds.get(partition),
            owners.get(partition),
        )
        for partition in rows.shown
    ]
    total = access.lags.total(summary.group_id)
    estimated = total[-1].seconds if total else None
    return render(
        request,
        "groups/group.html",
        title=summary.group_id,
        group=summary,
        shown=shown,
        queries=access.queries.reading(summary.topics),
        growth=_told(access.lags.growing().get(summary.group_id)),
        rows=rows,
        partitions=partitions,
        lag_seconds=max((*seconds.values(), estimated or 0.0), default=None) if summary.lags else None,
        records_chart=count_chart([(s.at, s.lag) for s in total]),
        seconds_chart=seconds_chart([(s.at, s.seconds) for s in total]),
        topics=_topics(summary, access.lags.topics(summary.group_id)),
        charted=MOST_TOPIC_CHARTS,
        sample_seconds=access.settings.sample_seconds,
        ways=WAYS,
        asked_at=access.groups.asked_at,
    )


async def _seconds_behind(
    request: Request, group: GroupSummary, shown: Sequence[TopicPartition]
) -> dict[TopicPartition, float]:
    """The first record that is not done is fetched of those that are most behind."""
    access: ClusterAccess = request.app.state.access
    found = {p: 0.0 for p in shown if group.lags.get(p) == 0}
    behind = sorted((p for p in shown if group.lags.get(p)), key=lambda p: -group.lags[p])
    timed = {p: group.positions[p] for p in behind[:MOST_TIMED_PARTITIONS]}
    if timed:
        reader = RecordReader(access, request.app.state.decoder, sorted(timed))
        now_ms = time.time() * 1000
        for partition, written_ms in (await reader.timestamps_at(timed)).items():
            if written_ms >= 0:
                found[partition] = max(now_ms - written_ms, 0) / 1000
    return found


def _topics(group: GroupSummary, history: Mapping[str, Sequence[LagSample]]) -> list[TopicLag]:
    """Those that are most behind first; some have no history."""
    found: list[TopicLag] = []
    for topic in group.topics:
        lags = [lag for p, lag in group.lags.items() if p.topic == topic]
        samples = history.get(topic, ())
        found.append(
            TopicLag(
                topic,
                sum(p.topic == topic for p in group.positions),
                sum(lags) if lags else None,
                samples[-1].seconds if samples else None,
                None,
                None,
            )
        )
    found.sort(key=lambda each: (-(each.lag or 0), each.topic))
    return [
        TopicLag(
            each.topic,
            each.partitions,
            each.lag,
            each.seconds,
            count_chart([(s.at, s.lag) for s in history.get(each.topic, ())]),
            seconds_chart([(s.at, s.seconds) for s in history.get(each.topic, ())]),
        )
        for each in found[:MOST_TOPIC_CHARTS]
    ] + found[MOST_TOPIC_CHARTS:]


def _told(growth: Growth | None) -> str | None:
    return None if growth is None else growth.told(duration(growth.seconds))
