"""Moving where a group goes on: a preview, and then exactly what the preview showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from barnabas.client.admin.offset_target import OffsetTarget
from barnabas.client.admin.types import OffsetSpec
from barnabas.records.asked import UsageError
from barnabas.records.times import timestamp_ms
from barnabas.types import TopicPartition
from barnabas.ui.cluster_access import ClusterAccess
from barnabas.ui.figures import GroupSummary
from barnabas.ui.forms import changed, number
from barnabas.ui.groups.members import shown_group
from barnabas.ui.pages.groups.asked_group import asked_group, page_of
from barnabas.ui.rendering import render
from barnabas.ui.roles import Role
from barnabas.ui.security import sent_form
from barnabas.wording import counted

WAYS = {
    "earliest": "the oldest record",
    "latest": "the end",
    "offset": "an offset",
    "time": "a time",
    "duration": "so long ago",
    "shift": "so many records on, or back with -",
}
MOST_PARTITIONS = 10_000


async def preview(request: Request) -> Response:
    """What a reset would do. Changes nothing, and so is a GET."""
    access: ClusterAccess = request.app.state.access
    group = await asked_group(request)
    form = dict(request.query_params)
    now = await _positions(access, group)
    wanted = await _wanted(access, group, now, form)
    rows = [(p, now.get(p), at) for p, at in wanted.items()]
    moves = [at - before for _, before, at in rows if before is not None]
    return render(
        request,
        "groups/reset.html",
        title=f"Reset {group.group_id}",
        group=group,
        shown=await shown_group(access.admin, group),
        rows=rows,
        back=-sum(move for move in moves if move < 0),
        on=sum(move for move in moves if move > 0),
        offsets=" ".join(f"{p.topic},{p.partition},{at}" for p, at in wanted.items()),
    )


async def reset(request: Request) -> Response:
    form = await sent_form(request, Role.OPERATOR)
    access: ClusterAccess = request.app.state.access
    group = await asked_group(request)
    wanted = _shown_offsets(form)

    async def move() -> None:
        shown = await shown_group(access.admin, group)
        if shown.problem is None and not shown.is_idle:
            raise UsageError(
                f"group {group.group_id!r} is live: it is {shown.state} with "
                f"{counted(len(shown.members), 'member')}; stop them first"
            )
        if group.type == "share":
            await access.admin.alter_share_group_offsets(group.group_id, wanted)
        else:
            await access.admin.alter_group_offsets(group.group_id, wanted)

    told = f"{group.group_id} goes on at the new offsets of {counted(len(wanted), 'partition')}"
    return await changed(request, move(), page_of(group), told)


def _shown_offsets(form: Mapping[str, str]) -> dict[TopicPartition, int]:
    """What the preview showed, and not what the same words would mean by now. Raises: HTTPException (400)."""
    wanted: dict[TopicPartition, int] = {}
    for text in form.get("offsets", "").split():
        topic, *numbers = text.split(",")
        if len(numbers) != 2 or not all(each.isascii() and each.isdecimal() for each in numbers):
            raise HTTPException(400, f"{text!r} is not TOPIC,PARTITION,OFFSET")
        wanted[TopicPartition(topic, number({"partition": numbers[0]}, "partition", 0))] = number(
            {"offset": numbers[1]}, "offset", 0
        )
    if not wanted:
        raise HTTPException(400, "no partition is named")
    return wanted


async def _positions(access: ClusterAccess, group: GroupSummary) -> dict[TopicPartition, int]:
    """Where the group is at this moment. Raises: BarnabasError."""
    if group.type == "share":
        starts = (await access.admin.list_share_group_offsets({group.group_id: None}))[group.group_id]
        return {p: each.start_offset for p, each in starts.items() if each.start_offset >= 0}
    return {p: each.offset for p, each in (await access.admin.list_group_offsets(group.group_id)).items()}


async def _wanted(
    access: ClusterAccess, group: GroupSummary, now: Mapping[TopicPartition, int], form: Mapping[str, str]
) -> dict[TopicPartition, int]:
    """Where the group would go on. Raises: HTTPException (400), BarnabasError."""
    target = _target(form)
    named = await _named(access, form)
    if named is not None and target.needs_positions:
        named = [p for p in named if p in now]
    partitions = target.partitions(named, now)
    if not partitions:
        of = f" of {form['topic']}" if form.get("topic") else ""
        raise HTTPException(400, f"{group.group_id} has no offsets{of} that could be moved: name a topic")
    if len(partitions) > MOST_PARTITIONS:
        raise HTTPException(400, f"{len(partitions):,} partitions are too many at once: name a topic")

    async def offsets(spec: OffsetSpec) -> dict[TopicPartition, int]:
        listed = await access.admin.list_offsets(dict.fromkeys(partitions, spec))
        return {p: each.offset for p, each in listed.items()}

    return target.offsets(
        partitions,
        now,
        first=await offsets("earliest"),
        end=await offsets("latest"),
        found=None if target.spec is None else await offsets(target.spec),
    )


def _target(form: Mapping[str, str]) -> OffsetTarget:
    """Raises: HTTPException (400)."""
    way, at = form.get("way", ""), form.get("at", "").strip()
    if way in ("earliest", "latest"):
        return OffsetTarget(spec="earliest" if way == "earliest" else "latest")
    if way not in WAYS:
        raise HTTPException(400, f"way {way!r} is none of {', '.join(WAYS)}")
    if not at:
        raise HTTPException(400, f"say to which one: {WAYS[way]} needs the field beside it")
    if way == "offset":
        return OffsetTarget(offset=number(form, "at", 0))
    if way == "shift":
        return OffsetTarget(shift=number({"at": at.removeprefix("+")}, "at", 0))
    if way == "duration" and not at[-1:].isalpha():
        raise HTTPException(400, f"{at!r} is no duration: write 30m, 2h or 7d")
    try:
        return OffsetTarget(spec=timestamp_ms(at, "time"))
    except UsageError as error:
        raise HTTPException(400, str(error)) from None


async def _named(access: ClusterAccess, form: Mapping[str, str]) -> Sequence[TopicPartition] | None:
    """The partitions that are named, None for all in which the group is. Raises: HTTPException (400)."""
    topic, said = form.get("topic", "").strip(), form.get("partitions", "").strip()
    if not topic:
        if said:
            raise HTTPException(400, "partitions are those of one topic: name it as well")
        return None
    described = (await access.topics.get()).described.get(topic)
    if described is None:
        raise HTTPException(400, f"there is no topic {topic!r}")
    existing = {info.partition for info in described.partitions}
    numbers = _numbers(said) if said else existing
    if not numbers <= existing:
        raise HTTPException(400, f"topic {topic!r} has no partition {min(numbers - existing)}")
    return [TopicPartition(topic, each) for each in sorted(numbers)]


def _numbers(text: str) -> set[int]:
    """Of `0, 3-5`. Raises: HTTPException (400)."""
    found: set[int] = set()
    for piece in text.split(","):
        first, _, last = piece.strip().partition("-")
        bounds = [first, last or first]
        if not all(each.isascii() and each.isdecimal() and len(each) < 7 for each in bounds):
            raise HTTPException(400, f"partitions {text!r} are no numbers: write 0,3 or 0-5")
        found.update(range(int(bounds[0]), int(bounds[1]) + 1))
    return found
