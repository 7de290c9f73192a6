"""Where `reset-offsets` moves groups to: the ways to say it, and the offsets that come of it.

Owns the options of these ways, and the files of offsets, which are those of Kafka's own tool. Knows nothing
of groups.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas import TopicPartition
from barnabas.cli.options import UsageError
from barnabas.client.admin.offset_target import Offsets, OffsetTarget
from barnabas.client.admin.types import OffsetSpec
from barnabas.records.times import timestamp_ms

if TYPE_CHECKING:
    from barnabas import Admin

ToEarliest = Annotated[bool, typer.Option("--to-earliest", help="To the oldest record.")]
ToLatest = Annotated[bool, typer.Option("--to-latest", help="To the end.")]
ToCurrent = Annotated[
    bool, typer.Option("--to-current", help="To where it is now: with --export, to keep that in a file.")
]
ToOffset = Annotated[int | None, typer.Option("--to-offset", min=0, metavar="OFFSET", help="To this offset.")]
ToDatetime = Annotated[
    str | None,
    typer.Option(
        "--to-datetime",
        metavar="TIME",
        help="To the first record at or after this time: 2h (ago), 2026-01-31T12:00.",
    ),
]
ShiftBy = Annotated[
    int | None, typer.Option("--shift-by", metavar="RECORDS", help="So many records on, or back if negative.")
]
FromFile = Annotated[
    Path | None,
    typer.Option(
        "--from-file",
        metavar="FILE",
        help="To the offsets in a file of lines topic,partition,offset, as --export writes it.",
    ),
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--export",
        metavar="FILE",
        help="Write the new offsets there, as lines topic,partition,offset for --from-file.",
    ),
]


def offsets_of(
    target: OffsetTarget, admin: Admin, name: str, partitions: Sequence[TopicPartition], now: Offsets
) -> Offsets:
    """The new offset of each partition. `now`: where the group is; `name`: what it is called in errors.
    Raises: UsageError for a partition in which it is nowhere, where that is to count."""
    if target.needs_positions:
        for partition in partitions:
            if partition not in now:
                raise UsageError(f"group {name!r} has no committed offset for {partition} to go from")
    return target.offsets(
        partitions,
        now,
        first=_at(admin, partitions, "earliest"),
        end=_at(admin, partitions, "latest"),
        found=None if target.spec is None else _at(admin, partitions, target.spec),
    )


def target_of(
    *,
    to_earliest: bool,
    to_latest: bool,
    to_current: bool,
    to_offset: int | None,
    to_datetime: str | None,
    shift_by: int | None,
    from_file: Path | None,
) -> OffsetTarget:
    """Raises: UsageError unless one is given."""
    given = (to_offset, to_datetime, shift_by, from_file)
    if sum((to_earliest, to_latest, to_current, *(each is not None for each in given))) != 1:
        raise UsageError(
            "give one of --to-earliest, --to-latest, --to-current, --to-offset, --to-datetime, --shift-by "
            "and --from-file"
        )
    if to_datetime is not None:
        return OffsetTarget(spec=timestamp_ms(to_datetime, "--to-datetime"))
    if from_file is not None:
        return OffsetTarget(listed=read_offsets(from_file))
    if to_earliest or to_latest:
        return OffsetTarget(spec="earliest" if to_earliest else "latest")
    return OffsetTarget(offset=to_offset, shift=shift_by)


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    """Raises: UsageError."""
    found: dict[TopicPartition, int] = {}
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.reader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"--from-file {str(path)!r} cannot be read: {error}") from None
    for number, row in enumerate(rows, 1):
        if not row:
            continue
        # Kafka's tool writes the group first where it is asked for several.
        fields = row[-3:] if len(row) in (3, 4) else []
        if len(fields) != 3 or not (fields[1].strip().isdecimal() and fields[2].strip().isdecimal()):
            raise UsageError(
                f"--from-file {str(path)!r}, line {number}: {','.join(row)!r} is not TOPIC,PARTITION,OFFSET"
            )
        found[TopicPartition(fields[0], int(fields[1]))] = int(fields[2])
    if not found:
        raise UsageError(f"--from-file {str(path)!r} has no line TOPIC,PARTITION,OFFSET")
    return found


def write_offsets(path: Path, offsets: Offsets) -> None:
    """Raises: UsageError."""
    try:
        with path.open("w", encoding="utf-8", newline="") as lines:
            csv.writer(lines, lineterminator="\n").writerows(
                (*tp, offset) for tp, offset in sorted(offsets.items())
            )
    except OSError as error:
        raise UsageError(f"--export {str(path)!r} cannot be written: {error}") from None


def _at(admin: Admin, partitions: Sequence[TopicPartition], spec: OffsetSpec) -> dict[TopicPartition, int]:
    return {tp: found.offset for tp, found in admin.list_offsets(dict.fromkeys(partitions, spec)).items()}
