"""How `reset-offsets` of all kinds of groups goes: shown, written to a file, asked for, done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas import TopicPartition
from barnabas.cli.admin.common import confirm, told_dry_run
from barnabas.cli.groups.targets import offsets_of, write_offsets
from barnabas.cli.options import UsageError
from barnabas.cli.output import note, plural, print_rows
from barnabas.client.admin.offset_target import Offsets, OffsetTarget

if TYPE_CHECKING:
    from barnabas import Admin


def move(
    admin: Admin,
    group: str,
    target: OffsetTarget,
    named: Sequence[TopicPartition] | None,
    now: Offsets,
    alter: Callable[[Offsets], object],
    *,
    now_column: str,
    export: Path | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """`named`: the partitions that --topic names; `now`: where the group is; `now_column`: what that is
    called. Raises: UsageError."""
    partitions = target.partitions(named, now)
    if not partitions:
        raise UsageError(f"group {group!r} has read nothing; name what to set with --topic")
    wanted = offsets_of(target, admin, group, partitions, now)
    rows = [(*tp, now.get(tp), wanted[tp]) for tp in partitions]
    print_rows(("topic", "partition", now_column, "new_offset"), rows, as_json=as_json)
    if export is not None:
        write_offsets(export, wanted)
    if dry_run:
        told_dry_run()
        return
    what = f"{group} in {plural(len(partitions), 'partition')}"
    confirm(f"move {what}", is_sure=yes)
    alter(wanted)
    note(f"moved {what}")
