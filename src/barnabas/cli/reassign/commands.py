"""`barnabas reassign`: on which brokers replicas are, and moves from some to others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas import TopicPartition
from barnabas.cli import completion
from barnabas.cli.admin.common import (
    STATUS_OF_WHAT_IS_NOT_DONE,
    DryRun,
    KeepThrottle,
    Yes,
    admin_client,
    confirm,
    numbers_in,
    partitions_in,
    told_dry_run,
)
from barnabas.cli.options import AsJson, Bootstrap, CommandConfig, Settings, UsageError
from barnabas.cli.output import note, plural, print_json, print_rows
from barnabas.cli.reassign.plans import Replicas, for_file, in_file, racks_of, replicas_now, spread
from barnabas.cli.reassign.states import are_done, bytes_left, states_of, targets_of
from barnabas.cli.reassign.throttles import brokers_of, moves_of, set_throttle, take_off

if TYPE_CHECKING:
    from barnabas import Admin

app = typer.Typer(
    help="Move replicas to other brokers, show how far the moves are, and cancel them.", no_args_is_help=True
)

Partitions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TOPIC[:0,1]]...",
        help="Topics, or some of their partitions.",
        autocompletion=completion.topics,
    ),
]
Brokers = Annotated[
    str | None,
    typer.Option("--brokers", metavar="1,2,3", help="Spread the replicas evenly over these brokers."),
]
ReplicationFactor = Annotated[
    int | None,
    typer.Option(
        "--replication-factor",
        "-r",
        min=1,
        help="How many replicas each partition has afterwards; as many as now if left out.",
    ),
]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="In place of topics: a plan in JSON, as generate or kafka-reassign-partitions prints it.",
    ),
]


@app.command()
def generate(
    partitions: Partitions = None,
    brokers: Brokers = None,
    replication_factor: ReplicationFactor = None,
    current: Annotated[
        bool, typer.Option("--current", help="Print where the replicas are now: a plan for the way back.")
    ] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Print a plan as JSON, for start --file, that spreads replicas evenly over these brokers. Nothing is
    changed.

    For example: barnabas reassign generate orders --brokers 1,2,3 > plan.json
    """
    if not partitions or current == (brokers is not None):
        raise UsageError("name topics, and give --brokers or --current")
    with admin_client(bootstrap, command_config, setting) as admin:
        now = replicas_now(admin, partitions_in(admin, partitions, "TOPIC"))
        plan = now if brokers is None else _spread(admin, now, brokers, replication_factor)
    print_json(for_file(plan))


