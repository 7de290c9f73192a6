"""`barnabas migrate`: what of a program's source has to change for another kafka-python, and for Kafka 4."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.options import AsJson
from barnabas.cli.output import note, print_json

if TYPE_CHECKING:
    from barnabas.migrate.findings import Finding

app = typer.Typer(name="migrate", help="Move programs to another client or to Kafka 4.", no_args_is_help=True)


@app.callback()
def migrate() -> None:
    """What reads sources; nothing of a program is run or changed."""


@app.command("scan")
def scan(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", exists=True, help="Folders or files of Python sources."),
    ],
    older: Annotated[
        str,
        typer.Option(
            "--from", metavar="VERSION", help="The kafka-python that the program is for: 1.2, 2 or 3."
        ),
    ] = "1.2",
    newer: Annotated[
        str, typer.Option("--to", metavar="VERSION", help="The one that it is to run with: 1.2, 2 or 3.")
    ] = "3",
    only_breaks: Annotated[bool, typer.Option("--only-breaks", help="Print only what breaks.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what breaks or changes in a program's source from one kafka-python to another, and on Kafka 4.
    Programs of pykafka, confluent_kafka and mapr_streams_python are read as well.

    Ends with status 1 if anything breaks or cannot be read, else with 0.
    """
    # Here and not above, since no other command should wait for it.
    from barnabas.compat.kafka_engine.generations import generation_of
    from barnabas.errors import InvalidSettingError
    from barnabas.migrate.findings import Effect
    from barnabas.migrate.kafka_python import ORDER
    from barnabas.migrate.scan import scan as find

    try:
        older, newer = generation_of(older), generation_of(newer)
    except InvalidSettingError:
        raise typer.BadParameter(f"--from and --to take {', '.join(ORDER)}, or a release of these") from None
    if ORDER.index(older) > ORDER.index(newer):
        raise typer.BadParameter(f"--from {older} is newer than --to {newer}")
    found = find(paths, older, newer)
    if only_breaks:
        found = [each for each in found if each.effect is not Effect.CHANGES]
    if as_json:
        print_json([_as_json(asdict(each)) for each in found])
    else:
        for each in found:
            place = f"{_relative(each.file)}:{each.line}:{each.column}"
            print(f"{place}: {each.effect} with {each.with_}: {each.what}")
            print(f"    {each.reason}")
            if each.instead:
                print(f"    instead: {each.instead}")
        note(_summary(found, older, newer))
    if any(each.effect is not Effect.CHANGES for each in found):
        raise typer.Exit(1)


def _as_json(finding: dict[str, Any]) -> dict[str, Any]:
    return {name.rstrip("_"): value for name, value in finding.items()} | {"file": _relative(finding["file"])}


def _relative(file: str) -> str:
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else relative


def _summary(found: Sequence[Finding], older: str, newer: str) -> str:
    way = f"kafka-python {older}" if older == newer else f"kafka-python {older} to {newer}"
    effects = Counter(str(each.effect) for each in found)
    if not effects:
        return f"{way}, and Kafka 4: nothing to change"
    named = {"breaks": "break", "changes": "change", "unread": "could not be read"}
    counted = ", ".join(f"{effects[effect]} {said}" for effect, said in named.items() if effects[effect])
    hint = (
        f". Barnabas runs it as it is: python -m barnabas.compat --kafka-python {older}"
        if any(each.with_.startswith("kafka-python") for each in found)
        else ""
    )
    return f"{way}, and Kafka 4: {counted}{hint}"
