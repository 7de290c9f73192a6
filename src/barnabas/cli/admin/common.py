"""What the commands that administer share: their client, questions before what cannot be undone, names of
enumerations, partitions in texts. Knows nothing of single commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from barnabas import Admin, TopicPartition
from barnabas.cli.options import UsageError, client_settings
from barnabas.cli.output import nearest, note
from barnabas.settings.table import AdminConfig

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]

E = TypeVar("E", bound=IntEnum)


def admin_client(bootstrap: str | None, command_config: Path | None, setting: Sequence[str] | None) -> Admin:
    return Admin(**client_settings(AdminConfig, bootstrap, command_config, setting))


def confirm(what: str, *, is_sure: bool) -> None:
    """Asks before what cannot be undone. Raises: UsageError where nobody can answer, or the answer is no."""
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{what}: add --yes to do it without being asked")
    if not typer.confirm(f"{what}?", err=True):
        raise UsageError("nothing was changed")


def told_dry_run() -> None:
    note("nothing was changed: this was --dry-run")


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


def numbers_in(text: str, option: str) -> list[int]:
    """`1,2,3`. Raises: UsageError."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} {text!r} is not a list of numbers, as 1,2,3") from None
