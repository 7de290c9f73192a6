#!/usr/bin/env python3
"""Writes the tables of docs/kafka-python.md: what differs between generations of kafka-python.

    .venv/bin/python scripts/kafka_python_differences.py            write them
    .venv/bin/python scripts/kafka_python_differences.py --check    exit with 1 if they are not what would be

They are made from the tables that the facade stands on, in barnabas.compat.kafka_engine.generations, and from
what is recorded of the original's calls in barnabas.migrate. What stands outside the two marks is written by
hand.
"""

from __future__ import annotations

import argparse
import selectors
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from barnabas.compat.kafka_engine.generations import GENERATIONS, differences
from barnabas.compat.kafka_engine.generations.errors import ErrorClass, Kind
from barnabas.compat.kafka_engine.generations.settings import (
    ABSENT,
    PROVIDED,
    SETTINGS,
    UNKNOWN_SETTING_ERRORS,
)
from barnabas.compat.kafka_engine.generations.structs import StructFields
from barnabas.migrate.inventory import methods, shape

PAGE = Path(__file__).resolve().parent.parent / "docs" / "kafka-python.md"
BEGIN = "<!-- Written by scripts/kafka_python_differences.py, from here -->"
END = "<!-- to here -->"
CLIENTS = (
    "KafkaConsumer",
    "KafkaProducer",
    "KafkaAdminClient",
    "KafkaClient",
    "BrokerConnection",
    "ClusterMetadata",
)
# More than a cell has room for, as one of a table by itself.
MANY_NAMES = 3
KINDS = {
    Kind.FINAL: "final",
    Kind.RETRIABLE: "retriable",
    Kind.STALE: "retriable, metadata refreshed",
    Kind.UNAUTHORIZED: "final, of authorization",
    Kind.OUTDATED: "final, metadata refreshed",
}

Row = Sequence[str]


def fields() -> dict[str, tuple[str, list[Any]]]:
    """Of each field that differs: its meaning, and the values in the order of generations."""
    found = {
        name: (meaning, [getattr(each, name) for each in GENERATIONS.values()])
        for name, meaning in differences().items()
    }
    return {name: row for name, row in found.items() if any(value != row[1][0] for value in row[1])}


def is_names(values: list[Any]) -> bool:
    return all(
        isinstance(value, tuple) and all(isinstance(each, str) for each in value) for value in values
    ) and any(len(value) > MANY_NAMES for value in values)


def is_mapping(values: list[Any]) -> bool:
    return all(isinstance(value, Mapping) for value in values)


def is_of(kind: type, values: list[Any]) -> bool:
    return any(isinstance(value, tuple) and any(isinstance(each, kind) for each in value) for value in values)


def behaviour() -> Iterator[Row]:
    for meaning, values in fields().values():
        own = (
            is_names(values) or is_mapping(values) or is_of(ErrorClass, values) or is_of(StructFields, values)
        )
        if not own:
            yield (meaning, *(cell(value) for value in values))


def names() -> Iterator[Row]:
    for meaning, values in fields().values():
        if is_names(values):
            in_all = set.intersection(*(set(value) for value in values))
            same = sorted(in_all) if len({tuple(value) for value in values}) > 1 else []
            yield (
                meaning,
                *(", ".join(f"`{each}`" for each in value if each not in in_all) or "-" for value in values),
            )
            if same:
                yield ("... and in each", *([", ".join(f"`{each}`" for each in same), "", ""][: len(values)]))


def mappings() -> Iterator[Row]:
    for meaning, values in fields().values():
        if is_mapping(values):
            for key in dict.fromkeys(key for value in values for key in value):
                of = [cell(value[key]) if key in value else "-" for value in values]
                if len(set(of)) > 1:
                    yield (f"{meaning}: {key}", *of)


