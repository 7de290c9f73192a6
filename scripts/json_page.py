"""Writes docs/reference/json.md: what each command prints with --json, from barnabas.cli.json_shapes.

.venv/bin/python scripts/json_page.py           # writes the page
.venv/bin/python scripts/json_page.py --check   # says whether it is up to date
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from barnabas.cli.json_shapes.catalog import OUTPUTS, JsonOutput

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "json.md"
WIDTH = 120
HEAD = (
    "With `--json`, [commands](../command-line.md) print one JSON value on stdout, or one a line where it "
    "says so here; notes and errors go to stderr, as always. A command that ends with an error before it has "
    "something to show prints nothing on stdout, and so does a `--dry-run` that only says in a sentence what "
    "it would do.",
    "Programs may rely on this page. Within a major version no field goes, none changes its type or its "
    "meaning, and none that is always there is left out. Fields may be added, and words where a field holds "
    "one of several (states, kinds, names of operations): pass over those that you do not know. The order of "
    "fields means nothing.",
    "Names of fields say their units (`size_bytes`, `lag_seconds`). `null` stands for what there is not, or "
    "what is not known. A field that is not always there has the words: may be left out.",
    "Programs in Python that are type checked can import these shapes: they are the `TypedDict`s of "
    "`barnabas.cli.json_shapes`.",
)
_WORDS = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    NoneType: "null",
    Any: "any value",
}


def page() -> str:
    paragraphs = [fill(each, WIDTH, break_on_hyphens=False) for each in HEAD]
    above = "\n\n".join(("# What `--json` prints", *paragraphs))
    return f"{above}\n" + "".join(f"\n{section}" for section in sections())


def sections() -> Iterator[str]:
    """A section for all commands that print the same, where these follow each other."""
    grouped: list[tuple[list[str], tuple[JsonOutput, ...]]] = []
    for command, outputs in OUTPUTS.items():
        if grouped and grouped[-1][1] == outputs and group_of(grouped[-1][0][0]) == group_of(command):
            grouped[-1][0].append(command)
        else:
            grouped.append(([command], outputs))
    for commands, outputs in grouped:
        # `faults nodes stop, kill, start`: all in a row are of one group.
        names = ", ".join([commands[0], *(command.rpartition(" ")[2] for command in commands[1:])])
        yield f"## barnabas {names}\n\n" + "\n".join(told(output) for output in outputs)


def group_of(command: str) -> str:
    return command.rpartition(" ")[0]


def told(output: JsonOutput) -> str:
    what = words(output.shape)
    if output.is_lines:
        what += ", one a line"
    start = f"{output.when}: {what}" if output.when else what[0].upper() + what[1:]
    shape = typed_dict_in(output.shape)
    lines = [fill(f"{start}{'.' if shape is None else ', with'}", WIDTH)]
    if shape is not None:
        lines += ["", *fields(shape, 0)]
    return "\n".join(lines) + "\n"


def fields(shape: Any, depth: int) -> Iterator[str]:
    for name, hint in get_type_hints(shape, include_extras=True).items():
        kind, meaning, is_always = taken_apart(hint)
        line = f"- `{name}`: {words(kind)}"
        line += "" if is_always else "; may be left out"
        # A site would take <default> for HTML.
        line += f". {re.sub('<[a-z]+>', code, meaning)}" if meaning else ""
        indent = "  " * depth
        yield fill(
            line, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
        )
        nested = typed_dict_in(kind)
        if nested is not None:
            yield from fields(nested, depth + 1)


def code(found: re.Match[str]) -> str:
    return f"`{found[0]}`"


def taken_apart(hint: Any) -> tuple[Any, str, bool]:
    """A field's type, what it means, and whether it is always there."""
    meaning, is_always = "", True
    while get_origin(hint) in (Annotated, NotRequired):
        if get_origin(hint) is Annotated:
            hint, meaning = get_args(hint)
        else:
            (hint,) = get_args(hint)
            is_always = False
    return hint, meaning, is_always


def words(kind: Any) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        return "an object"
    if origin is Literal:
        return one_of(
            [f"`{json.dumps(each) if isinstance(each, bool | int) else each}`" for each in arguments]
        )
    if origin in (Union, UnionType):
        return one_of([words(each) for each in arguments])
    if origin is list:
        return "a list of " + several(arguments[0])
    if origin is tuple:
        return "a pair of " + " and ".join(map(words, arguments))
    if origin is dict:
        return "an object whose values are " + several(arguments[1])
    return _WORDS[kind]


def several(kind: Any) -> str:
    if is_typeddict(kind):
        return "objects"
    plurals = {str: "texts", int: "whole numbers", float: "numbers", Any: "any values"}
    if kind in plurals:
        return plurals[kind]
    found = words(kind)
    for one, more in (("a list", "lists"), ("a pair", "pairs"), ("an object", "objects")):
        found = found.replace(one, more, 1) if found.startswith(one) else found
    return found


def one_of(found: list[str]) -> str:
    return found[0] if len(found) == 1 else ", ".join(found[:-1]) + " or " + found[-1]


def typed_dict_in(kind: Any) -> Any:
    """The one that has fields to tell of."""
    if is_typeddict(kind):
        return kind
    return next((found for each in get_args(kind) if (found := typed_dict_in(each)) is not None), None)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing, say whether it is up to date")
    arguments = parser.parse_args()
    now = page()
    if arguments.check:
        is_same = PAGE.exists() and PAGE.read_text() == now
        if not is_same:
            print("docs/reference/json.md is out of date: run .venv/bin/python scripts/json_page.py")
        return int(not is_same)
    PAGE.write_text(now)
    return 0


if __name__ == "__main__":
    sys.exit(main())
