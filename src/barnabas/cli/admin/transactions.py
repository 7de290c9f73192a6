"""`barnabas transactions`: who has one open, which hang, and how they are ended."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas import TopicPartition
from barnabas.cli import completion
from barnabas.cli.admin.common import DryRun, Yes, admin_client, confirm, partitions_in, told_dry_run
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import note, print_rows
from barnabas.client.admin.hanging_transactions import DEFAULT_MINUTES, abort_of, open_before, unknown_to
from barnabas.client.admin.types import ProducerState
from barnabas.records.times import duration_ms

if TYPE_CHECKING:
    from barnabas import Admin

app = typer.Typer(
    help="List and describe transactions, find those that hang, and abort them.", no_args_is_help=True
)


@app.command("list")
def list_transactions(
    state: Annotated[
        list[str] | None, typer.Option("--state", help="Only in this state: Ongoing, ... (repeatable).")
    ] = None,
    open_for: Annotated[
        str | None,
        typer.Option(
            "--open-for",
            metavar="DURATION",
            help="Only those that are open for longer: 15m, 2h, or a number of minutes.",
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern", metavar="REGEX", help="Only transactional ids that match (Kafka 4.1 and later)."
        ),
    ] = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the transactional ids, their producers and states."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.list_transactions(
            states=state or (),
            duration_ms=None if open_for is None else _open_for_ms(open_for),
            pattern=pattern,
        )
    rows = [
        (each.transactional_id, each.producer_id, each.state, node_id)
        for node_id, listings in found.items()
        for each in listings
    ]
    columns = ("transactional_id", "producer_id", "state", "coordinator")
    print_rows(columns, sorted(rows), as_json=as_json)


@app.command()
def describe(
    transactional_ids: Annotated[
        list[str],
        typer.Argument(
            metavar="TRANSACTIONAL-ID...",
            help="The transactional ids.",
            autocompletion=completion.transactional_ids,
        ),
    ],
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the state of transactional ids, and the partitions that their transactions are in."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_transactions(transactional_ids)
    rows = [
        (
            each.transactional_id,
            each.state,
            each.producer_id,
            each.producer_epoch,
            each.transaction_timeout_ms,
            each.start_timestamp,
            each.coordinator_id,
            [str(tp) for tp in each.partitions],
        )
        for each in found.values()
    ]
    columns = (
        "transactional_id",
        "state",
        "producer_id",
        "producer_epoch",
        "timeout_ms",
        "began_at_ms",
        "coordinator",
        "partitions",
    )
    print_rows(columns, rows, as_json=as_json)


@app.command()
def producers(
    partitions: Annotated[
        list[str],
        typer.Argument(
            metavar="TOPIC[:0,1]...",
            help="Topics, or some of their partitions.",
            autocompletion=completion.topics,
        ),
    ],
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the producers that partitions remember."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.describe_producers(partitions_in(admin, partitions, "TOPIC"))
    rows = [(*tp, *_producer(each)) for tp, states in sorted(found.items()) for each in states]
    print_rows(_PRODUCER_COLUMNS, rows, as_json=as_json)


@app.command("find-hanging")
def find_hanging(
    partitions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC[:0,1]]...",
            help="Topics, or some of their partitions; all if left out.",
            autocompletion=completion.topics,
        ),
    ] = None,
    open_for: Annotated[
        str,
        typer.Option(
            "--open-for",
            metavar="DURATION",
            help="Only those that are open for longer: 15m, 2h, or a number of minutes.",
        ),
    ] = f"{DEFAULT_MINUTES}m",
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print transactions that are open in a partition, but that no coordinator knows any more."""
    with admin_client(bootstrap, command_config, setting) as admin:
        chosen = partitions_in(admin, partitions or admin.list_topics(), "TOPIC")
        found = hanging(admin, chosen, _open_for_ms(open_for) / 60_000)
    rows = [(*tp, *_producer(each)) for tp, each in found]
    print_rows(_PRODUCER_COLUMNS, rows, as_json=as_json)


@app.command()
def abort(
    partition: Annotated[
        str,
        typer.Argument(
            metavar="TOPIC:PARTITION",
            help="The partition in which it hangs.",
            autocompletion=completion.topics,
        ),
    ],
    start_offset: Annotated[
        int,
        typer.Option(
            "--start-offset", min=0, help="The offset at which it begins, as find-hanging prints it."
        ),
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Abort a transaction that hangs in a partition. To abort one that is only open, use fence.

    For example: barnabas transactions abort orders:0 --start-offset 42
    """
    with admin_client(bootstrap, command_config, setting) as admin:
        chosen = partitions_in(admin, [partition], "TOPIC:PARTITION")
        if len(chosen) != 1:
            raise UsageError(f"{partition!r} is not one partition: give TOPIC:PARTITION")
        states = admin.describe_producers(chosen)[chosen[0]]
        found = [each for each in states if each.current_transaction_start_offset == start_offset]
        if not found:
            raise UsageError(f"no transaction begins at offset {start_offset} of {chosen[0]}")
        what = f"abort the transaction of producer {found[0].producer_id} in {chosen[0]}"
        if dry_run:
            told_dry_run(what)
            return
        confirm(what, is_sure=yes)
        admin.abort_transaction(abort_of(chosen[0], found[0]))
    note(f"aborted the transaction of producer {found[0].producer_id} in {chosen[0]}")


@app.command()
def fence(
    transactional_ids: Annotated[
        list[str],
        typer.Argument(
            metavar="TRANSACTIONAL-ID...",
            help="The transactional ids.",
            autocompletion=completion.transactional_ids,
        ),
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Fence the producers that use these ids, and abort their transactions."""
    what = f"shut out the producers of {', '.join(transactional_ids)}"
    if not dry_run:
        confirm(what, is_sure=yes)
    with admin_client(bootstrap, command_config, setting) as admin:
        # To be fenced, an id that nobody used would be made.
        admin.describe_transactions(transactional_ids)
        if dry_run:
            told_dry_run(what)
            return
        admin.fence_producers(transactional_ids)
    note(f"shut out the producers of {', '.join(transactional_ids)}")


_PRODUCER_COLUMNS = (
    "topic",
    "partition",
    "producer_id",
    "producer_epoch",
    "last_sequence",
    "last_timestamp_ms",
    "coordinator_epoch",
    "start_offset",
)


def _producer(state: ProducerState) -> tuple[int | None, ...]:
    return (
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_transaction_start_offset,
    )


def _open_for_ms(text: str) -> int:
    return duration_ms(text, "--open-for", of_number=60_000, unit="minutes")


def hanging(
    admin: Admin, partitions: Iterable[TopicPartition], minutes: float = DEFAULT_MINUTES
) -> list[tuple[TopicPartition, ProducerState]]:
    """The transactions in these partitions that are open for longer, and of which no coordinator knows."""
    before = time.time() * 1000 - minutes * 60_000
    open_ones = open_before(before, admin.describe_producers(partitions))
    producer_ids = {each.producer_id for _, each in open_ones}
    if not producer_ids:
        return []
    listed = admin.list_transactions(producer_ids=producer_ids)
    names = [each.transactional_id for listings in listed.values() for each in listings]
    described = admin.describe_transactions(names) if names else {}
    return unknown_to(described.values(), open_ones)