def cell(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "-"
        case "" | ():
            return "nothing"
        case str():
            return f"`{value}`"
        case tuple():
            return ": ".join(f"`{each}`" for each in value if each != "")
        case frozenset() | set():
            return ", ".join(f"`{each}`" for each in sorted(value, key=str))
        case _:
            return f"`{value}`"


def settings(client: str) -> Iterator[Row]:
    for name, defaults in SETTINGS[client].items():
        shown = [default(value) for value in defaults]
        if len(set(shown)) > 1:
            yield (f"`{name}`", *shown)
    if client in UNKNOWN_SETTING_ERRORS:
        yield ("a setting that is not known", *(f"`{each}`" for each in UNKNOWN_SETTING_ERRORS[client]))


def default(value: Any) -> str:
    if value is ABSENT:
        return "-"
    if value is PROVIDED:
        return "a class"
    if value is selectors.DefaultSelector:
        return "`selectors.DefaultSelector`"
    if callable(value):
        return f"`{getattr(value, '__name__', value)}`"
    return f"`{value!r}`"


def errors() -> Iterator[Row]:
    by_name = [{row.name: row for row in each.errors} for each in GENERATIONS.values()]
    for name in dict.fromkeys(name for of in by_name for name in of):
        shown = [error(of.get(name)) for of in by_name]
        if len(set(shown)) > 1 and not (shown[0] == "-" and shown[1] == shown[2]):
            yield (f"`{name}`", *shown)


def errors_since_2() -> str:
    first, *others = [{row.name: row for row in each.errors} for each in GENERATIONS.values()]
    names = [
        f"`{name}`"
        for name, row in others[0].items()
        if name not in first and all(name in of and error(of[name]) == error(row) for of in others)
    ]
    return ", ".join(sorted(names))


def error(row: ErrorClass | None) -> str:
    if row is None:
        return "-"
    return KINDS[row.kind] if row.errno is None else f"{row.errno}, {KINDS[row.kind]}"


def structs() -> Iterator[Row]:
    by_name = [{row.name: row for row in each.structs} for each in GENERATIONS.values()]
    for name in dict.fromkeys(name for of in by_name for name in of):
        shown = [struct(of.get(name)) for of in by_name]
        if len(set(shown)) > 1:
            yield (f"`{name}`", *shown)


def struct(row: StructFields | None) -> str:
    if row is None:
        return "-"
    without = len(row.fields) - len(row.defaults)
    given = [*row.fields[:without], *map("{}={!r}".format, row.fields[without:], row.defaults)]
    return f"`{', '.join(given)}`"


def calls(client: str) -> Iterator[Row]:
    for method in methods(client):
        of = shape(client, method)
        shown = [of.get(each) for each in GENERATIONS]
        # Attributes, of which there are many that are nobody's business.
        if any(each is not None and each.startswith("(") for each in shown):
            yield (f"`{method}`", *("-" if each is None else call(each) for each in shown))


def call(text: str) -> str:
    return f"`{text.replace(' ', ', ')}`" if text else "an attribute"


def table(heading: str, rows: Iterable[Row]) -> list[str]:
    found = [[each.replace("|", "\\|") for each in row] for row in rows]
    head = [heading, *GENERATIONS]
    marks = ["---"] * len(head)
    return ["| " + " | ".join(row) + " |" for row in (head, marks, *found)] if found else []


def wrapped(text: str) -> list[str]:
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + len(word) + 1 > 118:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def generated() -> str:
    lines = ["### Behaviour", "", *table("what", behaviour()), ""]
    lines += ["### Names", "", *table("what", names()), ""]
    lines += ["### What is raised, and members of enumerations", "", *table("what", mappings()), ""]
    lines += ["### Settings", "", "Defaults that differ; - is where there is no such setting.", ""]
    for client in SETTINGS:
        rows = table(f"`{client}`", settings(client))
        lines += [*rows, ""] if rows else []
    lines += [
        "## Errors",
        "",
        "Kafka's code, and what can be done; those of codes that all have alike are left out.",
        "",
    ]
    lines += [*table("`kafka.errors`", errors()), ""]
    lines += [*wrapped(f"In 2 and 3, alike, and not in 1.2: {errors_since_2()}."), ""]
    lines += ["### Named tuples", "", *table("`kafka.structs`", structs()), ""]
    lines += [
        "## Calls",
        "",
        "Of the originals; a parameter with `=` has a default. Barnabas has what any of them has.",
        "",
    ]
    for client in CLIENTS:
        lines += [*table(f"`{client}`", calls(client)), ""]
    return "\n".join(lines)


def page(text: str) -> str:
    """The page with its generated part renewed."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{generated()}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing, say whether it is up to date")
    arguments = parser.parse_args()
    was = PAGE.read_text()
    now = page(was)
    if arguments.check:
        if was != now:
            print(
                f"docs/{PAGE.name} is out of date: run .venv/bin/python scripts/kafka_python_differences.py"
            )
        return int(was != now)
    PAGE.write_text(now)
    return 0


if __name__ == "__main__":
    sys.exit(main())
