"""`barnabas delete-records`: the beginning of partitions goes."""

from __future__ import annotations

from typing import Annotated

import typer

from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, Yes, admin_client, confirm, partitions_in, told_dry_run
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import plural, print_rows
from barnabas.client.admin.record_deletion import most_deleted, new_first_offsets
from barnabas.records.times import timestamp_ms


def delete_records(
    partitions: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC[:0,1]...",
            help="Topics, or some of their partitions.",
            autocompletion=completion.topics,
        ),
    ],
    before_offset: Annotated[
        int | None, typer.Option("--before-offset", min=0, help="Delete the records below this offset.")
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="TIME",
            help="Delete the records before the first one of this time or later: 7d (ago), 2026-01-31.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Delete all records.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Delete the oldest records of partitions.

    For example: barnabas delete-records orders:0,1 --before 7d --dry-run
    """
    if sum((before_offset is not None, before is not None, every)) != 1:
        raise UsageError("give one of --before-offset, --before and --all")
    time_ms = None if before is None else timestamp_ms(before, "--before")
    with admin_client(bootstrap, command_config, setting) as admin:
        chosen = partitions_in(admin, partitions, "TOPIC")
        first = admin.list_offsets(dict.fromkeys(chosen, "earliest"))
        end = admin.list_offsets(dict.fromkeys(chosen, "latest"))
        at = None if time_ms is None else admin.list_offsets(dict.fromkeys(chosen, time_ms))
        wanted = new_first_offsets(first, end, offset=before_offset, at=at)
        rows = [(*tp, first[tp].offset, wanted[tp], end[tp].offset) for tp in chosen]
        columns = ("topic", "partition", "first_offset", "new_first_offset", "end_offset")
        print_rows(columns, rows, as_json=as_json)
        if dry_run:
            told_dry_run()
            return
        count = most_deleted(wanted, first, end)
        confirm(f"delete {plural(count, 'record')} at most, permanently", is_sure=yes)
        admin.delete_records(wanted)
