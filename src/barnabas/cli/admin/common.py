"""What the commands that administer share: their client, questions before what cannot be undone, names of
enumerations, partitions in texts. Knows nothing of single commands."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

import barnabas
from barnabas import TopicPartition
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.cli.options import UsageError, client_settings
from barnabas.cli.output import nearest, note
from barnabas.settings.table import AdminConfig

if TYPE_CHECKING:
    from barnabas import Admin, TopicDescription

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
KeepThrottle = Annotated[
    bool, typer.Option("--keep-throttle", help="Leave the throttle as it is; otherwise it is taken off.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]

STATUS_OF_WHAT_IS_NOT_DONE = 3
"""Of commands that tell how far moves of replicas are."""

E = TypeVar("E", bound=IntEnum)


def admin_client(bootstrap: str | None, command_config: Path | None, setting: Sequence[str] | None) -> Admin:
    return barnabas.Admin(**client_settings(AdminConfig, bootstrap, command_config, setting))


def confirm(what: str, *, is_sure: bool) -> None:
    """Asks before what cannot be undone. Raises: UsageError where nobody can answer, or the answer is no."""
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{what}: add --yes to do it without being asked")
    if not typer.confirm(f"{what}?", err=True):
        raise UsageError("nothing was changed")


def told_dry_run(what: str | None = None) -> None:
    """`what`: as for `confirm`, where nothing else has shown it."""
    if what is not None:
        note(f"would {what}")
    note("nothing was changed: this was --dry-run")


def check_may_be_deleted(admin: Admin, groups: Sequence[str], types: Sequence[str] = ()) -> None:
    """Raises: UsageError for a group that is not there, or has members."""
    found = {each.group_id: each for each in admin.list_groups(types=types)}
    for name in groups:
        if name not in found:
            raise UsageError(f"there is no group {name!r}{nearest(name, found)}")
        if found[name].state not in ("Empty", "Dead"):
            raise UsageError(f"group {name!r} is {found[name].state}: one that has members stays")


def member_of(kind: type[E], text: str, option: str) -> E:
    """The member of an enumeration by its name, in any case, with - or _. Raises: UsageError."""
    name = text.strip().upper().replace("-", "_")
    known = [each.name for each in kind if each.name != "UNKNOWN"]
    if name not in known:
        words = [word_of(kind[each]) for each in known]
        raise UsageError(f"{option} {text!r} is none of {', '.join(words)}{nearest(text.lower(), words)}")
    return kind[name]


def word_of(member: IntEnum) -> str:
    """`transactional-id` for TRANSACTIONAL_ID."""
    return member.name.lower().replace("_", "-")


def partitions_in(admin: Admin, texts: Sequence[str], option: str) -> list[TopicPartition]:
    """The partitions that texts such as `flights` and `flights:0,3` name. Raises: UsageError."""
    names = {text: text.partition(":") for text in texts}
    described = admin.describe_topics(list(dict.fromkeys(topic for topic, _, _ in names.values())))
    chosen: list[TopicPartition] = []
    for text, (topic, colon, numbers) in names.items():
        existing = {info.partition for info in described[topic].partitions}
        try:
            wanted = {int(number) for number in numbers.split(",")} if colon else existing
        except ValueError:
            raise UsageError(f"{option} {text!r} is not TOPIC or TOPIC:0,1") from None
        if not wanted <= existing:
            raise UsageError(f"topic {topic!r} has no partition {min(wanted - existing)}")
        chosen += [TopicPartition(topic, partition) for partition in sorted(wanted)]
    return chosen


def ends_of(
    admin: Admin, partitions: Iterable[TopicPartition], end: Literal["earliest", "latest"] = "latest"
) -> dict[TopicPartition, int]:
    """Of those that are there and have a leader, which nobody else can be asked in place of."""
    wanted = set(partitions)
    topics = sorted({each.topic for each in wanted})
    try:
        described: Mapping[str, TopicDescription] = admin.describe_topics(topics)
    except UnknownTopicOrPartitionError as error:
        described = error.outcome.results if error.outcome is not None else {}
    led = [
        partition
        for topic in described.values()
        for info in topic.partitions
        if info.leader >= 0 and (partition := TopicPartition(info.topic, info.partition)) in wanted
    ]
    return {tp: found.offset for tp, found in admin.list_offsets(dict.fromkeys(led, end)).items()}


def numbers_in(text: str, option: str) -> list[int]:
    """`1,2,3`. Raises: UsageError."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} {text!r} is not a list of numbers, as 1,2,3") from None