@app.command()
def start(
    partitions: Partitions = None,
    brokers: Brokers = None,
    replication_factor: ReplicationFactor = None,
    file: PlanFile = None,
    throttle: Annotated[
        int | None,
        typer.Option(
            "--throttle",
            metavar="BYTES/S",
            min=1,
            help="How many bytes a second a broker sends and receives at most for moves, until verify takes "
            "that off.",
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Begin to move replicas: evenly over these brokers, or as a plan in a file says.

    Started again with another --throttle while replicas move, it changes how fast they do.

    For example: barnabas reassign start orders --brokers 1,2,3 --throttle 10000000
    """
    if (file is None) == (not partitions or brokers is None):
        raise UsageError("name topics and --brokers, or give --file")
    with admin_client(bootstrap, command_config, setting) as admin:
        if file is not None:
            wanted = in_file(file)
            now = replicas_now(admin, sorted(wanted))
            racks_of(admin, sorted({broker for replicas in wanted.values() for broker in replicas}))
        else:
            now = replicas_now(admin, partitions_in(admin, partitions or (), "TOPIC"))
            wanted = _spread(admin, now, brokers or "", replication_factor)
        rows = [(tp.topic, tp.partition, now[tp], wanted[tp]) for tp in sorted(wanted)]
        print_rows(("topic", "partition", "replicas", "new_replicas"), rows, as_json=as_json)
        moves = {} if throttle is None else moves_of(admin.list_partition_reassignments(), now, wanted)
        if dry_run:
            if throttle is not None:
                note(f"would let brokers {_listed(brokers_of(moves))} move {throttle} bytes a second at most")
            told_dry_run()
            return
        confirm(f"move the replicas of {plural(len(wanted), 'partition')}", is_sure=yes)
        if throttle is not None:
            set_throttle(admin, moves, throttle)
            note(f"brokers {_listed(brokers_of(moves))} move {throttle} bytes a second at most")
        admin.alter_partition_reassignments(wanted)
    note(f"replicas of {plural(len(wanted), 'partition')} move; see barnabas reassign verify")


@app.command()
def verify(
    partitions: Partitions = None,
    file: PlanFile = None,
    keep_throttle: KeepThrottle = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print which moves are done, and take the throttle off when all moves of the cluster are done.

    A state is done, moving, elsewhere (nothing moves, and the replicas are not where the file has them) or
    missing (the partition does not exist). The exit status is 0 if all are done, and 3 if not.
    """
    if (file is None) == (not partitions):
        raise UsageError("name topics, or give --file")
    with admin_client(bootstrap, command_config, setting) as admin:
        under_way = admin.list_partition_reassignments()
        if file is not None:
            wanted = in_file(file)
        else:
            wanted = replicas_now(admin, partitions_in(admin, partitions or (), "TOPIC"))
            wanted |= {tp: targets_of(move) for tp, move in under_way.items() if tp in wanted}
        states = states_of(admin, wanted, under_way)
        rows = [
            (tp.topic, tp.partition, each.replicas, each.wanted, each.state, each.bytes_left)
            for tp, each in states.items()
        ]
        columns = ("topic", "partition", "replicas", "new_replicas", "state", "bytes_left")
        print_rows(columns, rows, as_json=as_json)
        if under_way:
            note(f"replicas of {plural(len(under_way), 'partition')} of the cluster move: any throttle stays")
        elif not keep_throttle:
            topics = sorted({tp.topic for tp in wanted})
            if dry_run:
                told_dry_run(f"take the throttle off all brokers and {', '.join(topics)}")
            else:
                take_off(admin, topics, of_brokers=True)
                note(f"no throttle holds brokers and {', '.join(topics)} any more")
    if not are_done(states.values()):
        raise typer.Exit(STATUS_OF_WHAT_IS_NOT_DONE)


@app.command("list")
def list_moves(
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Print the moves that are under way, and how many bytes are left to copy."""
    with admin_client(bootstrap, command_config, setting) as admin:
        found = admin.list_partition_reassignments()
        left = bytes_left(admin, found)
    rows = [
        (
            tp.topic,
            tp.partition,
            list(move.replicas),
            list(move.adding_replicas),
            list(move.removing_replicas),
            left.get(tp),
        )
        for tp, move in sorted(found.items())
    ]
    columns = ("topic", "partition", "replicas", "adding", "removing", "bytes_left")
    print_rows(columns, rows, as_json=as_json)


@app.command()
def cancel(
    partitions: Partitions = None,
    file: PlanFile = None,
    every: Annotated[bool, typer.Option("--all", help="All moves that are under way.")] = False,
    keep_throttle: KeepThrottle = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    setting: Settings = None,
) -> None:
    """Cancel moves that are under way, and take their throttle off: replicas stay where they were."""
    if sum((every, bool(partitions), file is not None)) != 1:
        raise UsageError("name topics, or give one of --file and --all")
    with admin_client(bootstrap, command_config, setting) as admin:
        under_way = admin.list_partition_reassignments()
        chosen: set[TopicPartition] = set(under_way)
        if file is not None:
            chosen &= in_file(file).keys()
        elif partitions:
            chosen &= set(partitions_in(admin, partitions, "TOPIC"))
        if not chosen:
            note("no replicas move")
            return
        if dry_run:
            told_dry_run(f"end the moves of {_listed(chosen)}")
            return
        confirm(f"end the moves of {plural(len(chosen), 'partition')}", is_sure=yes)
        admin.alter_partition_reassignments(dict.fromkeys(sorted(chosen)))
        if not keep_throttle:
            going_on = under_way.keys() - chosen
            ended = {tp.topic for tp in chosen} - {tp.topic for tp in going_on}
            take_off(admin, ended, of_brokers=not going_on)
    note(f"ended the moves of {_listed(chosen)}")


def _spread(admin: Admin, now: Replicas, brokers: str, replication_factor: int | None) -> Replicas:
    return spread(now, racks_of(admin, numbers_in(brokers, "--brokers")), replication_factor)


def _listed(found: set[int] | set[TopicPartition]) -> str:
    return ", ".join(str(each) for each in sorted(found))
