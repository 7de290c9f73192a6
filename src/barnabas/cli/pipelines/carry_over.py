"""`barnabas pipeline carry-over`: a query's offsets, from one connector to the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.options import AsJson
from barnabas.cli.output import note, print_json
from barnabas.cli.pipelines.changed_checkpoints import ChangeableCheckpoint


def carry_over(
    folder: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help="The folder checkpointLocation names.")
    ],
    execute: Annotated[
        bool, typer.Option("--execute", help="Change the checkpoint; otherwise only show.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Change a stopped query's checkpoint so that both Spark's own connector and Barnabas go on from it.

    Prints where each of its Kafka sources stands, as JSON for startingOffsets of a new query.
    """
    checkpoint = ChangeableCheckpoint(folder)
    changes = checkpoint.changes()
    if execute:
        checkpoint.carry_over()
    if as_json:
        print_json(
            {
                "last_batch": checkpoint.last_batch,
                "is_committed": checkpoint.is_committed,
                "changes": changes,
                "executed": execute,
                "sources": [
                    {"source": source.number, "starting_offsets": source.position}
                    for source in checkpoint.sources
                ],
            }
        )
        return
    for source in checkpoint.sources:
        print(json.dumps(source.position, separators=(",", ":")))
    if not changes:
        note("both connectors can go on from this checkpoint as it is")
    for change in changes:
        note(change if execute else f"{change}: not done, say --execute")
